/**
 * The forwarders of one split that run in this process, one for each queue of the workload.
 *
 * Not here: which have to run (domain/queues/forwarding-steps.ts), and forwarding (forwarder.ts).
 */

import { Effect, Exit, FiberSet, Scope } from "effect"
import { jsonEqual } from "../../domain/json.ts"
import type { DestinationQueue } from "../../domain/queues/forwarded-message.ts"
import type { ForwardingTable, RunningForwarder } from "../../domain/queues/observed-split.ts"
import type { SplitPlace } from "../../domain/queues/split-place.ts"
import type { KubeError } from "../../ports/kube-api.ts"
import { callLimit } from "../../ports/message-queues.ts"
import type { Brokers } from "./brokers.ts"
import type { SourceQueue } from "./forward-batch.ts"
import { type Forwarder, type ForwarderReport, makeForwarder } from "./forwarder.ts"
import type { QueueTotals } from "./queue-totals.ts"
import type { QueueSession } from "./split-table.ts"

/** A table with all that its forwarder needs. */
export interface Forwarding {
  readonly table: ForwardingTable
  readonly source: SourceQueue
  readonly main: DestinationQueue
  readonly sessions: ReadonlyArray<QueueSession>
  readonly totals: QueueTotals
}

interface Entry {
  table: ForwardingTable
  isStopping: boolean
  /** Queues that were left, once for each time. */
  readonly stillSendsTo: Set<ReadonlyArray<string>>
  readonly source: SourceQueue
  readonly forwarder: Forwarder
}

/** The forwarders of one split: loops of this process, or of the replicas that own its queues. */
export interface Forwarders {
  readonly running: () => ReadonlyArray<RunningForwarder>
  /** The forwarders of this process with their tables; `undefined` where replicas share the queues. */
  readonly local: () => ReadonlyArray<readonly [ForwardingTable, Forwarder]> | undefined
  /**
   * Begins to forward by a table, or lets the next batches see it. False while an earlier forwarder still ends, and
   * where the table is known already.
   */
  readonly start: (wanted: Forwarding) => Effect.Effect<boolean, KubeError, Brokers>
  /** Ends a forwarder with its last batch. */
  readonly stop: (identity: string) => void
}

/** Makes the forwarders of the split of a workload, for as long as the scope lives. */
export type MakeForwarders = (
  place: SplitPlace,
  options: ForwardersOptions
) => Effect.Effect<Forwarders, never, Scope.Scope>

export interface ForwardersOptions {
  readonly report: (identity: string, report: ForwarderReport) => void
  /** Called when a forwarder is over, or sends to a queue no more. */
  readonly changed: () => void
}

/** How long a send that was given up may still have its effect, ms. */
const settles = callLimit

const queuesOf = ({ main, routes }: ForwardingTable): ReadonlyArray<string> => [
  main,
  ...routes.map(({ queue }) => queue)
]

export class RunningForwarders implements Forwarders {
  readonly #entries = new Map<string, Entry>()
  readonly #options: ForwardersOptions
  readonly #scope: Scope.Scope
  readonly #run: (work: Effect.Effect<void>) => unknown

  /** `run`: runs work beside what goes on. */
  constructor(options: ForwardersOptions, scope: Scope.Scope, run: (work: Effect.Effect<void>) => unknown) {
    this.#options = options
    this.#scope = scope
    this.#run = run
  }

  readonly running = (): ReadonlyArray<RunningForwarder> =>
    [...this.#entries.values()].map(({ isStopping, stillSendsTo, table }) => ({
      table,
      isStopping,
      stillSendsTo: [...stillSendsTo].flat()
    }))

  readonly local = (): ReadonlyArray<readonly [ForwardingTable, Forwarder]> =>
    [...this.#entries.values()].map(({ forwarder, table }) => [table, forwarder] as const)

  /** A forwarder that reads the queue in another way ends first. */
  readonly start = Effect.fnUntraced(
    { self: this },
    function* (this: RunningForwarders, wanted: Forwarding): Effect.fn.Return<boolean, never, Brokers> {
      const { main, sessions, source, table, totals } = wanted
      const { identity } = table.source
      const running = this.#entries.get(identity)
      if (running !== undefined && !jsonEqual(running.source, source)) this.stop(identity)
      if (running?.isStopping === true) return false
      if (running !== undefined) {
        this.#change(running, table, sessions)
        return true
      }
      const forwarder = yield* makeForwarder({
        source,
        main,
        totals,
        report: (report) => this.#options.report(identity, report)
      }).pipe(Scope.provide(this.#scope))
      const entry: Entry = { table, isStopping: false, stillSendsTo: new Set(), source, forwarder }
      this.#entries.set(identity, entry)
      yield* forwarder.changeSessions(sessions)
      return true
    }
  )

  readonly stop = (identity: string): void => {
    const entry = this.#entries.get(identity)
    if (entry === undefined || entry.isStopping) return
    entry.isStopping = true
    const forget = Effect.sync(() => void this.#entries.delete(identity))
    this.#later(Effect.andThen(entry.forwarder.stop, forget))
  }

  /** Ends all forwarders with their last batches. */
  readonly end: Effect.Effect<void> = Effect.suspend(() =>
    Effect.forEach([...this.#entries.values()], ({ forwarder }) => forwarder.stop, {
      concurrency: "unbounded",
      discard: true
    })
  )

  #change(entry: Entry, table: ForwardingTable, sessions: ReadonlyArray<QueueSession>): void {
    const next = new Set(queuesOf(table))
    const left = queuesOf(entry.table).filter((queue) => !next.has(queue))
    entry.stillSendsTo.add(left)
    entry.table = table
    const over = Effect.sync(() => void entry.stillSendsTo.delete(left))
    const settled = Effect.andThen(Effect.sleep(settles), over)
    this.#later(Effect.andThen(entry.forwarder.changeSessions(sessions), settled))
  }

  #later(work: Effect.Effect<void>): void {
    this.#run(Effect.andThen(work, Effect.sync(this.#options.changed)))
  }
}

/** Forwarders that end in order with the scope: first their batches, then their loops. */
export const makeRunningForwarders = Effect.fnUntraced(function* (
  options: ForwardersOptions
): Effect.fn.Return<RunningForwarders, never, Scope.Scope> {
  const scope = yield* Scope.make()
  yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
  const fibers = yield* FiberSet.make<void>()
  const forwarders = new RunningForwarders(options, scope, yield* FiberSet.runtime(fibers)<never>())
  yield* Effect.addFinalizer(() => forwarders.end)
  return forwarders
})
