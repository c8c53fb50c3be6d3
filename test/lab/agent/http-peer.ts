/** Peers of a target for tests: users who send HTTP requests or raw bytes. */

import * as http from "node:http"
import * as net from "node:net"

export interface PeerAnswer {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly trailers: NodeJS.Dict<string>
  readonly body: string
}

export interface PeerRequest {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: ReadonlyArray<string>
  readonly trailers?: Readonly<Record<string, string>>
  readonly agent?: http.Agent
}

const readAnswer = (response: http.IncomingMessage): Promise<PeerAnswer> =>
  new Promise((resolve, reject) => {
    let body = ""
    response.setEncoding("latin1")
    response.on("data", (text: string) => {
      body += text
    })
    response.once("error", reject)
    response.once("end", () =>
      resolve({ status: response.statusCode ?? 0, headers: response.headers, trailers: response.trailers, body })
    )
  })

/** A request of a user of the target. */
export const fetchFrom = (port: number, given: PeerRequest = {}): Promise<PeerAnswer> =>
  new Promise((resolve, reject) => {
    const { body = [], trailers, headers = {}, ...rest } = given
    const request = http.request(
      { host: "127.0.0.1", port, agent: false, headers: { ...headers }, ...rest },
      (response) => {
        readAnswer(response).then(resolve, reject)
      }
    )
    request.once("error", reject)
    for (const piece of body) request.write(piece)
    if (trailers !== undefined) request.addTrailers({ ...trailers })
    request.end()
  })

/** A raw connection to the target; all received bytes are kept as one text. */
export const rawPeer = (port: number) => {
  const socket = net.connect({ port, host: "127.0.0.1", allowHalfOpen: true })
  let text = ""
  let ended = false
  const watchers = new Set<() => void>()
  const changed = (): void => {
    for (const watcher of watchers) watcher()
  }
  socket.on("data", (bytes) => {
    text += bytes.toString("latin1")
    changed()
  })
  socket.on("end", () => {
    ended = true
    changed()
  })
  socket.on("error", () => undefined)
  socket.on("close", () => {
    ended = true
    changed()
  })
  const until = (reached: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const check = (): void => {
        if (!reached()) return
        watchers.delete(check)
        resolve()
      }
      watchers.add(check)
      check()
    })
  return {
    socket,
    text: () => text,
    /** Waits until the received text contains `part`. */
    hears: (part: string) => until(() => text.includes(part)),
    ends: () => until(() => ended)
  }
}
