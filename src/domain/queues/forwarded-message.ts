/**
 * A message as another queue gets it (AWS, SQS message attributes). Body and attributes stay as they are; a session's
 * copy has the session's key beside them.
 *
 * Not here: which messages are sent together (send-batches.ts).
 */

import type { MessageAttribute, ReceivedMessage } from "./queue-message.ts"

/** The queue that a message goes to. */
export interface DestinationQueue {
  readonly url: string
  readonly isFifo: boolean
  /** Bytes of the largest message, from the queue's attribute `MaximumMessageSize`. */
  readonly maximumMessageSize: number
  /** The key that the session's copies show; `undefined` for the main queue, and where keys are not shown. */
  readonly sessionKey: string | undefined
}

type Attributes = Readonly<Record<string, MessageAttribute>>

/** An entry of `SendMessageBatch` beside its id. */
export interface ForwardedMessage {
  readonly MessageBody: string
  readonly MessageAttributes: Attributes
  readonly MessageSystemAttributes?: { readonly AWSTraceHeader: MessageAttribute }
  readonly MessageGroupId?: string
  readonly MessageDeduplicationId?: string
}

/** The name of the attribute with the session's key (published operator since 3.149.0). */
const keyName = "mirrord-key"
/** Attributes of one message, at most (AWS, quotas of messages). */
const maxAttributes = 10

const utf8 = new TextEncoder()
const bytesOf = (text: string | undefined): number => (text === undefined ? 0 : utf8.encode(text).length)

/** Bytes that AWS counts: the body, and names, types and values of attributes. */
export const messageSize = (body: string, attributes: Attributes): number =>
  Object.entries(attributes).reduce(
    (sum, [name, { BinaryValue, DataType, StringValue }]) =>
      sum + bytesOf(name) + bytesOf(DataType) + bytesOf(StringValue) + (BinaryValue?.length ?? 0),
    bytesOf(body)
  )

/** Only what can be sent: servers add fields of their own. */
const copiedAttributes = (attributes: Attributes): Attributes =>
  Object.fromEntries(
    Object.entries(attributes).map(([name, { BinaryValue, DataType, StringValue }]) => [
      name,
      {
        DataType,
        ...(StringValue !== undefined && { StringValue }),
        ...(BinaryValue !== undefined && { BinaryValue })
      }
    ])
  )

/** The attributes with the session's key, which is left out where there is no place: it must never cost a message. */
const withKey = (
  body: string,
  attributes: Attributes,
  { maximumMessageSize, sessionKey }: DestinationQueue
): Attributes => {
  const names = Object.keys(attributes)
  const isTaken = names.some((name) => name.toLowerCase() === keyName)
  if (sessionKey === undefined || sessionKey === "" || isTaken || names.length >= maxAttributes) return attributes
  const keyed = { ...attributes, [keyName]: { DataType: "String", StringValue: sessionKey } }
  return messageSize(body, keyed) <= maximumMessageSize ? keyed : attributes
}

/** A message that a session left, without the key that the session's copies have: the workload must not see it. */
export const withoutKey = (message: ReceivedMessage, sessionKey: string | undefined): ReceivedMessage => {
  const { [keyName]: key, ...others } = message.MessageAttributes ?? {}
  return key === undefined || key.StringValue !== sessionKey ? message : { ...message, MessageAttributes: others }
}

/**
 * The message for another queue. FIFO queues take the source's id against duplicates: it is the same each time that the
 * message comes again, and no other message has it. Without a group, as in a queue that is not FIFO, each message is a
 * group of its own.
 */
export const forwardedMessage = (message: ReceivedMessage, queue: DestinationQueue): ForwardedMessage => {
  const { AWSTraceHeader, MessageGroupId = "" } = message.Attributes ?? {}
  const group = MessageGroupId === "" && queue.isFifo ? message.MessageId : MessageGroupId
  return {
    MessageBody: message.Body,
    MessageAttributes: withKey(message.Body, copiedAttributes(message.MessageAttributes ?? {}), queue),
    ...(AWSTraceHeader !== undefined && {
      MessageSystemAttributes: { AWSTraceHeader: { DataType: "String", StringValue: AWSTraceHeader } }
    }),
    ...(group !== "" && { MessageGroupId: group }),
    ...(queue.isFifo && { MessageDeduplicationId: message.MessageId })
  }
}
