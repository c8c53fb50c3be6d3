import type { Result } from "effect"
import type { RandomStream } from "../kernel/random-stream.ts"
import type { World, WorldPlan } from "../world/world.ts"

/** What a scenario's setup lines build up before there is a world. */
export type PlanDraft = { -readonly [K in keyof WorldPlan]: WorldPlan[K] }

/** The story as its acts see it. */
export interface StoryRun {
  readonly world: World
  /** Adds a line to the transcript, below the act's own. */
  readonly note: (line: string) => void
  /** The story's expectation does not hold: it fails with this sentence. */
  readonly fail: (sentence: string) => void
  /** Counts a fault of a kind, for statistics and reports. */
  readonly fault: (kind: string, text: string) => void
  /** Lets time pass. */
  readonly pass: (ms: number) => void
  /** Ends all faults, and gives the world time until it is at rest; then the invariants of rest are checked. */
  readonly settle: () => void
}

/** What random lines are drawn from. */
export interface Draw {
  readonly random: RandomStream
  /** Workload clusters. */
  readonly clusters: readonly [string, ...ReadonlyArray<string>]
  readonly primary: string
  /** All clusters, the primary included. */
  readonly places: readonly [string, ...ReadonlyArray<string>]
  /** Those whose operators elect a leader. */
  readonly elected: ReadonlyArray<string>
  /** Sessions that the story has started so far. */
  readonly sessions: ReadonlyArray<string>
  /** A session's name that is not taken. */
  readonly newSession: () => string
}

/** One verb of the stories' language; each has a file of its own in `verbs/`. */
export type Verb = {
  readonly name: string
  /** Its words, such as `cut <place> <place> [one-way]`. */
  readonly usage: string
  /** What it does, one line, for `--help` and the docs. */
  readonly summary: string
} & (
  | {
      /** Describes the world; such lines come before all others. */
      readonly kind: "setup"
      readonly read: (words: ReadonlyArray<string>) => Result.Result<(plan: PlanDraft) => void, string>
    }
  | {
      readonly kind: "act"
      /** Reads the words after the verb's name, or says which is wrong and what would be right. */
      readonly read: (words: ReadonlyArray<string>) => Result.Result<(run: StoryRun) => void, string>
      /**
       * How random stories use it: how often, compared to the others, and with which words; nothing where it makes no
       * sense now.
       */
      readonly random?: {
        readonly weight: number
        readonly line: (draw: Draw) => string | undefined
        /** Only for stories in which leaders are elected. */
        readonly ofElected?: true
      }
    }
)
