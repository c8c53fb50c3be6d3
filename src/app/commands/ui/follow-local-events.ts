/**
 * Follows what the processes of mirrord's sessions on this machine do, as their sockets tell it (`GET /events` of
 * mirrord 3.250.0, a stream of events that begins when it is asked for).
 *
 * Not here: the texts of the events (domain/commands/ui/local-session.ts).
 */

import { readdir } from "node:fs/promises"
import http from "node:http"
import { join } from "node:path"
import { Clock, Effect, type Scope } from "effect"
import { Sse } from "effect/encoding"
import { type LocalEvent, localEventText, withLocalEvent } from "../../../domain/commands/ui/local-session.ts"
import { parseObject } from "../../../domain/json.ts"

/** Pause between two looks for new sockets, ms. */
const lookEvery = 2_000
/** Most sessions that are followed. */
const maxSessions = 50
/** Longest event that is read, UTF-16 code units. */
const maxEventSize = 65_536

type Known = Map<string, ReadonlyArray<LocalEvent>>

/** Follows one socket until it ends. */
const follow = (socketPath: string, heard: (data: string) => void): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const request = http.get(
      { socketPath, path: "/events", headers: { host: "localhost" }, agent: false },
      (answer) => {
        const parser = Sse.makeParser((event) => (event._tag === "Event" ? heard(event.data) : undefined), {
          maxEventSize
        })
        answer.setEncoding("utf8")
        answer.on("data", (text: string) => {
          if (parser.feed(text) !== undefined) request.destroy()
        })
        answer.once("error", () => request.destroy())
      }
    )
    request.once("error", () => request.destroy())
    request.once("close", () => resume(Effect.void))
    return Effect.sync(() => request.destroy())
  })

/** Follows the sockets of a folder until the scope ends. The result gives the events so far, by the session's id. */
export const followLocalEvents = Effect.fnUntraced(function* (
  folder: string,
  every = lookEvery
): Effect.fn.Return<() => ReadonlyMap<string, ReadonlyArray<LocalEvent>>, never, Scope.Scope> {
  const clock = yield* Clock.Clock
  const known: Known = new Map()
  const followed = new Set<string>()
  const hear = (session: string, data: string): void => {
    const text = localEventText(parseObject(data))
    if (text === undefined) return
    known.set(session, withLocalEvent(known.get(session) ?? [], text, clock.currentTimeMillisUnsafe()))
  }
  const followNew = Effect.gen(function* () {
    const files = yield* Effect.promise(() => readdir(folder).catch(() => []))
    const sessions = files.flatMap((file) => (file.endsWith(".sock") ? [file.slice(0, -".sock".length)] : []))
    for (const session of known.keys()) if (!sessions.includes(session)) known.delete(session)
    for (const session of sessions) {
      if (followed.has(session) || followed.size >= maxSessions) continue
      followed.add(session)
      const followedOne = follow(join(folder, `${session}.sock`), (data) => hear(session, data))
      yield* Effect.forkScoped(
        Effect.ensuring(
          followedOne,
          Effect.sync(() => followed.delete(session))
        )
      )
    }
    yield* Effect.sleep(every)
  })
  yield* Effect.forkScoped(Effect.forever(followNew))
  return () => known
})
