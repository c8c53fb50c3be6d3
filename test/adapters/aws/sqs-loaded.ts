/**
 * A program that calls SQS at the queue of its first argument, and prints whether the SDK was loaded before the call
 * and after it. A process of its own, since another test may have loaded the SDK into this one.
 */

import { registerHooks } from "node:module"
import { Effect } from "effect"
import { MessageQueues } from "../../../src/ports/message-queues.ts"

let isLoaded = false
registerHooks({
  resolve: (specifier, context, next) => {
    isLoaded ||= specifier === "@aws-sdk/client-sqs"
    return next(specifier, context)
  }
})

const { sqsQueues } = await import("../../../src/adapters/aws/sqs-queues.ts")
const before = isLoaded
const call = Effect.flatMap(MessageQueues, ({ tags }) => tags(process.argv[2] ?? ""))
await Effect.runPromise(Effect.provide(call, sqsQueues))
process.stdout.write(JSON.stringify({ before, after: isLoaded }))
