import type { TimedEvent } from "../world/world-event.ts"
import type { World } from "../world/world.ts"

/** Watches one story. What it gives is a sentence about what broke, with names and numbers. */
export interface Checker {
  /** Looks at each event, right after it happened: for what must never happen. */
  readonly on?: (event: TimedEvent) => string | undefined
  /**
   * Looks at the world at a moment of rest: `healed`: all faults have ended and time was given to recover, clients that
   * still try are there; `left`: moreover all clients have gone and what is theirs had time to go.
   */
  readonly atRest?: (moment: "healed" | "left") => ReadonlyArray<string>
}

/** Something that holds in every story (failures.md §1 to §3). */
export interface Invariant {
  /** `S1` to `S10`, `L1` to `L6`, or a name of ours. */
  readonly id: string
  /** What it demands, as a sentence. */
  readonly sentence: string
  /**
   * A checker for one story; called before anything happens in the world, so ask the world only from within the
   * checker.
   */
  readonly begin: (world: () => World) => Checker
}

/** An invariant that broke. */
export interface Violation {
  readonly id: string
  readonly sentence: string
  readonly detail: string
  /** Virtual ms since the beginning of the world. */
  readonly at: number
  /** Line of the story during which it broke, from 1; the settling at the end has the line after the last. */
  readonly line: number
}
