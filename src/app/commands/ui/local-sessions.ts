/**
 * The sessions of mirrord on this machine, by their sockets in `~/.mirrord/sessions`: follows the folder, and each
 * session in it. A socket that a crashed session has left is removed.
 *
 * Not here: a single socket (session-socket.ts), and when one is left behind (domain/commands/ui/session-socket.ts).
 */

import { type FSWatcher, watch } from "node:fs"
import { lstat, readdir, unlink } from "node:fs/promises"
import { homedir } from "node:os"
import { join } from "node:path"
import { Clock, Deferred, Effect, FiberMap, PubSub, Queue, Result, type Scope, Stream } from "effect"
import {
  type LocalEvent,
  type LocalSession,
  sessionAfter,
  withLocalEvent
} from "../../../domain/commands/ui/local-session.ts"
import { type SessionEvent, sessionEventText } from "../../../domain/commands/ui/session-event.ts"
import { isLeftBehind, sessionOfFile, type SocketFailure } from "../../../domain/commands/ui/session-socket.ts"
import { askSession, askSocket, followSession, type SocketAnswer, type SocketRequest } from "./session-socket.ts"

/** Longest pause between two looks at the folder, ms: some systems do not tell every change. */
const lookEvery = 2_000
/** How long a new socket has until it is asked, ms: its program may not listen yet. */
const beginning = 100
/** Most sessions that are followed. */
const maxSessions = 200
/** Most deeds of a session that are remembered. */
const maxEvents = 500
/** Most news that a reader may leave unread; the oldest are dropped then. */
const maxNews = 256

export type LocalNews =
  | { readonly _tag: "Added"; readonly session: LocalSession }
  | { readonly _tag: "Happened"; readonly session: string; readonly event: SessionEvent }
  | { readonly _tag: "Removed"; readonly session: string }

/** The sessions of this machine, as far as they answer. */
export interface LocalSessions {
  readonly now: () => ReadonlyArray<LocalSession>
  /** Deeds of their processes in texts, newest first, by the session's id. */
  readonly deeds: () => ReadonlyMap<string, ReadonlyArray<LocalEvent>>
  /** The last deeds of a session, oldest first, and each new one until it ends; `undefined` for none of that id. */
  readonly events: (session: string) => Stream.Stream<SessionEvent> | undefined
  /** One `Added` for each session, and then what changes. */
  readonly news: Stream.Stream<LocalNews>
  /** Asks the program of a session; `undefined` for none of that id. */
  readonly ask: (session: string, request: SocketRequest) => Effect.Effect<SocketAnswer | undefined, SocketFailure>
  /** Ends a session's socket, and with it what this machine shows of the session; the process goes on. */
  readonly end: (session: string) => Effect.Effect<SocketAnswer | undefined, SocketFailure>
}

interface Known {
  readonly file: string
  readonly session: LocalSession
  /** Oldest first. */
  readonly events: ReadonlyArray<SessionEvent>
  readonly deeds: ReadonlyArray<LocalEvent>
  /** Done when the session is followed no more: its socket does not end while it has a reader. */
  readonly left: Deferred.Deferred<void>
}

/** The folder of the sockets of mirrord's sessions. */
export const sessionsFolder = (): string => join(homedir(), ".mirrord", "sessions")

/** Removes what a crashed session has left, and no other file. */
const removeIfLeft = Effect.fnUntraced(function* (path: string, failure: SocketFailure) {
  const now = yield* Clock.currentTimeMillis
  yield* Effect.promise(async () => {
    const found = await lstat(path).catch(() => undefined)
    if (found?.isSocket() === true && isLeftBehind(failure, now - found.mtimeMs)) await unlink(path).catch(() => {})
  })
})

/** Calls back at each change in the folder, as long as the folder is there. */
const watchFolder = (folder: string, changed: () => void): FSWatcher | undefined => {
  try {
    return watch(folder, { persistent: false }, changed).on("error", () => undefined)
  } catch {
    return undefined
  }
}

class FollowedFolder implements LocalSessions {
  readonly #folder: string
  readonly #told: PubSub.PubSub<LocalNews>
  /** By the session's id. */
  readonly #known = new Map<string, Known>()

  constructor(folder: string, told: PubSub.PubSub<LocalNews>) {
    this.#folder = folder
    this.#told = told
  }

  #tell(news: LocalNews): void {
    PubSub.publishUnsafe(this.#told, news)
  }

  #path(file: string): string {
    return join(this.#folder, file)
  }

  /** Follows one socket until it ends, and leaves no word of it then. */
  readonly follow = (file: string): Effect.Effect<void> =>
    Effect.gen({ self: this }, function* () {
      const clock = yield* Clock.Clock
      const path = this.#path(file)
      const asked = yield* Effect.result(askSession(path))
      if (Result.isFailure(asked)) return yield* removeIfLeft(path, asked.failure)
      const id = asked.success.session_id
      if (this.#known.has(id)) return
      const left = yield* Deferred.make<void>()
      this.#known.set(id, { file, session: asked.success, events: [], deeds: [], left })
      this.#tell({ _tag: "Added", session: asked.success })
      yield* Effect.ensuring(
        Effect.raceFirst(
          followSession(path, (event) => this.#hear(id, event, clock.currentTimeMillisUnsafe())),
          Deferred.await(left)
        ),
        Effect.sync(() => this.#forget(id))
      )
    })

  #hear(id: string, event: SessionEvent, now: number): void {
    const known = this.#known.get(id)
    if (known === undefined) return
    this.#known.set(id, {
      ...known,
      session: sessionAfter(known.session, event),
      events: [...known.events, event].slice(-maxEvents),
      deeds: withLocalEvent(known.deeds, sessionEventText(event), now)
    })
    this.#tell({ _tag: "Happened", session: id, event })
  }

  #forget(id: string): void {
    const known = this.#known.get(id)
    if (known === undefined) return
    this.#known.delete(id)
    Deferred.doneUnsafe(known.left, Effect.void)
    this.#tell({ _tag: "Removed", session: id })
  }

  readonly now = (): ReadonlyArray<LocalSession> => [...this.#known.values()].map(({ session }) => session)

  readonly deeds = (): ReadonlyMap<string, ReadonlyArray<LocalEvent>> =>
    new Map([...this.#known].map(([id, { deeds }]) => [id, deeds]))

  readonly events = (session: string): Stream.Stream<SessionEvent> | undefined => {
    if (!this.#known.has(session)) return undefined
    const happened = (event: SessionEvent): LocalNews => ({ _tag: "Happened", session, event })
    return this.#since(() => (this.#known.get(session)?.events ?? []).map(happened)).pipe(
      Stream.takeWhile((one) => !(one._tag === "Removed" && one.session === session)),
      Stream.flatMap((one) =>
        one._tag === "Happened" && one.session === session ? Stream.succeed(one.event) : Stream.empty
      )
    )
  }

  get news(): Stream.Stream<LocalNews> {
    return this.#since(() => this.now().map((session): LocalNews => ({ _tag: "Added", session })))
  }

  /** The known state of the moment at which the stream begins, and all news from then on. */
  #since(known: () => ReadonlyArray<LocalNews>): Stream.Stream<LocalNews> {
    return Stream.unwrap(
      Effect.map(PubSub.subscribe(this.#told), (news) =>
        Stream.concat(Stream.fromIterable(known()), Stream.fromSubscription(news))
      )
    )
  }

  readonly ask = (session: string, request: SocketRequest): Effect.Effect<SocketAnswer | undefined, SocketFailure> => {
    const known = this.#known.get(session)
    return known === undefined ? Effect.succeed(undefined) : askSocket(this.#path(known.file), request)
  }

  readonly end = (session: string): Effect.Effect<SocketAnswer | undefined, SocketFailure> =>
    Effect.tap(this.ask(session, { method: "POST", path: "/kill" }), (answer) =>
      Effect.sync(() => (answer?.status === 200 ? this.#forget(session) : undefined))
    )
}

/** Follows the sockets of a folder until the scope ends. `pause`: between two looks, ms. */
export const followLocalSessions = Effect.fnUntraced(function* (
  folder: string,
  pause = lookEvery
): Effect.fn.Return<LocalSessions, never, Scope.Scope> {
  const followed = new FollowedFolder(folder, yield* PubSub.sliding<LocalNews>(maxNews))
  const fibers = yield* FiberMap.make<string>()
  const changes = yield* Queue.sliding<true>(1)
  let watcher: FSWatcher | undefined
  yield* Effect.addFinalizer(() => Effect.sync(() => watcher?.close()))
  const look = Effect.gen(function* () {
    watcher ??= watchFolder(folder, () => Queue.offerUnsafe(changes, true))
    const files = yield* Effect.promise(() => readdir(folder).catch((): Array<string> => []))
    const sockets = files.filter((file) => sessionOfFile(file) !== undefined).slice(0, maxSessions)
    for (const [file] of fibers) if (!sockets.includes(file)) yield* FiberMap.remove(fibers, file)
    for (const file of sockets) yield* FiberMap.run(fibers, file, followed.follow(file), { onlyIfMissing: true })
  })
  const change = Effect.andThen(Queue.take(changes), Effect.sleep(Math.min(beginning, pause)))
  const next = Effect.raceFirst(change, Effect.sleep(pause))
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(look, next)))
  return followed
})
