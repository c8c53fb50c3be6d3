/**
 * The events of a watch between their arrival and their reader. The watch itself is in `sim-api-server.ts`.
 */

import { Array as Arr, type Cause, Effect, type Pull, Stream } from "effect"
import type { KubeError, WatchEvent } from "../../../src/ports/kube-api.ts"

type Taken = Pull.Pull<Arr.NonEmptyReadonlyArray<WatchEvent>, KubeError>

/**
 * A queue for one reader, with less to it than Effect's own queue: in a large world most events are events of watches.
 * As with that queue, the reader goes on with events in a task of its own, after the tasks that are already due.
 */
export class WatchInbox {
  readonly #soon: (run: () => void) => void
  #events: Array<WatchEvent> = []
  #end: Effect.Effect<never, KubeError | Cause.Done> | undefined
  /** Goes on with the reader that waits. A reader that was interrupted hears nothing more. */
  #wake: ((taken: Taken) => void) | undefined
  #isWaking = false

  /** `soon` begins a task of the reader's process. */
  constructor(soon: (run: () => void) => void) {
    this.#soon = soon
  }

  /** The events up to the end. Only one reader may read them. */
  readonly stream: Stream.Stream<WatchEvent, KubeError> = Stream.fromPull(
    Effect.succeed(
      Effect.suspend(
        () =>
          this.#take() ??
          Effect.callback<Arr.NonEmptyReadonlyArray<WatchEvent>, KubeError | Cause.Done>((resume) => {
            this.#wake = resume
          })
      )
    )
  )

  put(event: WatchEvent): void {
    if (this.#end !== undefined) return
    this.#events.push(event)
    if (this.#wake === undefined || this.#isWaking) return
    this.#isWaking = true
    this.#soon(() => {
      this.#isWaking = false
      this.#tell()
    })
  }

  /** The end comes after all events before; a reader that has them all hears of it at once. */
  end(how: Effect.Effect<never, KubeError | Cause.Done>): void {
    this.#end ??= how
    if (this.#events.length === 0) this.#tell()
  }

  #tell(): void {
    const wake = this.#wake
    const taken = wake === undefined ? undefined : this.#take()
    if (taken === undefined) return
    this.#wake = undefined
    wake?.(taken)
  }

  #take(): Taken | undefined {
    const events = this.#events
    if (!Arr.isArrayNonEmpty(events)) return this.#end
    this.#events = []
    return Effect.succeed(events)
  }
}
