import type { Violation } from "../invariants/invariant.ts"
import type { Story } from "../story/story.ts"
import type { StorySize } from "./simulate-flags.ts"

/** Which story a worker runs. Plain data: it crosses a process boundary as JSON. */
export type StoryChoice =
  | { readonly _tag: "Random"; readonly seed: string; readonly size: StorySize }
  /** `sweepRun`: a name of the story's sweep plan; that call goes wrong. */
  | { readonly _tag: "Written"; readonly story: Story; readonly sweepRun: string | undefined }

/** What the command asks of a worker. */
export type Work =
  | {
      readonly _tag: "Run"
      readonly choice: StoryChoice
      /** The story's number and name, as the trace's heading and the page's title say it. */
      readonly number: number
      readonly title: string
      /** Gets the story's events; compressed if the name ends in `.gz`. */
      readonly trace: string | undefined
      /** Gets the page. */
      readonly report: string | undefined
      /** Whether the transcript is wanted even if nothing broke. */
      readonly transcript: boolean
    }
  /** The shortest story that breaks the same sentence. */
  | {
      readonly _tag: "Shrink"
      readonly story: Story
      readonly sweepRun: string | undefined
      readonly breaks: Violation
    }
  /** Names of the runs of a story's sweep. */
  | { readonly _tag: "PlanSweep"; readonly story: Story }

/** How a story went. */
export interface Outcome {
  readonly story: Story
  readonly violation: Violation | undefined
  /** Empty unless it was asked for or something broke. */
  readonly transcript: ReadonlyArray<string>
  readonly faults: Readonly<Record<string, number>>
  readonly virtualMs: number
}

export type Answer =
  | { readonly _tag: "Ran"; readonly outcome: Outcome }
  | { readonly _tag: "SweepPlanned"; readonly runs: ReadonlyArray<string> }
  /** The work could not be done at all. */
  | { readonly _tag: "Failed"; readonly message: string }
