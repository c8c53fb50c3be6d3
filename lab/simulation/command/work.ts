/** The messages between the command and its workers. Plain data: they cross a process boundary as JSON. */

import type { Violation } from "../invariants/invariant.ts"
import type { Story } from "../story/story.ts"
import type { StorySize } from "./simulate-flags.ts"
import type { NotDone } from "./worker-pool.ts"

/** The story that a worker runs. */
export type StoryChoice =
  | { readonly _tag: "Random"; readonly seed: string; readonly size: StorySize }
  /** `sweepRun`: name of a run in the story's sweep; its call goes wrong. */
  | { readonly _tag: "Written"; readonly story: Story; readonly sweepRun: string | undefined }

/** One piece of work for a worker. */
export type Work =
  | {
      readonly _tag: "Run"
      readonly choice: StoryChoice
      /** The story's number and name, for the heading of the trace and the title of the page. */
      readonly number: number
      readonly title: string
      /** File for the story's events, compressed if its name ends in `.gz`. */
      readonly trace: string | undefined
      /** File for the page. */
      readonly report: string | undefined
      /** Whether the transcript is wanted even if nothing broke. */
      readonly transcript: boolean
    }
  /** Look for the shortest story that breaks the same sentence. */
  | {
      readonly _tag: "Shrink"
      readonly story: Story
      readonly sweepRun: string | undefined
      readonly breaks: Violation
    }
  /** List the runs of a story's sweep. */
  | { readonly _tag: "PlanSweep"; readonly story: Story }

/** The outcome of a story. */
export interface Outcome {
  readonly story: Story
  readonly violation: Violation | undefined
  /** Empty unless it was asked for or something broke. */
  readonly transcript: ReadonlyArray<string>
  readonly faults: Readonly<Record<string, number>>
  readonly virtualMs: number
  /** Steps of the kernel; a measure of the story's cost that does not depend on the machine. */
  readonly steps: number
}

export type Answer =
  | {
      readonly _tag: "Ran"
      readonly outcome: Outcome
      /** Each function that ran, and how often its parts did (`../explore/part-counts.ts`), if the worker counts it. */
      readonly functions?: ReadonlyArray<string>
    }
  | { readonly _tag: "SweepPlanned"; readonly runs: ReadonlyArray<string> }
  | NotDone
