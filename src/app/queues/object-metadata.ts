/**
 * Reads the metadata of the objects in S3 that messages are about, for programs of filters. A message whose metadata
 * does not come in time is judged without: the batch may not wait for S3.
 *
 * Not here: which object a message is about (domain/queues/s3-event.ts).
 */

import { Effect } from "effect"
import type { ReceivedMessage } from "../../domain/queues/queue-message.ts"
import { objectOf } from "../../domain/queues/s3-event.ts"
import { StoredObjectError, type StoredObjects } from "../../ports/stored-objects.ts"
import { logWarning } from "../kernel/log.ts"
import { CurrentRepeatedLines } from "../kernel/repeated-lines.ts"

/** Gives the metadata of a message's object, with names in lower case; `undefined` where there is none to be had. */
export type ReadMetadata = (message: ReceivedMessage) => Effect.Effect<Readonly<Record<string, string>> | undefined>

/** How long S3 may take for a message, in ms: at first it loads the SDK, finds the identity and connects. */
const firstLimit = 8_000
const limit = 1_000

/** `queue`: URL of the queue that is split; `sns`: whether bodies may be envelopes of Amazon SNS. */
export const metadataReader = (
  objects: StoredObjects["Service"],
  { queue, sns }: { readonly queue: string; readonly sns: boolean }
): ReadMetadata => {
  let duration = firstLimit
  const warn = ({ isGone = false, message }: StoredObjectError): Effect.Effect<undefined> => {
    if (isGone) return Effect.undefined
    const line = logWarning("filters see no metadata of an object", { queue, problem: message })
    const sum = (count: number) => logWarning("filters see no metadata of objects", { queue, count })
    return Effect.flatMap(CurrentRepeatedLines, ({ tell }) =>
      Effect.as(tell(`object metadata ${queue}`, line, sum), undefined)
    )
  }
  return ({ Body }) => {
    const object = objectOf(Body, sns)
    if (object === undefined) return Effect.undefined
    const { bucket } = object
    const late = new StoredObjectError({ bucket, detail: `S3 gave no answer within ${duration / 1_000} s` })
    const nextTries = Effect.sync(() => {
      duration = limit
    })
    return objects
      .metadata(object)
      .pipe(
        Effect.timeoutOrElse({ duration, orElse: () => Effect.fail(late) }),
        Effect.ensuring(nextTries),
        Effect.catch(warn)
      )
  }
}
