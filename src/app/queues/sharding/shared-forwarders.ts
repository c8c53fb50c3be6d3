/**
 * The forwarders of splits where replicas share the queues, as the leader sees them: orders that it gives, and what the
 * owners of the queues report. An order outlives its leader, so a change of leaders holds up no message.
 *
 * Not here: which table a queue has to have (domain/queues/forwarding-steps.ts), and forwarding (pump-queues.ts).
 */

import { Effect, FiberMap, type Scope } from "effect"
import { asString, at, jsonEqual } from "../../../domain/json.ts"
import {
  isTaken,
  mayStillSendTo,
  nextOrder,
  orderEntry,
  orderText,
  type PumpOrder,
  pumpLabel,
  pumpName
} from "../../../domain/queues/pump-order.ts"
import { splitKey, type SplitPlace } from "../../../domain/queues/split-place.ts"
import { configMaps, leases } from "../../../domain/resources/core-kinds.ts"
import { preconditionOf } from "../../../domain/resources/object-meta.ts"
import { ownerLabel } from "../../../domain/sessions/names.ts"
import type { KubeApi, KubeError, KubeObject } from "../../../ports/kube-api.ts"
import { callLimit, QueueError } from "../../../ports/message-queues.ts"
import { logWarning } from "../../kernel/log.ts"
import { changedMeanwhile } from "../../kernel/mirrored-object.ts"
import { orIf } from "../../kernel/or-if.ts"
import { sha256Hex } from "../../kernel/sha256-hex.ts"
import type { SeenLeases } from "../../sharding/seen-leases.ts"
import type { Forwarders, ForwardersOptions, Forwarding, MakeForwarders } from "../running-forwarders.ts"
import type { OrderedPump, PumpOrders } from "./pump-orders.ts"

/** Pause before another look whether a pump has ended, in ms. */
const lookEvery = 500
/** Pause after a call that failed, in ms. */
const retryAfter = 1_000

export interface SharedForwardersOptions {
  /** The own cluster, as the leader may change it. */
  readonly api: KubeApi
  readonly namespace: string
  readonly orders: PumpOrders
  readonly seen: SeenLeases
}

interface State extends SharedForwardersOptions {
  /** The splits that this leader carries on, by the keys of their places. */
  readonly splits: Map<string, { readonly place: SplitPlace; readonly options: ForwardersOptions }>
  /** The names of pumps whose end is not ordered yet. */
  readonly stopping: Set<string>
  /** By name: the place of the last order, and the sessions of whose end the split was told. */
  readonly known: Map<string, { readonly place: SplitPlace; readonly told: Set<string> }>
  /** Ends a pump, unless that is under way. */
  readonly end: (name: string) => void
}

type Pumping = NonNullable<PumpOrder["pumping"]>

/** Everything that the pump of a queue needs, as data. */
const pumpingOf = ({ main, sessions, source }: Forwarding): Pumping => ({
  source,
  main,
  sessions: sessions.map(({ filter: { attributes, program }, id, mode, queue, startedAt, total }) => ({
    id,
    startedAt,
    mode,
    attributes,
    program,
    queue,
    k8sUser: total?.k8sUser ?? "",
    localUser: total?.localUser ?? ""
  }))
})

const writeOrder = ({ api, namespace, orders }: State, { name, uid }: OrderedPump, order: PumpOrder | undefined) =>
  Effect.map(
    api.mergePatch(
      configMaps,
      name,
      { metadata: { uid }, data: { [orderEntry]: order === undefined ? null : orderText(order) } },
      { namespace }
    ),
    orders.wrote
  )

const createOrder = ({ api, namespace, orders }: State, name: string, order: PumpOrder) => {
  const metadata = { name, namespace, labels: { ...ownerLabel, [pumpLabel]: "order" } }
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { [orderEntry]: orderText(order) } }
  return Effect.map(api.create(configMaps, object, namespace), orders.wrote)
}

const isEnding = ({ stopping }: State, { name, order }: OrderedPump): boolean =>
  stopping.has(name) || order?.pumping === undefined

/** Orders a pump, or gives it another table. */
const start = Effect.fnUntraced(function* (
  state: State,
  place: SplitPlace,
  wanted: Forwarding
): Effect.fn.Return<boolean, KubeError> {
  const { table } = wanted
  const name = pumpName(table.source.identity, sha256Hex)
  const before = state.orders.get(name)
  const pumping = pumpingOf(wanted)
  if (before === undefined) {
    // One that the cache does not show yet is another leader's, or the rest of an earlier split.
    const isBehind = changedMeanwhile(state.api, "create", `the order about ${table.source.name} is there`)
    const reread = Effect.andThen(state.orders.reread(name), Effect.fail(isBehind))
    const create = createOrder(state, name, { number: 1, place, table, pumping, left: [] })
    return yield* Effect.as(create, true).pipe(orIf("AlreadyExists", reread))
  }
  const { order, report } = before
  if (order === undefined || isEnding(state, before) || splitKey(order.place) !== splitKey(place)) return false
  if (jsonEqual([order.table, order.pumping], [table, pumping])) return false
  yield* writeOrder(state, before, nextOrder(order, report, { table, pumping })).pipe(
    Effect.tapError(() => state.orders.reread(name))
  )
  return true
})

/**
 * Whether no replica can be at work on a queue for which no pump is ordered any more; its Lease is then deleted. A
 * replica that gets the Lease after this look reads the order after that, and begins nothing.
 */
const isLeft = Effect.fnUntraced(function* (
  { api, namespace, seen }: State,
  name: string
): Effect.fn.Return<boolean, KubeError> {
  if (seen.holderOf(name) !== undefined) return false
  const lease: KubeObject | undefined = yield* api.get(leases, name, namespace).pipe(orIf("NotFound", Effect.undefined))
  if (lease === undefined) return true
  const isReleased = (asString(at(lease, "spec", "holderIdentity")) ?? "") === ""
  // The last calls of a silent holder have their effect within this time.
  const isSilent = seen.leaseOf(name)?.version === lease.metadata.resourceVersion && seen.freeFor(name) >= callLimit
  if (!isReleased && !isSilent) return false
  yield* api.delete(leases, name, { namespace, ...preconditionOf(lease.metadata) })
  return true
})

/** Orders the end of a pump, waits for it, and deletes the order. */
const endPump = Effect.fnUntraced(function* (state: State, name: string): Effect.fn.Return<void, KubeError> {
  const { api, namespace, orders, stopping } = state
  const found = orders.get(name)
  if (found !== undefined) {
    const { order, report, uid } = found
    if (order?.pumping !== undefined)
      yield* writeOrder(state, found, nextOrder(order, report, { table: order.table, pumping: undefined }))
    else if (order === undefined) yield* writeOrder(state, found, undefined)
    while (!(yield* isLeft(state, name))) yield* Effect.sleep(lookEvery)
    yield* api.delete(configMaps, name, { namespace, uid }).pipe(orIf("NotFound", Effect.void))
    yield* orders.reread(name)
  }
  stopping.delete(name)
})

/** Ends a pump, however often calls fail. */
const endAtLast = (state: State, name: string): Effect.Effect<void> =>
  endPump(state, name).pipe(
    Effect.catch((error) =>
      logWarning("forwarding of a queue is not ended yet", { queue: name, problem: error.message }).pipe(
        Effect.andThen(state.orders.reread(name)),
        Effect.andThen(Effect.sleep(Math.max(retryAfter, error.retryAfterMs ?? 0))),
        Effect.andThen(() => endAtLast(state, name))
      )
    )
  )

/** Has a split hear of what the owner of its queue reports. */
const tellSplit = (state: State, { name, order, report }: OrderedPump): void => {
  const told = state.known.get(name)?.told
  const split = order && state.splits.get(splitKey(order.place))?.options
  if (order?.pumping === undefined || told === undefined || split === undefined || report === undefined) return
  const { identity } = order.table.source
  for (const { detail, end, queue, session } of report.ended) {
    const key = `${session} ${queue}`
    if (!told.has(key)) split.report(identity, { _tag: "SessionEnded", session, queue, end, detail })
    told.add(key)
  }
  if (report.failed !== undefined && !state.stopping.has(name))
    split.report(identity, { _tag: "SplitFailed", error: new QueueError(report.failed) })
}

/** Takes a change of an order or of a report. */
const hear = (state: State, changed: (place: SplitPlace) => void, name: string): void => {
  const { known, orders, splits } = state
  const pump = orders.get(name)
  const before = known.get(name)
  const place = pump?.order?.place ?? before?.place
  if (pump === undefined) {
    known.delete(name)
    // Another split may have waited for the queue.
    for (const split of splits.values()) changed(split.place)
  } else {
    if (place !== undefined) known.set(name, { place, told: before?.told ?? new Set() })
    tellSplit(state, pump)
    if (isEnding(state, pump)) state.end(name)
  }
  if (place !== undefined) changed(place)
}

const forwardersOf = (state: State, place: SplitPlace): Forwarders => {
  const key = splitKey(place)
  return {
    running: () =>
      state.orders.all().flatMap((pump) => {
        const { order, report } = pump
        if (order === undefined || splitKey(order.place) !== key) return []
        const { table } = order
        const isAwaited = !isTaken(order, report)
        return [{ table, isStopping: isEnding(state, pump), isAwaited, stillSendsTo: mayStillSendTo(order, report) }]
      }),
    local: () => undefined,
    start: (wanted) => start(state, place, wanted),
    stop: (identity) => {
      const name = pumpName(identity, sha256Hex)
      const pump = state.orders.get(name)
      if (pump?.order === undefined || splitKey(pump.order.place) !== key) return
      state.stopping.add(name)
      state.end(name)
    }
  }
}

/** Makes the forwarders of splits for one leader. `changed`: the split of a workload has to be looked at. */
export const makeSharedForwarders = Effect.fnUntraced(function* (
  options: SharedForwardersOptions,
  changed: (place: SplitPlace) => void
): Effect.fn.Return<MakeForwarders, never, Scope.Scope> {
  const { orders } = options
  const run = yield* FiberMap.makeRuntime<never, string>()
  const state: State = {
    ...options,
    splits: new Map(),
    stopping: new Set(),
    known: new Map(),
    end: (name) => void run(name, endAtLast(state, name), { onlyIfMissing: true })
  }
  const hearOf = (name: string): void => hear(state, changed, name)
  const hearAll = Effect.sync(() => orders.all().forEach(({ name }) => hearOf(name)))
  yield* Effect.acquireRelease(
    Effect.sync(() => orders.listen(hearOf)),
    (stop) => Effect.sync(stop)
  )
  yield* Effect.forkScoped(Effect.andThen(orders.awaitSynced, hearAll))
  return Effect.fnUntraced(function* (place, options) {
    const key = splitKey(place)
    yield* orders.awaitSynced
    yield* Effect.acquireRelease(
      Effect.sync(() => state.splits.set(key, { place, options })),
      () => Effect.sync(() => void state.splits.delete(key))
    )
    // An owner may have reported before this leader knew the split, which can hear only when it is made.
    yield* Effect.forkScoped(Effect.andThen(Effect.yieldNow, hearAll))
    return forwardersOf(state, place)
  })
})
