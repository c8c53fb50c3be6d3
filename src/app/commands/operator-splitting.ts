/**
 * The brokers of queue splitting for a running operator: SQS and S3 by the AWS SDK, and jq in a worker. They begin when
 * they are used.
 */

import { Context, Effect, Layer, type Scope } from "effect"
import { s3Objects } from "../../adapters/aws/s3-objects.ts"
import { sqsQueues } from "../../adapters/aws/sqs-queues.ts"
import { jqPrograms } from "../../adapters/jq/jq-programs.ts"
import { configuredEndpoint } from "../../domain/queues/configured-endpoint.ts"
import type { SplitSettings } from "../../domain/queues/settings.ts"
import { JqPrograms } from "../../ports/jq-programs.ts"
import { MessageQueues } from "../../ports/message-queues.ts"
import { StoredObjects } from "../../ports/stored-objects.ts"
import type { SplittingOptions } from "../queues/queue-splitting.ts"

/** `undefined` where no queue is split. `settings`: `undefined` if the switch is off. */
export const operatorSplitting = Effect.fnUntraced(function* (
  settings: SplitSettings | undefined
): Effect.fn.Return<SplittingOptions | undefined, never, Scope.Scope> {
  if (settings === undefined) return undefined
  const brokers = yield* Layer.build(Layer.mergeAll(sqsQueues, jqPrograms, s3Objects))
  return {
    settings,
    queues: Context.get(brokers, MessageQueues),
    jq: Context.get(brokers, JqPrograms),
    storedObjects: Context.get(brokers, StoredObjects),
    endpoint: configuredEndpoint("SQS", process.env)
  }
})
