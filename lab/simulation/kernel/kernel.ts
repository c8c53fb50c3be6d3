/**
 * Virtual time and all that happens in it: one queue of events, one queue of tasks that are due now, one thread, no
 * promises. The same seed and the same calls give the same run. It knows nothing of clusters; those are in `../world`.
 */

import { EventQueue, type QueuedEvent } from "./event-queue.ts"
import { RandomStream } from "./random-stream.ts"

/**
 * The process to which an event happens. Events due while it is paused wait; events due after its death are dropped.
 */
export interface Owner {
  readonly state: "running" | "paused" | "dead"
  /** Keeps an event that came due while the owner is paused. */
  readonly hold: (run: () => void) => void
}

interface Entry extends QueuedEvent<Entry> {
  readonly owner: Owner | undefined
  run: (() => void) | undefined
}

export type Cancel = () => void

/**
 * More steps at one instant than any real system needs. Beyond it, two parts answer each other without time passing.
 */
const maxStepsAtOnce = 1_000_000

export class Kernel {
  readonly random: RandomStream
  readonly #events = new EventQueue<Entry>()
  #ready: Array<{ readonly owner: Owner | undefined; readonly run: () => void }> = []
  #now: number
  #order = 0
  #steps = 0
  /** Called after each step, which is one event with all that it brought about at once. */
  afterStep: () => void = () => {}

  constructor(seed: string, start: number) {
    this.random = new RandomStream(seed)
    this.#now = start
  }

  /** The world's true time, epoch ms. Processes see it through clocks of their own. */
  get now(): number {
    return this.#now
  }

  /** Events carried out so far. */
  get steps(): number {
    return this.#steps
  }

  /** Schedules an event in `ms`. Without an owner it happens whatever processes are paused or dead. */
  after(ms: number, run: () => void, owner?: Owner): Cancel {
    const delay = Math.max(0, ms)
    const entry: Entry = {
      time: this.#now + delay,
      order: this.#order++,
      owner,
      run,
      lane: undefined,
      behind: undefined
    }
    this.#events.push(entry, delay)
    return () => {
      entry.run = undefined
    }
  }

  /** Schedules a task for now, after the tasks that are already due. */
  soon(run: () => void, owner?: Owner): void {
    this.#ready.push({ owner, run })
  }

  /** Lets time pass up to `until`; `stop` is asked after each step. */
  run(until: number, stop: () => boolean = () => false): void {
    this.#drain()
    for (;;) {
      if (stop()) return
      const next = this.#events.peek()
      if (next === undefined || next.time > until) break
      this.#events.pop()
      if (next.run === undefined) continue
      this.#now = Math.max(this.#now, next.time)
      this.#steps++
      // An event that is cancelled while its owner is paused does not happen after the pause either.
      if (next.owner?.state === "paused") next.owner.hold(() => next.run?.())
      else dispatch(next.owner, next.run)
      this.#drain()
      this.afterStep()
    }
    this.#now = Math.max(this.#now, until)
  }

  #drain(): void {
    let steps = 0
    while (this.#ready.length > 0) {
      const batch = this.#ready
      this.#ready = []
      for (const { owner, run } of batch) dispatch(owner, run)
      steps += batch.length
      if (steps > maxStepsAtOnce)
        throw new Error("the simulation does not come to rest: tasks bring about tasks without time passing")
    }
  }
}

const dispatch = (owner: Owner | undefined, run: () => void): void => {
  if (owner === undefined || owner.state === "running") run()
  else if (owner.state === "paused") owner.hold(run)
}
