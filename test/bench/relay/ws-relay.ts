/** The relay that everybody writes first: an event and a send for each message. `node ws-relay.ts PORT MEMBER`. */

import WebSocket, { type RawData, WebSocketServer } from "ws"

const [port, member] = process.argv.slice(2)
const options = { perMessageDeflate: false, maxPayload: 64 * 1024 * 1024 }
const server = new WebSocketServer({
  host: "127.0.0.1",
  port: Number(port),
  ...options,
  handleProtocols: (offered) => [...offered][0] ?? false
})
server.on("connection", (client, request) => {
  const early: Array<RawData> = []
  const upstream = new WebSocket(`ws://${member}${request.url}`, client.protocol, options)
  upstream.on("open", () => {
    for (const data of early.splice(0)) upstream.send(data)
  })
  client.on("message", (data, binary) => {
    if (upstream.readyState === upstream.OPEN) upstream.send(data, { binary })
    else early.push(data)
  })
  upstream.on("message", (data, binary) => client.send(data, { binary }))
  for (const [side, other] of [
    [client, upstream],
    [upstream, client]
  ] as const) {
    side.on("close", () => other.close())
    side.on("error", () => other.terminate())
  }
})
