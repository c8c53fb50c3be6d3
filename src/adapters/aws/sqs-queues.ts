/**
 * The queues of Amazon SQS: implements `MessageQueues` with the AWS SDK, which is loaded with the first call.
 *
 * Not here: how a call is made (sqs-calls.ts), what its errors mean (sqs-failure.ts), and repeating it.
 */

import type { BatchResultErrorEntry, MessageAttributeValue, SQS } from "@aws-sdk/client-sqs"
import { Effect, Layer } from "effect"
import type { MessageAttribute } from "../../domain/queues/queue-message.ts"
import {
  type BatchAnswer,
  MessageQueues,
  type NewQueue,
  QueueError,
  type SendEntry
} from "../../ports/message-queues.ts"
import { type CallOptions, makeSqsCalls } from "./sqs-calls.ts"
import { failedEntry } from "./sqs-failure.ts"

const sdkAttributes = (attributes: Readonly<Record<string, MessageAttribute>>): Record<string, MessageAttributeValue> =>
  Object.fromEntries(Object.entries(attributes).map(([name, { DataType, ...value }]) => [name, { DataType, ...value }]))

const sdkEntry = ({ MessageAttributes, MessageSystemAttributes, ...entry }: SendEntry) => ({
  ...entry,
  MessageAttributes: sdkAttributes(MessageAttributes),
  ...(MessageSystemAttributes && { MessageSystemAttributes: sdkAttributes({ ...MessageSystemAttributes }) })
})

const batchAnswer =
  (operation: string) =>
  (answer: {
    readonly Successful?: ReadonlyArray<{ readonly Id: string | undefined }> | undefined
    readonly Failed?: ReadonlyArray<BatchResultErrorEntry> | undefined
  }): BatchAnswer => ({
    succeeded: new Set(answer.Successful?.flatMap(({ Id }) => Id ?? [])),
    failed: answer.Failed?.map(failedEntry(operation)) ?? []
  })

const urlIn =
  (operation: string, queue: string) =>
  ({ QueueUrl }: { readonly QueueUrl?: string | undefined }): Effect.Effect<string, QueueError> =>
    QueueUrl === undefined
      ? Effect.fail(new QueueError({ operation, queue, reason: "Other", detail: "SQS gave no URL" }))
      : Effect.succeed(QueueUrl)

const makeSqsQueues = Effect.gen(function* () {
  const { address, call, callQueue } = yield* makeSqsCalls

  /** CreateQueue names no account: it is that of the credentials. */
  const create = Effect.fnUntraced(function* ({ attributes, beside, name, tags }: NewQueue) {
    const operation = "CreateQueue"
    const { account, region } = yield* address(operation, beside)
    // Without tags no right to tag is needed.
    const tagged = Object.keys(tags).length > 0 && { tags: { ...tags } }
    const input = { QueueName: name, Attributes: { ...attributes }, ...tagged }
    const ask = (sqs: SQS, options: CallOptions) => sqs.createQueue(input, options)
    const url = yield* Effect.flatMap(call({ operation, queue: name, region, ask }), urlIn(operation, name))
    const made = yield* address(operation, url)
    if (made.account === account) return url
    const detail =
      `the operator's AWS identity is of the account ${made.account}, and the queue beside it of ${account}: ` +
      `give the operator an identity of that account, and delete ${url}, which was made`
    return yield* new QueueError({ operation, queue: name, reason: "Invalid", detail })
  })

  return MessageQueues.of({
    receive: ({ max, url, visibilitySeconds, waitSeconds }) => {
      const input = {
        QueueUrl: url,
        MaxNumberOfMessages: max,
        WaitTimeSeconds: waitSeconds,
        VisibilityTimeout: visibilitySeconds,
        MessageAttributeNames: ["All"],
        MessageSystemAttributeNames: ["All" as const]
      }
      const wait = waitSeconds * 1_000
      return callQueue("ReceiveMessage", url, (sqs, options) => sqs.receiveMessage(input, options), wait).pipe(
        Effect.map(({ Messages = [] }) => Messages)
      )
    },
    sendBatch: (url, entries) =>
      callQueue("SendMessageBatch", url, (sqs, options) =>
        sqs.sendMessageBatch({ QueueUrl: url, Entries: entries.map(sdkEntry) }, options)
      ).pipe(Effect.map(batchAnswer("SendMessageBatch"))),
    deleteBatch: (url, entries) =>
      callQueue("DeleteMessageBatch", url, (sqs, options) =>
        sqs.deleteMessageBatch({ QueueUrl: url, Entries: [...entries] }, options)
      ).pipe(Effect.map(batchAnswer("DeleteMessageBatch"))),
    urlOf: (name) =>
      call({
        operation: "GetQueueUrl",
        queue: name,
        region: undefined,
        ask: (sqs, options) => sqs.getQueueUrl({ QueueName: name }, options)
      }).pipe(Effect.flatMap(urlIn("GetQueueUrl", name))),
    attributes: (url) =>
      callQueue("GetQueueAttributes", url, (sqs, options) =>
        sqs.getQueueAttributes({ QueueUrl: url, AttributeNames: ["All"] }, options)
      ).pipe(Effect.map(({ Attributes = {} }) => Attributes)),
    tags: (url) =>
      callQueue("ListQueueTags", url, (sqs, options) => sqs.listQueueTags({ QueueUrl: url }, options)).pipe(
        Effect.map(({ Tags = {} }) => Tags)
      ),
    create,
    delete: (url) =>
      callQueue("DeleteQueue", url, (sqs, options) => sqs.deleteQueue({ QueueUrl: url }, options)).pipe(Effect.asVoid)
  })
})

/**
 * The port with the AWS identity that the SDK finds for this process. `AWS_ENDPOINT_URL_SQS` or `AWS_ENDPOINT_URL`
 * names another server.
 */
export const sqsQueues = Layer.effect(MessageQueues, makeSqsQueues)
