/**
 * The drains of one split that run in this process: each moves what is left in a temporary queue to where it is read.
 *
 * Not here: which have to run (domain/queues/leftover-queues.ts, main-queues.ts), and moving (drain-session.ts).
 */

import { Effect, FiberMap, type Scope } from "effect"
import type { DestinationQueue } from "../../domain/queues/forwarded-message.ts"
import type { DrainTarget, RunningDrain } from "../../domain/queues/observed-split.ts"
import { MessageQueues } from "../../ports/message-queues.ts"
import { untilDone } from "../kernel/until-done.ts"
import { type DrainEnd, drainSession } from "./drain-session.ts"

/** A drain that is to run. */
export interface Draining {
  /** The name of the queue, as its record has it. */
  readonly name: string
  readonly from: DestinationQueue
  readonly to: DrainTarget
  readonly target: DestinationQueue
}

interface Entry {
  readonly to: DrainTarget
  isStopped: boolean
}

export class RunningDrains {
  readonly #entries = new Map<string, Entry>()
  readonly #fibers: FiberMap.FiberMap<string>
  readonly #ended: (queue: string, end: DrainEnd) => Effect.Effect<void>

  constructor(fibers: FiberMap.FiberMap<string>, ended: (queue: string, end: DrainEnd) => Effect.Effect<void>) {
    this.#fibers = fibers
    this.#ended = ended
  }

  readonly running = (): ReadonlyArray<RunningDrain> => [...this.#entries].map(([queue, { to }]) => ({ queue, to }))

  readonly start = ({ from, name, target, to }: Draining): Effect.Effect<void, never, MessageQueues> =>
    Effect.flatMap(MessageQueues, (queues) => {
      const entry: Entry = { to, isStopped: false }
      this.#entries.set(name, entry)
      const drain = drainSession({ mode: "steal", queue: from }, target, () => entry.isStopped).pipe(
        Effect.tap(() => Effect.sync(() => void this.#entries.delete(name))),
        Effect.flatMap((end) => this.#ended(name, end)),
        Effect.provideService(MessageQueues, queues)
      )
      const run = FiberMap.run(this.#fibers, name, untilDone(drain, "messages of a temporary queue could not be moved"))
      return Effect.asVoid(run)
    })

  /** Ends a drain with its last batch. */
  readonly stop = (name: string): Effect.Effect<void> =>
    Effect.sync(() => {
      const entry = this.#entries.get(name)
      if (entry !== undefined) entry.isStopped = true
    })
}

/** `ended`: called at the end of each drain. */
export const makeRunningDrains = (
  ended: (queue: string, end: DrainEnd) => Effect.Effect<void>
): Effect.Effect<RunningDrains, never, Scope.Scope> =>
  Effect.map(FiberMap.make<string>(), (fibers) => new RunningDrains(fibers, ended))
