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

/** A queue of a server, by its name. */
export interface NamedQueue {
  readonly endpoint: string
  readonly name: string
}

/** Seconds for which a call waits for a message. */
const waitSecs = 1

/** Takes messages out of a queue until the signal comes, and tells the body of each before it is deleted. */
export const takeMessages = async (
  { endpoint, name }: NamedQueue,
  taken: (body: string) => void,
  signal: AbortSignal
): Promise<void> => {
  const { QueueUrl } = await askSqs(endpoint, "GetQueueUrl", { QueueName: name })
  while (!signal.aborted) {
    // The server would give a message to a call that is cut off, so the last one is waited for.
    const limits = { MaxNumberOfMessages: 10, WaitTimeSeconds: waitSecs }
    const { Messages } = await askSqs(endpoint, "ReceiveMessage", { QueueUrl, ...limits })
    for (const { Body, ReceiptHandle } of asObjects(Messages)) {
      taken(asString(Body) ?? "")
      await askSqs(endpoint, "DeleteMessage", { QueueUrl, ReceiptHandle })
    }
  }
}
