/** Passes a request of HTTP/1.x that no client steals on to the application, and the application's answer back. */

import * as http from "node:http"
import type { Duplex } from "node:stream"
import { describeError } from "../node-errors.ts"
import { pairs, type ServedRequest } from "./http-answer.ts"
import { writeUpgrade } from "./http1-answer.ts"
import { join } from "./raw-traffic.ts"

/** One connection to the application for all requests of one peer, kept alive between them. */
export const applicationConnections = (connect: () => Duplex): http.Agent => {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  return Object.assign(agent, { createConnection: connect })
}

/** Passes one request on. */
export const passThrough = (
  { message, answer }: ServedRequest,
  application: http.Agent,
  agentVersion: string
): void => {
  const upstream = http.request({
    agent: application,
    method: message.method,
    path: message.uri,
    headers: message.rawHeaders,
    setHost: false
  })
  upstream.on("error", (error) => answer.fail(`mirrord-agent v${agentVersion}: ${describeError(error)}`))
  upstream.on("response", (response) => {
    try {
      answer.start(response.statusCode ?? 502, response.statusMessage, pairs(response.rawHeaders))
    } catch (error) {
      // Node reads a few status lines and headers that it refuses to write.
      upstream.destroy()
      return answer.fail(`mirrord-agent v${agentVersion}: ${describeError(error)}`)
    }
    response.pipe(answer.stream, { end: false })
    response.once("end", () => {
      if (response.rawTrailers.length > 0) answer.trailers(pairs(response.rawTrailers))
      answer.end()
    })
    response.once("error", () => answer.fail(""))
  })
  const upgraded = (response: http.IncomingMessage, socket: Duplex, head: Uint8Array): void => {
    if (answer.upgradable === undefined) {
      socket.destroy()
      return answer.fail(`mirrord-agent v${agentVersion}: the application upgraded what nobody asked to upgrade`)
    }
    writeUpgrade(
      answer.upgradable.socket,
      response.statusCode ?? 101,
      response.statusMessage ?? "",
      pairs(response.rawHeaders)
    )
    if (head.length > 0) socket.unshift(head)
    if (answer.upgradable.head.length > 0) answer.upgradable.socket.unshift(answer.upgradable.head)
    join(answer.upgradable.socket, socket)
  }
  upstream.on("upgrade", upgraded)
  upstream.on("connect", upgraded)
  answer.onClose((complete) => {
    if (!complete && answer.upgradable === undefined) upstream.destroy()
  })
  if (answer.upgradable === undefined) message.body.pipe(upstream)
  else upstream.end()
}
