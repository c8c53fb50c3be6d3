/**
 * Follows the sessions of this operator, and the health of its fleet, and brings the store up to date. Which records
 * are due, domain/usage/follow-usage.ts decides. Records that cannot be written wait in memory, and the sessions
 * themselves in the cluster.
 */

import { Cause, Clock, Effect, Exit, Scope } from "effect"
import {
  adopt,
  afterWrites,
  dueRecords,
  follow,
  type FollowedSessions,
  withNewest
} from "../../domain/usage/follow-usage.ts"
import type { HealthSpan } from "../../domain/usage/health-spans.ts"
import type { SeenSession } from "../../domain/usage/seen-session.ts"
import { recordKey, type UsageRecord } from "../../domain/usage/usage-record.ts"
import type { UsageLimits, UsageStore, UsageStoreError } from "../../ports/usage-store.ts"
import { LogOnce } from "../kernel/log-once.ts"
import { logInfo, logWarning } from "../kernel/log.ts"
import { CurrentSessionActs } from "../kernel/session-acts.ts"
import type { FleetView } from "../services/fleet-view.ts"
import type { Sessions } from "../services/sessions.ts"
import { FollowedFleet } from "./follow-health.ts"
import { makeSums } from "./make-sums.ts"
import type { UsageKept } from "./usage-keeping.ts"

/** The pause between two looks at all sessions, ms; beginnings and ends are heard of at once. */
const lookEvery = 1_000
/** The pause after the store could not be opened, and between two looks at its limits and its sums, ms. */
const openEvery = 30_000
const pruneEvery = 3_600_000

/** Records of ended sessions that wait for a store that cannot be written: about 10 MiB. */
const maxWaiting = 20_000

/** The store as reports find it. */
export interface OpenStore {
  readonly store: () => UsageStore | undefined
  /** Why there is none; empty at first. */
  readonly problem: () => string
  /** The spans of clusters' health that are followed, which are as the store has them or newer. */
  readonly health: () => ReadonlyArray<HealthSpan>
}

interface Options extends Pick<UsageKept, "open"> {
  readonly sessions: Sessions["Service"]
  readonly readiness: FleetView["Service"]["readiness"]
  /** The limits at a time, in epoch ms. */
  readonly limits: (now: number) => UsageLimits
  /** How far the host's clock, by which records have their times, is ahead of the clock here, ms. */
  readonly hostAhead: () => number
}

interface HeardSession {
  readonly name: string
  readonly record: SeenSession
}

interface State {
  followed: FollowedSessions
  readonly fleet: FollowedFleet
  store: UsageStore | undefined
  /** The scope of the open store. */
  own: Scope.Closeable | undefined
  problem: string
  openAt: number
  pruneAt: number
  /** Names of objects with the keys of their records, as they were seen last. */
  names: Map<string, string>
  /** The sessions that were heard of since the last look, which one of less than a second would miss. */
  readonly heard: Array<HeardSession>
  /** Records that were dropped since the last write. */
  dropped: number
  /** The ends that were heard of, by key. */
  readonly ends: Map<string, number>
}

const look = (state: State, { sessions }: Options): void => {
  const seen = state.heard.splice(0)
  for (const { all } of sessions.served)
    for (const { metadata, use } of all()) {
      const record = use()
      if (record !== undefined) seen.push({ name: metadata.name, record })
    }
  state.followed = follow(state.followed, { sessions: seen.map(({ record }) => record), ends: state.ends })
  state.names = new Map(seen.map(({ name, record }) => [name, recordKey(record)]))
  for (const key of state.ends.keys()) if (!state.followed.has(key)) state.ends.delete(key)
}

const hear = (state: State, { sessions }: Options, name: string): void => {
  for (const { find } of sessions.served) {
    const record = find(name)?.use()
    if (record === undefined) continue
    state.names.set(name, recordKey(record))
    state.heard.push({ name, record })
  }
}

/** Sums make reports quick, and nothing else: those that cannot be made now are made the next time. */
const makeSumsAlways = (store: UsageStore, { hostAhead }: Options): Effect.Effect<never> =>
  Clock.currentTimeMillis.pipe(
    Effect.flatMap((now) => makeSums(store, now + hostAhead())),
    Effect.ignore,
    Effect.andThen(Effect.sleep(pruneEvery)),
    Effect.forever
  )

/** Opens the store in a scope of its own, which ends at once if that fails. */
const openStore = Effect.fnUntraced(function* (state: State, options: Options, now: number) {
  const { open } = options
  if (now < state.openAt) return
  state.openAt = now + openEvery
  const own = yield* Scope.fork(yield* Effect.scope)
  const { records, store } = yield* Effect.flatMap(open, (opened) =>
    Effect.andThen(
      state.fleet.adopt(opened),
      Effect.map(opened.open, (found) => ({ records: found, store: opened }))
    )
  ).pipe(
    Scope.provide(own),
    Effect.onError(() => Scope.close(own, Exit.void))
  )
  state.followed = adopt(state.followed, records)
  state.store = store
  state.own = own
  yield* Effect.forkIn(makeSumsAlways(store, options), own)
  yield* logInfo("use is recorded")
})

const writeDue = Effect.fnUntraced(function* (state: State, store: UsageStore) {
  const written: Array<UsageRecord> = []
  yield* Effect.forEach(dueRecords(state.followed), (record) =>
    Effect.andThen(
      store.put(record),
      Effect.sync(() => written.push(record))
    )
  ).pipe(Effect.ensuring(Effect.sync(() => (state.followed = afterWrites(state.followed, written)))))
})

const prune = Effect.fnUntraced(function* (state: State, store: UsageStore, options: Options, now: number) {
  const { hostAhead, limits } = options
  if (now < state.pruneAt) return
  state.pruneAt = now + pruneEvery
  const count = yield* store.prune(limits(now + hostAhead()))
  if (count > 0) yield* logInfo("old records of use deleted", { count })
})

/** Closes a store that neither writes nor deletes. It is opened again at the next turn, then with pauses. */
const closeStore = (state: State): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { own } = state
    state.store = undefined
    state.own = undefined
    return own === undefined ? Effect.void : Scope.close(own, Exit.void)
  })

/** Deletes at once what is beyond the limits: a volume that is full stays so otherwise. */
const makeRoom = (state: State, store: UsageStore, options: Options, now: number): Effect.Effect<void> => {
  state.pruneAt = now
  return prune(state, store, options, now).pipe(Effect.catch(() => closeStore(state)))
}

/** Bounds what waits for the store. The log has one line when that begins, and one with the count when it is over. */
const dropOldest = Effect.fnUntraced(function* (state: State) {
  const { dropped, followed } = withNewest(state.followed, maxWaiting)
  if (dropped === 0) return
  if (state.dropped === 0)
    yield* logWarning("the oldest records of use are dropped, as they cannot be written", { kept: maxWaiting })
  state.followed = followed
  state.dropped += dropped
})

const tellDropped = Effect.fnUntraced(function* (state: State) {
  if (state.dropped === 0) return
  yield* logWarning("records of use were dropped", { count: state.dropped })
  state.dropped = 0
})

const turn = Effect.fnUntraced(function* (state: State, options: Options) {
  const now = yield* Clock.currentTimeMillis
  if (state.store === undefined) yield* openStore(state, options, now)
  look(state, options)
  state.fleet.look(now, now + options.hostAhead())
  const { store } = state
  if (store === undefined) return yield* dropOldest(state)
  yield* prune(state, store, options, now).pipe(Effect.tapError(() => closeStore(state)))
  yield* Effect.andThen(writeDue(state, store), state.fleet.write(store)).pipe(
    Effect.tapError(() => Effect.andThen(makeRoom(state, store, options, now), dropOldest(state)))
  )
  yield* tellDropped(state)
  state.problem = ""
})

/** Follows the sessions until the scope ends. `ready`: completes when the sessions have been read. */
export const followSessions = Effect.fnUntraced(function* (
  options: Options,
  ready: Effect.Effect<void>
): Effect.fn.Return<OpenStore, never, Scope.Scope> {
  const state: State = {
    followed: new Map(),
    fleet: new FollowedFleet(options.readiness),
    store: undefined,
    own: undefined,
    problem: "it has not been opened yet",
    openAt: 0,
    pruneAt: 0,
    names: new Map(),
    heard: [],
    dropped: 0,
    ends: new Map()
  }
  const acts = yield* CurrentSessionActs
  acts.subscribe((act, at) => {
    const name = act.session ?? ""
    if (act.act === "connected") hear(state, options, name)
    const key = state.names.get(name)
    if (act.act === "ended" && key !== undefined && !state.ends.has(key)) state.ends.set(key, at + options.hostAhead())
  })
  const troubles = new LogOnce()
  const failed = (why: string): Effect.Effect<void> => {
    state.problem = why
    return troubles.tell(why, logWarning("use is not recorded", { problem: why }))
  }
  const once = turn(state, options).pipe(
    // A turn that only waits until the store is opened again is no success.
    Effect.tap(Effect.sync(() => state.store !== undefined && troubles.reset())),
    Effect.catch(({ message }: UsageStoreError) => failed(message)),
    Effect.catchDefect((defect) => failed(Cause.pretty(Cause.die(defect))))
  )
  yield* Effect.forkScoped(Effect.andThen(ready, Effect.forever(Effect.andThen(once, Effect.sleep(lookEvery)))))
  return { store: () => state.store, problem: () => state.problem, health: state.fleet.spans }
})
