/** Looks up the queues that variables name at SQS. */

import { Effect } from "effect"
import { quotation, quoted } from "../../domain/clean-text.ts"
import type { QueueReference, QueuesOfVariable } from "../../domain/queues/queue-references.ts"
import { type NamedQueue, referencesOf } from "../../domain/queues/queue-sources.ts"
import type { MessageQueues, QueueError, QueueErrorReason } from "../../ports/message-queues.ts"
import { readAtOnce } from "./found-objects.ts"
import { SplitRefused } from "./split-refused.ts"

/** A queue that exists. */
export interface FoundQueue {
  readonly name: string
  readonly url: string
  /** Its ARN, which is the same for all of its names. */
  readonly identity: string
  /** By their names in the API of SQS. */
  readonly attributes: Readonly<Record<string, string>>
}

/** Failures that pass without the administrator. */
const passing: ReadonlySet<QueueErrorReason> = new Set(["Throttled", "Unavailable", "NotLeading"])

const refused =
  ({ reference: { name, text }, variable: { container, variable } }: NamedQueue) =>
  (error: QueueError): QueueError | SplitRefused => {
    const { detail, operation, reason } = error
    if (passing.has(reason)) return error
    const where =
      `The queue ${quoted(text)}, which the variable ${quoted(variable)} of the container ${quoted(container)} ` +
      "names,"
    if (reason === "NoQueue") {
      const place = text === name ? " in the AWS account and region of the operator" : ""
      return new SplitRefused({
        code: 404,
        why: `${where} does not exist${place}: create it, or let the variable name another one.`
      })
    }
    const right = reason === "Denied" ? `; the operator's AWS identity needs sqs:${operation} for it` : ""
    return new SplitRefused({ code: 500, why: `${where} cannot be read: ${operation}: ${quotation(detail)}${right}.` })
  }

const findQueue = (
  queues: MessageQueues["Service"],
  { name, text }: QueueReference
): Effect.Effect<FoundQueue, QueueError> =>
  Effect.gen(function* () {
    const url = text === name ? yield* queues.urlOf(name) : text
    const attributes = yield* queues.attributes(url)
    return { name, url, identity: attributes["QueueArn"] ?? url, attributes }
  })

/** The queues of variables by the texts that name them there. A queue that cannot be read is a refusal. */
export const foundQueues = (
  queues: MessageQueues["Service"],
  variables: ReadonlyArray<QueuesOfVariable>
): Effect.Effect<ReadonlyMap<string, FoundQueue>, QueueError | SplitRefused> =>
  Effect.forEach(
    referencesOf(variables),
    (named) =>
      Effect.mapBoth(findQueue(queues, named.reference), {
        onFailure: refused(named),
        onSuccess: (found) => [named.reference.text, found] as const
      }),
    { concurrency: readAtOnce }
  ).pipe(Effect.map((found) => new Map(found)))
