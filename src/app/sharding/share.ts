/**
 * Shares things among the replicas of an operator: a replica says by a Lease that it lives, takes and gives up the
 * Leases of things, and serves a thing while it holds its Lease.
 *
 * Not here: the decisions (domain/sharding), and what is done with a thing.
 */

import { Clock, Effect, FiberMap, Queue, type Scope } from "effect"
import { asString, at } from "../../domain/json.ts"
import type { OperatorPod } from "../../domain/leadership/identity.ts"
import { leases } from "../../domain/resources/core-kinds.ts"
import { preconditionOf } from "../../domain/resources/object-meta.ts"
import { replicaLeaseMetadata, replicaLeaseName, shardLeaseTimes } from "../../domain/sharding/shard-leases.ts"
import { shardPlan } from "../../domain/sharding/shard-plan.ts"
import type { KubeApi } from "../../ports/kube-api.ts"
import { logInfo, logWarning } from "../kernel/log.ts"
import { sha256Hex } from "../kernel/sha256-hex.ts"
import { elapsedOf, type Term } from "../kernel/term.ts"
import { untilDone } from "../kernel/until-done.ts"
import { holdLease } from "../leadership/elector.ts"
import type { SeenLeases } from "./seen-leases.ts"

/** How often a replica looks at the Leases without news, in ms: they end without a word. */
const lookEvery = 1_000
/** How long a replica that has just come waits for others before it takes things, in ms. */
const settleFor = 4_000

/** One replica among those that share. */
export interface Sharer {
  /** The operator's own cluster. */
  readonly api: KubeApi
  readonly namespace: string
  readonly pod: OperatorPod
  readonly seen: SeenLeases
  /** Since when this replica's own Lease is held, by the steady clock; `undefined` while it is not. */
  readonly presentSince: () => number | undefined
}

/** Things of one sort that are shared. */
export interface Shared<Name extends string> {
  /** A thing in the words of the log, such as `cluster`. */
  readonly noun: string
  /** A thing's name for people. */
  readonly shown: (name: Name) => string
  /** The things that there are now. */
  readonly names: () => ReadonlyArray<Name>
  readonly leaseOf: (name: Name) => string
  /** Further metadata of a thing's Lease. */
  readonly metadata: (name: Name) => object
  /** Runs while the thing's Lease is held. Its scope closes before the term ends. */
  readonly serve: (name: Name, term: Term) => Effect.Effect<never, never, Scope.Scope>
  /** Deletes what is left, beside its Lease, of a thing that is no longer there. */
  readonly forget: (name: Name) => Effect.Effect<void>
}

interface State<Name extends string> {
  readonly sharer: Sharer
  readonly shared: Shared<Name>
  /** The attempts to get each thing's Lease, and the work with it. */
  readonly tasks: FiberMap.FiberMap<Name>
  /** The things that are being given up. */
  readonly leaving: FiberMap.FiberMap<Name>
  /** The things of {@link tasks}. */
  readonly held: Set<Name>
}

const electionOf = ({ api, namespace, pod }: Pick<Sharer, "api" | "namespace" | "pod">) => ({
  api,
  namespace,
  pod,
  times: shardLeaseTimes,
  resign: Effect.void
})

/** Says by a Lease that this replica lives, with its weight among the others. */
export const bePresent = Effect.fnUntraced(function* (
  at: Pick<Sharer, "api" | "namespace" | "pod">,
  weight: number
): Effect.fn.Return<Sharer["presentSince"], never, Scope.Scope> {
  const elapsed = elapsedOf(yield* Clock.Clock)
  let since: number | undefined
  const present = Effect.acquireRelease(
    Effect.sync(() => (since = elapsed())),
    () => Effect.sync(() => (since = undefined))
  )
  const { pod } = at
  yield* holdLease(
    { ...electionOf(at), lease: replicaLeaseName(pod), metadata: replicaLeaseMetadata(pod, weight) },
    undefined,
    () => Effect.andThen(present, Effect.never)
  ).pipe(
    Effect.flatMap(({ why }) => logWarning("this replica owns nothing further: its Lease is not held", { why })),
    Effect.andThen(Effect.sleep(lookEvery)),
    Effect.forever,
    Effect.forkScoped
  )
  return () => since
})

/** Gets the Lease of a free thing, and serves it until it is given up or lost. */
const own = <Name extends string>({ sharer, shared }: State<Name>, name: Name): Effect.Effect<void> => {
  const { leaseOf, metadata, noun, serve, shown } = shared
  const lease = leaseOf(name)
  const about = { [noun]: shown(name) }
  return holdLease(
    { ...electionOf(sharer), lease, metadata: metadata(name) },
    sharer.seen.leaseOf(lease),
    // In a scope of its own: what it holds is given back while the Lease is still held.
    (term) =>
      Effect.andThen(
        logInfo(`${noun} is owned by this replica`, { ...about, epoch: term.epoch }),
        Effect.scoped(serve(name, term))
      )
  ).pipe(
    Effect.flatMap(({ wasHeld, why }) =>
      wasHeld
        ? logWarning(`${noun} is not owned by this replica any more`, { ...about, why })
        : Effect.andThen(logInfo(`${noun} is not owned yet`, { ...about, why }), Effect.sleep(lookEvery))
    )
  )
}

const begin = <Name extends string>(state: State<Name>, name: Name): Effect.Effect<unknown> => {
  const { held, tasks } = state
  held.add(name)
  const ended = Effect.sync(() => held.delete(name))
  return FiberMap.run(tasks, name)(Effect.ensuring(own(state, name), ended))
}

/** Deletes a Lease that no process holds. Another replica may have got it at once, so the version counts. */
const removeFreeLease = ({ api, namespace }: Pick<Sharer, "api" | "namespace">, name: string): Effect.Effect<void> =>
  Effect.ignore(
    Effect.flatMap(api.get(leases, name, namespace), (lease) => {
      const isHeld = (asString(at(lease, "spec", "holderIdentity")) ?? "") !== ""
      return isHeld ? Effect.void : api.delete(leases, name, { namespace, ...preconditionOf(lease.metadata) })
    })
  )

const giveUp = <Name extends string>(
  { leaving, sharer, shared, tasks }: State<Name>,
  name: Name,
  isThere: boolean
): Effect.Effect<unknown> => {
  const { forget, leaseOf, noun, shown } = shared
  const forgotten = Effect.andThen(forget(name), removeFreeLease(sharer, leaseOf(name)))
  const given = logInfo(`${noun} is given up to another replica`, { [noun]: shown(name), isThere }).pipe(
    Effect.andThen(FiberMap.remove(tasks, name)),
    Effect.andThen(isThere ? Effect.void : forgotten)
  )
  return FiberMap.run(leaving, name, { onlyIfMissing: true })(given)
}

/** Takes and gives up what the plan says. */
const turn = Effect.fnUntraced(function* <Name extends string>(state: State<Name>): Effect.fn.Return<void> {
  const { held, shared, sharer } = state
  const { pod, presentSince, seen } = sharer
  const things = shared.names()
  const holders = new Map(
    things.flatMap((name) => {
      const holder = seen.holderOf(shared.leaseOf(name))
      return holder === undefined ? [] : [[name, holder] as const]
    })
  )
  const plan = shardPlan<Name>({ self: pod.name, replicas: seen.replicas(), things, holders, held, sha256Hex })
  const [since, now] = [presentSince(), elapsedOf(yield* Clock.Clock)()]
  const isSettled = since !== undefined && now >= since + settleFor
  if (isSettled) yield* Effect.forEach(plan.take, (name) => begin(state, name), { discard: true })
  yield* Effect.forEach(plan.giveUp, (name) => giveUp(state, name, things.includes(name)), { discard: true })
})

/** Owns this replica's share of the things. Never ends. `news`: there are other things, or a Lease changed hands. */
export const runShare = Effect.fnUntraced(function* <Name extends string>(
  sharer: Sharer,
  shared: Shared<Name>,
  news: Queue.Queue<void>
): Effect.fn.Return<never, never, Scope.Scope> {
  const tasks = yield* FiberMap.make<Name>()
  const state: State<Name> = { sharer, shared, tasks, leaving: yield* FiberMap.make<Name>(), held: new Set() }
  yield* Effect.acquireRelease(
    Effect.sync(() => sharer.seen.listen(() => Queue.offerUnsafe(news, undefined))),
    (stop) => Effect.sync(stop)
  )
  yield* sharer.seen.awaitSynced
  return yield* Effect.forever(
    Effect.andThen(untilDone(turn(state), `each ${shared.noun} could not be given its owner`), () =>
      Effect.timeoutOption(Queue.take(news), lookEvery)
    )
  )
})
