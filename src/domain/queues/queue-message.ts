/**
 * Messages of Amazon SQS as it gives and takes them, in plain data. Fields have the names of its API, because users' jq
 * programs read them by these.
 *
 * Not here: what another queue gets of a message (forwarded-message.ts).
 */

/** One attribute of a message. A type may be longer: `String.custom`. */
export interface MessageAttribute {
  readonly DataType?: string | undefined
  /** For `String` and `Number`. */
  readonly StringValue?: string | undefined
  /** For `Binary`. */
  readonly BinaryValue?: Uint8Array | undefined
}

/** A message as a server gives it. All fields are optional there. */
export interface GivenMessage {
  readonly MessageId?: string | undefined
  readonly ReceiptHandle?: string | undefined
  readonly MD5OfBody?: string | undefined
  readonly Body?: string | undefined
  /** Attributes that SQS makes, such as `MessageGroupId`. */
  readonly Attributes?: Readonly<Record<string, string | undefined>> | undefined
  /** Attributes that the sender chose, by their names. */
  readonly MessageAttributes?: Readonly<Record<string, MessageAttribute>> | undefined
}

/** A message that can be forwarded and then deleted. */
export interface ReceivedMessage extends GivenMessage {
  readonly MessageId: string
  readonly ReceiptHandle: string
  readonly Body: string
}

/**
 * Whether a message has all that forwarding needs. Without an id it would come twice, without a handle it would come
 * again and again, so a message without them stays where it is.
 */
export const isReceived = (message: GivenMessage): message is ReceivedMessage =>
  [message.MessageId, message.ReceiptHandle, message.Body].every((field) => field !== undefined && field !== "")
