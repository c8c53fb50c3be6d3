/**
 * The pumps of one replica: forwards the messages of each queue whose Lease it holds, as the leader orders, and reports
 * on it. No other replica does, since all calls about the queue end with the Lease.
 *
 * Not here: taking and giving up Leases (app/sharding), and the orders (shared-forwarders.ts).
 */

import { Effect, Queue, Result, type Scope } from "effect"
import { queueSamples } from "../../../domain/metrics/split-samples.ts"
import { readMessageFilter } from "../../../domain/queues/message-filter.ts"
import {
  pumpLeaseMetadata,
  type PumpOrder,
  type PumpReport,
  reportEntry,
  reportText
} from "../../../domain/queues/pump-order.ts"
import { configMaps } from "../../../domain/resources/core-kinds.ts"
import type { KubeApi } from "../../../ports/kube-api.ts"
import { callLimit } from "../../../ports/message-queues.ts"
import { countHolding } from "../../kernel/holdings.ts"
import { logWarning } from "../../kernel/log.ts"
import { measure } from "../../kernel/metrics.ts"
import type { Term } from "../../kernel/term.ts"
import { untilDone } from "../../kernel/until-done.ts"
import { queuesWhileLeading } from "../../leadership/queues-while-leading.ts"
import { apiWhileLeading } from "../../leadership/while-leading.ts"
import { runShare, type Sharer } from "../../sharding/share.ts"
import { type BrokerServices, provideBrokers } from "../brokers.ts"
import type { ForwarderReport } from "../forwarder.ts"
import { measuredQueues } from "../measured-splits.ts"
import { SplitTotals, userTotal } from "../queue-totals.ts"
import { type Forwarding, makeRunningForwarders, type RunningForwarders } from "../running-forwarders.ts"
import type { QueueSession } from "../split-table.ts"
import type { PumpOrders } from "./pump-orders.ts"

/** Pause after a call about an order that failed, in ms. */
const retryAfter = 1_000
/** How often a pump looks at its order without news, in ms. */
const lookEvery = 30_000

interface Pumps {
  readonly sharer: Sharer
  readonly splitting: BrokerServices
  readonly orders: PumpOrders
  /** By the names of orders. */
  readonly running: Map<string, RunningForwarders>
  readonly totals: SplitTotals
}

/** The pump of one queue. */
interface Pump {
  readonly name: string
  /** The own cluster, as the queue's owner may change it. */
  readonly api: KubeApi
  readonly forwarders: RunningForwarders
  /** The number of the order by which it goes; `undefined` before the first. */
  taken: number | undefined
  /** Queues to which the pump of an earlier owner may still send. */
  left: ReadonlyArray<string>
  ended: PumpReport["ended"]
  failed: PumpReport["failed"]
}

type Pumping = NonNullable<PumpOrder["pumping"]>

const destination = ({ sessionKey, ...queue }: Pumping["main"]) => ({ ...queue, sessionKey })

/** An order with all that a forwarder needs. */
const forwardingOf = ({ table }: PumpOrder, { main, sessions, source }: Pumping, totals: SplitTotals): Forwarding => {
  const sums = totals.of(source.url)
  return {
    table,
    source,
    main: destination(main),
    totals: sums,
    sessions: sessions.flatMap((session): ReadonlyArray<QueueSession> => {
      const { attributes, id, k8sUser, localUser, mode, program, queue, startedAt } = session
      // The leader has read the filter already.
      const filter = Result.getOrUndefined(readMessageFilter({ attributes, program }))
      const total = userTotal(sums, { k8sUsername: k8sUser, username: localUser })
      return filter === undefined ? [] : [{ id, startedAt, mode, filter, queue: destination(queue), total }]
    })
  }
}

const hear = (pump: Pump, identity: string, found: ForwarderReport): void => {
  if (found._tag === "SessionEnded") {
    const { detail, end, queue, session } = found
    pump.ended = [...pump.ended, { session, queue, end, detail }]
  } else {
    const { detail, operation, queue, reason } = found.error
    pump.failed = { operation, queue, reason, detail }
    pump.forwarders.stop(identity)
  }
}

const reportOf = ({ ended, failed, forwarders, left, taken = 0 }: Pump, { sessions }: Pumping): PumpReport => ({
  number: taken,
  stillSendsTo: [...new Set([...left, ...forwarders.running().flatMap(({ stillSendsTo }) => stillSendsTo)])],
  ended: ended.filter(({ session }) => sessions.some(({ id }) => id === session)),
  failed
})

/** Goes by the order as it is now, and reports what is news. True if it has to be looked at again soon. */
const step = Effect.fnUntraced(function* (
  { orders, sharer: { namespace }, splitting, totals }: Pumps,
  pump: Pump
): Effect.fn.Return<boolean> {
  const { api, forwarders, name } = pump
  const found = orders.get(name)
  const { order, report, uid } = found ?? {}
  // The Lease of a queue without a pump is given up.
  if (order?.pumping === undefined) return false
  if (pump.taken !== order.number && pump.failed === undefined) {
    const hasBegun = yield* forwarders.start(forwardingOf(order, order.pumping, totals)).pipe(provideBrokers(splitting))
    if (hasBegun) pump.taken = order.number
  }
  if (pump.taken === undefined && pump.failed === undefined) return false
  const text = reportText(reportOf(pump, order.pumping))
  if (report !== undefined && text === reportText(report)) return false
  const written = yield* api
    .mergePatch(configMaps, name, { metadata: { uid }, data: { [reportEntry]: text } }, { namespace })
    .pipe(Effect.result)
  if (Result.isSuccess(written)) {
    orders.wrote(written.success)
    return false
  }
  yield* logWarning("report on a queue is not written", { queue: name, problem: written.failure.message })
  yield* orders.reread(name)
  yield* Effect.sleep(Math.max(retryAfter, written.failure.retryAfterMs ?? 0))
  return true
})

/** Reads the order again: one that ends the pump may have come before the Lease was this replica's. */
const readOrderNow = (pumps: Pumps, name: string): Effect.Effect<boolean> => {
  const { orders, sharer } = pumps
  const again = (pause: number) => Effect.andThen(Effect.sleep(pause), () => readOrderNow(pumps, name))
  return sharer.api.get(configMaps, name, sharer.namespace).pipe(
    Effect.map((object) => {
      orders.wrote(object)
      return true
    }),
    Effect.catch(({ reason, retryAfterMs = 0 }) =>
      reason === "NotFound" ? Effect.as(orders.reread(name), false) : again(Math.max(retryAfter, retryAfterMs))
    )
  )
}

/** Forwards the messages of a queue for as long as its Lease is held. */
const servePump = Effect.fnUntraced(function* (
  pumps: Pumps,
  name: string,
  term: Term
): Effect.fn.Return<never, never, Scope.Scope> {
  const { orders, running, sharer, splitting } = pumps
  const news = yield* Queue.sliding<void>(1)
  const tell = (): void => void Queue.offerUnsafe(news, undefined)
  const forwarders: RunningForwarders = yield* makeRunningForwarders({
    report: (identity, found) => {
      hear(pump, identity, found)
      tell()
    },
    changed: tell
  })
  const pump: Pump = {
    name,
    api: apiWhileLeading(term, sharer.api),
    forwarders,
    taken: undefined,
    left: [],
    ended: [],
    failed: undefined
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      running.set(name, forwarders)
      return orders.listen((changed) => (changed === name ? tell() : undefined))
    }),
    (stop) =>
      Effect.sync(() => {
        running.delete(name)
        stop()
      })
  )
  if (!(yield* readOrderNow(pumps, name))) return yield* Effect.never
  // A call of an earlier owner has its effect within this time.
  pump.left = orders.get(name)?.order?.left ?? []
  const settled = Effect.sync(() => {
    pump.left = []
    tell()
  })
  yield* Effect.forkScoped(Effect.andThen(Effect.sleep(callLimit), settled))
  const led = { ...pumps, splitting: { ...splitting, queues: queuesWhileLeading(term, splitting.queues) } }
  const look = Effect.flatMap(step(led, pump), (isEarly) => Effect.sync(() => (isEarly ? tell() : undefined)))
  return yield* Effect.forever(
    Effect.andThen(untilDone(look, "order about a queue could not be carried out"), () =>
      Effect.timeoutOption(Queue.take(news), lookEvery)
    )
  )
})

/** Forwards the messages of this replica's share of the queues. Never ends. */
export const pumpQueues = Effect.fnUntraced(function* (
  sharer: Sharer,
  splitting: BrokerServices,
  orders: PumpOrders
): Effect.fn.Return<never, never, Scope.Scope> {
  const pumps: Pumps = { sharer, splitting, orders, running: new Map(), totals: new SplitTotals() }
  const news = yield* Queue.sliding<void>(1)
  const { running, totals } = pumps
  yield* Effect.acquireRelease(
    Effect.sync(() => orders.listen(() => Queue.offerUnsafe(news, undefined))),
    (stop) => Effect.sync(stop)
  )
  yield* countHolding("queues owned", () => running.size)
  yield* measure(() => {
    const urls = new Set(orders.all().flatMap(({ order }) => order?.table.source.url ?? []))
    totals.keep((url) => urls.has(url))
    const forwarders = [...running.values()].flatMap((one) => one.local())
    return measuredQueues(forwarders, totals.all()).flatMap(queueSamples)
  })
  const urlOf = (name: string): string | undefined => orders.get(name)?.order?.table.source.url
  yield* orders.awaitSynced
  return yield* runShare(
    sharer,
    {
      noun: "queue",
      shown: (name) => urlOf(name) ?? name,
      names: () => orders.all().flatMap(({ name, order }) => (order?.pumping === undefined ? [] : [name])),
      leaseOf: (name) => name,
      metadata: (name) => pumpLeaseMetadata(urlOf(name)),
      serve: (name, term) => servePump(pumps, name, term),
      forget: () => Effect.void
    },
    news
  )
})
