/**
 * The news of `braid ui` by WebSocket, `/ws`, in the form of mirrord's own aggregator (mirrord 3.250.0): each session
 * of this machine at first, and then those that come and go, here and at the operator.
 *
 * Not here: who may listen (domain/commands/ui/admit-api-request.ts).
 */

import type { IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import { Effect, FiberSet, type Scope, Stream } from "effect"
import { type WebSocket, WebSocketServer } from "ws"
import type { LocalNews } from "./local-sessions.ts"
import type { SessionApi } from "./session-api.ts"

/** Most bytes that a listener may leave unread; it misses news then. */
const maxUnread = 1 << 20
/** Longest message that a listener may send, in bytes; none is read. */
const maxHeard = 1_024

/** The news of this machine in the words of listeners; deeds are not among them. */
const notice = (news: LocalNews): ReadonlyArray<object> => {
  switch (news._tag) {
    case "Added":
      return [{ type: "session_added", session: news.session }]
    case "Removed":
      return [{ type: "session_removed", session_id: news.session }]
    case "Happened":
      return []
  }
}

export interface Listeners {
  /** Takes a connection that was admitted. */
  readonly take: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
  /** Ends all connections: a server does not end before they do. */
  readonly goAway: () => void
}

/** Tells the news to those who listen, until the scope ends. */
export const tellNews = Effect.fnUntraced(function* ({
  local,
  operator
}: SessionApi): Effect.fn.Return<Listeners, never, Scope.Scope> {
  const server = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: maxHeard })
  const news: Stream.Stream<object> = Stream.merge(
    Stream.flatMap(local.news, (one) => Stream.fromIterable(notice(one))),
    operator.notices
  )
  const run = yield* FiberSet.makeRuntime()
  const tell = (listener: WebSocket): void => {
    const fiber = run(
      Stream.runForEach(news, (one) =>
        Effect.sync(() => {
          if (listener.bufferedAmount < maxUnread) listener.send(JSON.stringify(one))
        })
      )
    )
    listener.on("error", () => listener.terminate())
    listener.once("close", () => fiber.interruptUnsafe())
  }
  return {
    take: (request, socket, head) => server.handleUpgrade(request, socket, head, tell),
    goAway: () => {
      for (const listener of server.clients) listener.terminate()
    }
  }
})
