import type { ClientRequest } from "../../../../lab/client/client-input.ts"
import type { ClientEvent } from "../../../../lab/client/client-output.ts"
import type { BodyFrame } from "../../../../src/domain/protocol/http-messages.ts"

/**
 * The local process behind the client: repeats what it hears on stolen connections, and answers each stolen request
 * with its URI, every third one in pieces. So an agent that hears something else has got what belongs to another.
 */
export const answerTraffic = (event: ClientEvent): ReadonlyArray<ClientRequest> => {
  if (event._tag === "Data" && event.channel === "TcpSteal") {
    return [{ _tag: "SendData", connectionId: event.connectionId, bytes: event.bytes }]
  }
  if (event._tag !== "HttpRequest" || event.channel !== "TcpSteal") return []
  const { connectionId, requestId, uri } = event
  const frames: ReadonlyArray<BodyFrame> = [{ _tag: "Data", value: new TextEncoder().encode(uri) }]
  const whole = { _tag: "Respond", connectionId, requestId, status: 200, headers: [] } as const
  if (connectionId % 3n !== 0n) return [{ ...whole, frames, isLast: true }]
  return [
    { ...whole, frames: [], isLast: false },
    { _tag: "RespondBody", connectionId, requestId, frames, isLast: false },
    { _tag: "RespondBody", connectionId, requestId, frames, isLast: true }
  ]
}
