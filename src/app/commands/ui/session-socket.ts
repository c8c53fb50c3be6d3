/**
 * Speaks to the socket of one session of mirrord on this machine: HTTP without a password, which the file's mode guards
 * (mirrord 3.250.0).
 *
 * Not here: which sockets there are (local-sessions.ts), and what is said (domain/commands/ui).
 */

import http from "node:http"
import { Effect } from "effect"
import { Sse } from "effect/encoding"
import { type LocalSession, readLocalSession } from "../../../domain/commands/ui/local-session.ts"
import { readSessionEvent, type SessionEvent } from "../../../domain/commands/ui/session-event.ts"
import { type SocketFailure, socketFailure } from "../../../domain/commands/ui/session-socket.ts"
import { parseObject } from "../../../domain/json.ts"

/** How long a session has for an answer, ms. */
const patience = 1_000
/** Longest answer that is read, in bytes: with a whole configuration in it. */
const maxAnswer = 4 << 20
/** Longest event that is read, UTF-16 code units. */
const maxEventSize = 65_536

export interface SocketRequest {
  readonly method: "GET" | "POST" | "PUT" | "DELETE"
  readonly path: `/${string}`
  /** JSON. */
  readonly body?: string
}

export interface SocketAnswer {
  readonly status: number
  readonly type: string
  readonly body: string
}

const optionsOf = (socketPath: string, { body, method, path }: SocketRequest): http.RequestOptions => ({
  socketPath,
  method,
  path,
  agent: false,
  headers: {
    host: "localhost",
    ...(body !== undefined && { "content-type": "application/json", "content-length": Buffer.byteLength(body) })
  }
})

/** One request on a connection of its own. Fails without a whole answer. */
export const askSocket = (socketPath: string, request: SocketRequest): Effect.Effect<SocketAnswer, SocketFailure> =>
  Effect.callback<SocketAnswer, SocketFailure>((resume) => {
    const failed = (error?: NodeJS.ErrnoException): void => resume(Effect.fail(socketFailure(error?.code)))
    const sent = http.request(optionsOf(socketPath, request), (answer) => {
      const chunks: Array<Buffer> = []
      let length = 0
      answer.on("data", (chunk: Buffer) => {
        length += chunk.length
        if (length > maxAnswer) sent.destroy()
        else chunks.push(chunk)
      })
      answer.once("error", () => failed())
      answer.once("end", () =>
        resume(
          Effect.succeed({
            status: answer.statusCode ?? 0,
            type: answer.headers["content-type"] ?? "text/plain",
            body: Buffer.concat(chunks).toString("utf8")
          })
        )
      )
    })
    sent.once("error", failed)
    sent.once("close", () => failed())
    sent.end(request.body)
    return Effect.sync(() => sent.destroy())
  }).pipe(Effect.timeoutOrElse({ duration: patience, orElse: () => Effect.fail<SocketFailure>("unreadable") }))

/** The session at a socket. */
export const askSession = (socketPath: string): Effect.Effect<LocalSession, SocketFailure> =>
  Effect.flatMap(askSocket(socketPath, { method: "GET", path: "/info" }), ({ body, status }) => {
    const session = status === 200 ? readLocalSession(parseObject(body)) : undefined
    return session === undefined ? Effect.fail<SocketFailure>("unreadable") : Effect.succeed(session)
  })

/** Hears the deeds of a session's processes from now on, until its stream ends. */
export const followSession = (socketPath: string, heard: (event: SessionEvent) => void): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const request = http.get(optionsOf(socketPath, { method: "GET", path: "/events" }), (answer) => {
      const parser = Sse.makeParser(
        (message) => {
          const event = message._tag === "Event" ? readSessionEvent(parseObject(message.data)) : undefined
          if (event !== undefined) heard(event)
        },
        { maxEventSize }
      )
      answer.setEncoding("utf8")
      answer.on("data", (text: string) => {
        if (parser.feed(text) !== undefined) request.destroy()
      })
      answer.once("error", () => request.destroy())
    })
    request.once("error", () => request.destroy())
    request.once("close", () => resume(Effect.void))
    return Effect.sync(() => request.destroy())
  })
