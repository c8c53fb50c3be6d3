/** A stolen request without a body, as current agents announce it to the client. */

import { requestStart } from "../../lab/agent/incoming/incoming-messages.ts"
import type { DaemonMessage } from "../../src/domain/protocol/daemon-message.ts"
import type { Headers } from "../../src/domain/protocol/shape.ts"

/** From 10.0.0.9:51000 to 10.0.0.5:80; the first request of its agent. */
export const stolenRequest = (uri: string, headers: Headers = []): DaemonMessage => {
  const [start] = requestStart(
    "ChunkedV2",
    0n,
    {
      method: "GET",
      uri,
      headers,
      version: "HTTP/1.1",
      source: { ip: "10.0.0.9", port: 51000 },
      destination: { ip: "10.0.0.5", port: 80 }
    },
    true
  )
  if (start === undefined) throw new Error("a request begins with a message")
  return { _tag: "TcpSteal", value: start }
}
