/** Asks a server that stands in for SQS, which looks at no signature. */

import { asObjects, asString, type JsonObject } from "../../../src/domain/json.ts"

/**
 * Makes a call by the JSON protocol of AWS. `endpoint`: URL of the server; `action`: such as `SendMessageBatch`. A
 * refusal rejects, with the server's words.
 */
export const askSqs = async (endpoint: string, action: string, input: object): Promise<JsonObject> => {
  const headers = { "content-type": "application/x-amz-json-1.0", "x-amz-target": `AmazonSQS.${action}` }
  const answer = await fetch(endpoint, { method: "POST", headers, body: JSON.stringify(input) })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${action}: ${answer.status} ${text}`)
  return text === "" ? {} : JSON.parse(text)
}

/** Makes a call for several messages; one that the server refuses rejects it. */
const askBatch = async (endpoint: string, action: string, input: object): Promise<void> => {
  const { Failed } = await askSqs(endpoint, action, input)
  if (asObjects(Failed).length > 0) throw new Error(`${action}: ${JSON.stringify(Failed)}`)
}

/** A queue of a server, by its name. */
export interface NamedQueue {
  readonly endpoint: string
  readonly name: string
}

/** Seconds for which a call waits for a message. */
const waitSecs = 1
/** Messages of one call, at most. */
const batchLimit = 10

/** Takes messages out of a queue until the signal comes, and tells the body of each before it is deleted. */
export const takeMessages = async (
  { endpoint, name }: NamedQueue,
  taken: (body: string) => void,
  signal: AbortSignal
): Promise<void> => {
  const { QueueUrl } = await askSqs(endpoint, "GetQueueUrl", { QueueName: name })
  while (!signal.aborted) {
    // The server would give a message to a call that is cut off, so the last one is waited for.
    const limits = { MaxNumberOfMessages: batchLimit, WaitTimeSeconds: waitSecs }
    const { Messages } = await askSqs(endpoint, "ReceiveMessage", { QueueUrl, ...limits })
    const messages = asObjects(Messages)
    for (const { Body } of messages) taken(asString(Body) ?? "")
    if (messages.length === 0) continue
    const Entries = messages.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle }))
    await askBatch(endpoint, "DeleteMessageBatch", { QueueUrl, Entries })
  }
}

/** A message, and the value of its attribute `to`. */
export interface AddressedMessage {
  readonly body: string
  readonly to: string
}

/** Puts messages into a queue, one batch after the other. */
export const putMessages = async (
  { endpoint, name }: NamedQueue,
  messages: ReadonlyArray<AddressedMessage>
): Promise<void> => {
  const { QueueUrl } = await askSqs(endpoint, "GetQueueUrl", { QueueName: name })
  for (let from = 0; from < messages.length; from += batchLimit) {
    const Entries = messages.slice(from, from + batchLimit).map(({ body, to }, index) => ({
      Id: String(index),
      MessageBody: body,
      MessageAttributes: { to: { DataType: "String", StringValue: to } }
    }))
    await askBatch(endpoint, "SendMessageBatch", { QueueUrl, Entries })
  }
}
