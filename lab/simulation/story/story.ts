/** A story and the result of its run, as data. The language of its lines is in `verbs.ts`. */

import type { Violation } from "../invariants/invariant.ts"
import type { TimedEvent } from "../world/world-event.ts"

/** A seed and the lines of a story. The same story gives the same run, to the byte. */
export interface Story {
  readonly seed: string
  readonly lines: ReadonlyArray<string>
}

export interface StoryResult {
  /** In the order in which they broke; the story ends at the first. */
  readonly violations: ReadonlyArray<Violation>
  /** The story's lines, each with what happened below it. */
  readonly transcript: ReadonlyArray<string>
  /** Faults that were injected, by kind. */
  readonly faults: Readonly<Record<string, number>>
  /** Virtual ms that passed. */
  readonly virtualMs: number
  readonly steps: number
  /** SHA-256 over all that happened, hex; empty unless asked for. */
  readonly digest: string
  /** Everything that happened; empty unless asked for. */
  readonly events: ReadonlyArray<TimedEvent>
  /** Calls of each operator, by cluster. */
  readonly calls: Readonly<Record<string, number>>
}
