/** The AWS SDK's client for the buckets of S3 in one region. Loaded only when an object is read (s3-objects.ts). */

import { S3 } from "@aws-sdk/client-s3"
import { clientOptions, type ClientPlace } from "./client-options.ts"

export const s3Client = (place: ClientPlace): S3 =>
  new S3({
    ...clientOptions("s3", place),
    // Servers that stand in for S3 have no host for each bucket.
    forcePathStyle: place.endpoint !== undefined
  })
