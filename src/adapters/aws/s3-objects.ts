/**
 * Objects of Amazon S3: implements `StoredObjects` with the AWS SDK, which is loaded with the first call.
 *
 * Not here: which object a message is about (domain/queues/s3-event.ts).
 */

import { Effect, Layer } from "effect"
import { asNumber, at } from "../../domain/json.ts"
import { configuredEndpoint } from "../../domain/queues/configured-endpoint.ts"
import { StoredObjectError, StoredObjects } from "../../ports/stored-objects.ts"
import { NoIdentityError } from "./no-identity-error.ts"
import { RegionalClients } from "./regional-clients.ts"

/** The reason of a failure. Answers to HEAD have no words, so their status is all there is. */
const detailOf = (cause: unknown): string => {
  if (cause instanceof NoIdentityError) return cause.message
  const status = asNumber(at(cause, "$metadata", "httpStatusCode"))
  if (status === 403)
    return "S3 answers 403: give the operator's role s3:GetObject, and s3:ListBucket to tell objects that are gone"
  if (status === 404) return "S3 answers 404: the object is gone"
  if (status !== undefined) return `S3 answers ${status}`
  const code = cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : undefined
  return `S3 gave no answer (${code ?? (cause instanceof Error ? cause.name : "no error")})`
}

const makeS3Objects = Effect.gen(function* () {
  const endpoint = configuredEndpoint("S3", process.env)
  const clients = yield* Effect.acquireRelease(
    Effect.sync(
      () =>
        new RegionalClients((region) => import("./s3-client.ts").then(({ s3Client }) => s3Client({ region, endpoint })))
    ),
    (open) => Effect.ignore(Effect.tryPromise(() => open.close()))
  )
  return StoredObjects.of({
    metadata: ({ bucket, key, region, version }) =>
      Effect.tryPromise({
        try: async (abortSignal) => {
          const s3 = await clients.get(region)
          const input = { Bucket: bucket, Key: key, ...(version !== undefined && { VersionId: version }) }
          const { Metadata = {} } = await s3.headObject(input, { abortSignal })
          return Object.fromEntries(Object.entries(Metadata).map(([name, value]) => [name.toLowerCase(), value]))
        },
        catch: (cause) => {
          const detail = detailOf(cause)
          // The next call looks for the identity again.
          if (cause instanceof NoIdentityError || detail.includes("403")) clients.forget(region)
          return new StoredObjectError({ bucket, detail })
        }
      })
  })
})

export const s3Objects: Layer.Layer<StoredObjects> = Layer.effect(StoredObjects, makeS3Objects)
