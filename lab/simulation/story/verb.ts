/**
 * The form of a verb: its words, what its line does to the plan or to the running story, and its random lines. Each
 * verb has a file in `verbs/`; their list is `verbs.ts`.
 */

import type { Result } from "effect"
import type { RandomStream } from "../kernel/random-stream.ts"
import type { World, WorldPlan } from "../world/world.ts"

/** The plan that setup lines build up before there is a world. */
export type PlanDraft = { -readonly [K in keyof WorldPlan]: WorldPlan[K] }

/** The running story as its acts see it. */
export interface StoryRun {
  readonly world: World
  /** Adds a line to the transcript, below the act's own. */
  readonly note: (line: string) => void
  /** Fails the story with this sentence, because its expectation does not hold. */
  readonly fail: (sentence: string) => void
  /** Tells that a fault of a kind begins, for statistics and reports. */
  readonly fault: (kind: string, text: string) => void
  /** Lets time pass. */
  readonly pass: (ms: number) => void
  /**
   * Ends all faults, and lets time pass until the world is at rest; then the invariants are checked that hold at rest.
   */
  readonly settle: () => void
}

/** The names that random lines are drawn from. */
export interface Draw {
  readonly random: RandomStream
  /** Workload clusters. */
  readonly clusters: readonly [string, ...ReadonlyArray<string>]
  readonly primary: string
  /** All clusters, the primary included. */
  readonly places: readonly [string, ...ReadonlyArray<string>]
  /** Clusters whose operators elect a leader. */
  readonly elected: ReadonlyArray<string>
  /** The cluster whose operator is asked for copies. */
  readonly copiesAt: string
  /** Sessions that the story has started so far. */
  readonly sessions: ReadonlyArray<string>
  /** Draws a session's name that is not taken. */
  readonly newSession: () => string
}

/** A verb of the stories' language. */
export type Verb = {
  readonly name: string
  /** The verb's words, such as `cut <place> <place> [one-way]`. */
  readonly usage: string
  /** The effect of the verb, in one line, for `--help` and the docs. */
  readonly summary: string
} & (
  | {
      /** Describes the world; such lines come before all others. */
      readonly kind: "setup"
      readonly read: (words: ReadonlyArray<string>) => Result.Result<(plan: PlanDraft) => void, string>
    }
  | {
      readonly kind: "act"
      /** Reads the words after the verb's name; the failure says which word is wrong and what would be right. */
      readonly read: (words: ReadonlyArray<string>) => Result.Result<(run: StoryRun) => void, string>
      /**
       * Use in random stories: how often compared to the other verbs, and with which words; undefined where the verb
       * makes no sense now.
       */
      readonly random?: {
        readonly weight: number
        readonly line: (draw: Draw) => string | undefined
        /** Only for stories in which leaders are elected. */
        readonly ofElected?: true
        /** Only for stories with faults between operators and agents. */
        readonly ofNodes?: true
        /**
         * Only for what is woven into some stories: copies of targets, policies, other clusters in the fleet, tokens
         * that end, members that are found or are authenticated at in other ways, or branches of databases.
         */
        readonly woven?: "copies" | "policies" | "fleet" | "tokens" | "members" | "branches"
      }
    }
)
