/**
 * Streams of what is stolen by sessions, for their own users (`mirrord subscribe`). A session that no user watches is
 * neither read nor kept.
 *
 * Not here: what an event says (domain/relay), and the request over HTTP (app/api/routes.ts).
 */

import { Clock, Effect, type Scope, Stream } from "effect"
import { type MessageFilter, type Pass, pass } from "../../domain/protocol/message-filter.ts"
import { EventBuffer } from "../../domain/relay/event-buffer.ts"
import {
  requestRows,
  responseRows,
  watchEventText,
  type InterceptedSession,
  type Interception,
  stolenRequest,
  stolenResponse
} from "../../domain/relay/interception.ts"
import { countHolding } from "../kernel/holdings.ts"

/** Most streams of one user, and of all. */
const maxOfUser = 10
const maxOfAll = 200
/** After so long without an event a comment shows to both sides that the other one is there. */
const keepAliveEvery = "15 seconds"

export interface Interceptions {
  /** Shows a connection of a user's session to those who watch it. Every message goes on as it came. */
  readonly watched: (session: InterceptedSession & { readonly user: string }) => MessageFilter
  /**
   * The events of a user's own sessions, with one key or with any, as `text/event-stream`. Fails with a sentence at the
   * bound of streams. Ends with the operator.
   */
  readonly watch: (user: string, key: string | undefined) => Effect.Effect<Stream.Stream<string>, string>
}

/** One stream. */
interface Watcher {
  readonly user: string
  readonly key: string | undefined
  readonly buffer: EventBuffer
  /** Called when there is something to take, or when everything is over. */
  wake: () => void
}

const comment = (text: string): string => `: ${text}\n\n`
const line = (event: string): string => `data: ${event}\n\n`

/** Completes when something waits for the watcher, or all is over. */
const news = (watcher: Watcher, isOver: () => boolean): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const check = (): void => {
      if (isOver() || watcher.buffer.size.events > 0) resume(Effect.void)
    }
    watcher.wake = check
    check()
    return Effect.sync(() => {
      watcher.wake = () => {}
    })
  })

/** The next piece of a stream; `undefined` if the stream is over. */
const next = Effect.fnUntraced(function* (
  watcher: Watcher,
  isOver: () => boolean
): Effect.fn.Return<string | undefined> {
  const came = yield* Effect.timeoutOption(news(watcher, isOver), keepAliveEvery)
  if (isOver()) return undefined
  if (came._tag === "None") return comment("")
  const { dropped, events } = watcher.buffer.takeAll()
  const now = yield* Clock.currentTimeMillis
  const lagged: Interception = { lagged: { count: dropped } }
  const told = dropped === 0 ? [] : [watchEventText(lagged, { key: undefined, service: "" }, now)]
  return [...told, ...events].map(line).join("")
})

const boundProblem = (watchers: ReadonlySet<Watcher>, user: string): string | undefined => {
  const own = [...watchers].filter((watcher) => watcher.user === user).length
  if (own >= maxOfUser)
    return `User ${user} has ${own} streams of events open, and no more are allowed; end one of them.`
  return watchers.size < maxOfAll
    ? undefined
    : `There are ${watchers.size} streams of events, and no more are allowed; try again when one of them has ended.`
}

/** Streams end with the scope. */
export const makeInterceptions: Effect.Effect<Interceptions, never, Scope.Scope> = Effect.gen(function* () {
  const watchers = new Set<Watcher>()
  let isOver = false
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      isOver = true
      for (const watcher of watchers) watcher.wake()
    })
  )
  yield* countHolding("streams of events", () => watchers.size)
  const clock = yield* Clock.Clock
  const follow = (user: string, key: string | undefined): Effect.Effect<Watcher, never, Scope.Scope> =>
    Effect.acquireRelease(
      Effect.sync(() => {
        const watcher: Watcher = { user, key, buffer: new EventBuffer(), wake: () => {} }
        watchers.add(watcher)
        return watcher
      }),
      (watcher) => Effect.sync(() => watchers.delete(watcher))
    )
  const tell = (
    session: InterceptedSession & { readonly user: string },
    read: () => Interception | undefined
  ): Pass => {
    let text: string | undefined
    for (const watcher of watchers) {
      if (watcher.user !== session.user || (watcher.key !== undefined && watcher.key !== session.key)) continue
      // Read once, and only for a watcher.
      const data = text === undefined ? read() : undefined
      if (data !== undefined) text = watchEventText(data, session, clock.currentTimeMillisUnsafe())
      if (text === undefined) return pass
      watcher.buffer.add(text)
      watcher.wake()
    }
    return pass
  }
  const begin = (user: string, key: string | undefined): Stream.Stream<string> =>
    Stream.unwrap(
      Effect.suspend(() => {
        // Others may have begun since this one was asked for.
        const problem = boundProblem(watchers, user)
        if (problem !== undefined) return Effect.succeed(Stream.succeed(comment(problem)))
        return Effect.map(follow(user, key), (watcher) => {
          const events = Stream.unfold(undefined, () =>
            Effect.map(
              next(watcher, () => isOver),
              (text) => (text === undefined ? undefined : [text, undefined])
            )
          )
          return Stream.concat(Stream.succeed(comment("events of your own sessions")), events)
        })
      })
    )
  return {
    watched: (session) => ({
      fromClient: { rows: responseRows, hear: (bytes) => tell(session, () => stolenResponse(bytes)) },
      toClient: { rows: requestRows, hear: (bytes) => tell(session, () => stolenRequest(bytes)) }
    }),
    watch: (user, key) =>
      Effect.suspend(() => {
        const problem = boundProblem(watchers, user)
        if (problem !== undefined) return Effect.fail(problem)
        return Effect.succeed(begin(user, key))
      })
  }
})
