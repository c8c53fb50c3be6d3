/**
 * Opens a link: the WebSocket from a primary's operator to a member's operator, through the member's API server, and
 * the pings that keep it alive (docs/concepts/member-link.md).
 *
 * Not here: when a link is opened or opened again, and the frames on it (websocket-channel.ts).
 */

import type { IncomingMessage } from "node:http"
import type { RequestOptions } from "node:https"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import type { KubeConfig } from "@kubernetes/client-node"
import { Effect } from "effect"
import WebSocket, { type ClientOptions } from "ws"
import { cleanText, textLimits } from "../../domain/clean-text.ts"
import {
  connectSubprotocol,
  proxiedTargetPath,
  termHeader,
  traceparentHeader
} from "../../domain/resources/operator-api.ts"
import { connectParamsHeader, encodeConnectHeader } from "../../domain/sessions/connect-request.ts"
import type { FrameChannel } from "../../ports/frame-channel.ts"
import { LinkRefused, type LinkRequest } from "../../ports/member-link.ts"
import type { MessageRoom } from "../stream/message-room.ts"
import { proxyAgent } from "../stream/proxy-agent.ts"
import { noteListeners } from "./added-listeners.ts"
import { withSharedContext } from "./shared-secure-context.ts"
import { WebSocketChannel } from "./websocket-channel.ts"

/** Time between two WebSocket pings, ms. A member is lost after two unanswered ones (docs/concepts/member-link.md). */
const pingEvery = 30_000
/** How much of a refusal is read, in bytes. */
const maxRefusal = 64 * 1024

/** How long a member may hold the upgrade, in ms: it waits for its own session to become usable. */
const handshakeTimeout = 300_000

const readRefusal = async (
  response: IncomingMessage
): Promise<{ readonly reason: string; readonly message: string }> => {
  const chunks: Array<Buffer> = []
  let length = 0
  try {
    for await (const chunk of response) {
      chunks.push(chunk as Buffer)
      length += (chunk as Buffer).length
      if (length > maxRefusal) break
    }
  } catch {
    // The connection broke off in the middle of the answer. The part that arrived is used.
  }
  const text = Buffer.concat(chunks).toString("utf8")
  try {
    const status = JSON.parse(text) as { readonly reason?: unknown; readonly message?: unknown } | null
    return { reason: String(status?.reason ?? ""), message: String(status?.message ?? text) }
  } catch {
    return { reason: "", message: text.slice(0, 300) }
  }
}

/**
 * Ends the socket after two unanswered pings without a message: behind much data a pong may be late. The pings stay on
 * the link, since the real client must never see a ping.
 */
const watchPulse = (channel: WebSocketChannel, every: number): void => {
  let unanswered = 0
  const beat = (): void => {
    // While the channel is paused nothing is read, so a pong cannot arrive.
    if (channel.isPaused) unanswered = 0
    if (unanswered >= 2) return channel.terminate()
    unanswered++
    channel.ping()
  }
  const timer = setInterval(beat, every)
  // The first ping goes out at once: the member expects pings only after it has seen one.
  beat()
  const alive = (): void => {
    unanswered = 0
  }
  channel.on("pong", alive)
  channel.on("message", alive)
  channel.on("close", () => clearInterval(timer))
}

export interface LinkOptions {
  /** Time between two pings, ms. */
  readonly pingInterval?: number
  /** For unfinished messages; without it they are bounded one by one only. */
  readonly room?: MessageRoom
}

/** Of the module, so that it holds nothing. */
const ignored = (): void => {}

/** The way to the member's API server: its URL for WebSockets, the options of the connection, and credentials. */
interface Way {
  readonly server: string
  readonly options: ClientOptions
  readonly headers: Readonly<Record<string, string>>
}

const headersOf = (request: LinkRequest, userAgent: string): Readonly<Record<string, string>> => ({
  "user-agent": userAgent,
  "x-session-id": request.sessionId.toString(),
  ...(request.term === undefined ? {} : { [termHeader]: request.term }),
  ...(request.traceparent === undefined ? {} : { [traceparentHeader]: request.traceparent }),
  ...(request.parametersInHeader ? { [connectParamsHeader]: encodeConnectHeader(request.query) } : {})
})

const refusing =
  ({ cluster }: LinkRequest) =>
  (detail: string, reason = "", code?: number): LinkRefused =>
    new LinkRefused({
      cluster,
      reason: cleanText(reason, textLimits.name),
      detail: cleanText(detail, textLimits.message),
      ...(code === undefined ? {} : { code })
    })

const openLink = (
  { headers, options, server }: Way,
  request: LinkRequest,
  userAgent: string,
  { pingInterval = pingEvery, room }: LinkOptions
): Effect.Effect<FrameChannel, LinkRefused> =>
  Effect.callback<FrameChannel, LinkRefused>((resume) => {
    const refuse = refusing(request)
    const path = proxiedTargetPath(request.namespace, request.target)
    const query = request.parametersInHeader ? "connect=true" : request.query
    const socket = new WebSocket(`${server}${path}?${query}`, [connectSubprotocol], {
      ...options,
      headers: { ...headers, ...headersOf(request, userAgent) },
      perMessageDeflate: false,
      handshakeTimeout
    })
    socket.on("unexpected-response", (_request, response) => {
      void readRefusal(response).then(({ message, reason }) => {
        socket.terminate()
        resume(Effect.fail(refuse(message, reason, response.statusCode)))
      })
    })
    // There is a listener as long as the socket lives: an error without one would end the process.
    socket.on("error", (error) => resume(Effect.fail(refuse(error.message))))
    socket.once("upgrade", ({ socket: raw }) => {
      const removeLater = noteListeners(raw)
      // In the same turn: not a byte is read before the socket is the channel's.
      socket.once("open", () => {
        removeLater()
        // The library's socket lives as long as the raw one, and these listeners would hold the request.
        socket.removeAllListeners().on("error", ignored)
        const channel = new WebSocketChannel(raw, { isServer: false, room })
        watchPulse(channel, pingInterval)
        resume(Effect.succeed(channel))
      })
    })
    return Effect.sync(() => socket.terminate())
  })

/**
 * Opens the link through the member's API server, with the credentials of `config`. `userAgent` is sent as the header
 * of that name.
 */
export const openMemberLink = Effect.fnUntraced(function* (
  config: KubeConfig,
  request: LinkRequest,
  userAgent = "braid",
  linkOptions: LinkOptions = {}
): Effect.fn.Return<FrameChannel, LinkRefused> {
  const tls: RequestOptions = {}
  const secure = yield* Effect.tryPromise({
    try: async () => {
      await config.applyToHTTPSOptions(tls)
      const { agent: _agent, headers: _headers, ...options } = tls
      return withSharedContext(config, options)
    },
    catch: (cause) => refusing(request)(String(cause))
  })
  const agent = proxyAgent(config.getCurrentCluster()?.proxyUrl)
  const server = (config.getCurrentCluster()?.server ?? "").replace(/^http/, "ws").replace(/\/$/, "")
  const options = { ...(secure as object), ...(agent === undefined ? {} : { agent }) }
  const headers = { ...(tls.headers as Record<string, string> | undefined) }
  return yield* openLink({ server, options, headers }, request, userAgent, linkOptions)
})

/**
 * Opens the link over a lane of the tunnel that the member has dialled; the member adds its credentials itself.
 * `openLane` throws an error with a sentence when there is no tunnel.
 */
export const openLaneLink = (
  openLane: () => Duplex,
  request: LinkRequest,
  userAgent = "braid",
  linkOptions: LinkOptions = {}
): Effect.Effect<FrameChannel, LinkRefused> =>
  Effect.gen(function* () {
    const lane = yield* Effect.try({
      try: openLane,
      catch: (cause) => refusing(request)(cause instanceof Error ? cause.message : String(cause))
    })
    // Of a lane, the library uses no more than it has in common with a socket.
    const options = { createConnection: () => lane as Socket }
    return yield* openLink({ server: "ws://member", options, headers: {} }, request, userAgent, linkOptions)
  })
