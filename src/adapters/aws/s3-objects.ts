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

/** Answers to HEAD have no words, so their status is all there is. Expired credentials are answered by 400. */
const [denied, gone, expired] = [403, 404, 400]

const statusOf = (cause: unknown): number | undefined => asNumber(at(cause, "$metadata", "httpStatusCode"))

/** The reason of a failure. */
const detailOf = (cause: unknown): string => {
  if (cause instanceof NoIdentityError) return cause.message
  const status = statusOf(cause)
  if (status === denied)
    return (
      "S3 answers 403: give the operator's role s3:GetObject, s3:GetObjectVersion if the bucket keeps versions, and " +
      "s3:ListBucket to tell objects that are gone"
    )
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
          const status = statusOf(cause)
          if (cause instanceof NoIdentityError || status === expired) clients.forget(region)
          return new StoredObjectError({ bucket, detail: detailOf(cause), isGone: status === gone })
        }
      })
  })
})

export const s3Objects: Layer.Layer<StoredObjects> = Layer.effect(StoredObjects, makeS3Objects)
