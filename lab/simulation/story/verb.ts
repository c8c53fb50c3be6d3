/**
 * The form of a verb: its words, the deed of its line in the plan or in the running story, and its random lines. The
 * verbs are in `verbs/`, and their list in `verbs.ts`.
 */

import { Result } from "effect"
import type { RandomStream } from "../kernel/random-stream.ts"
import type { World, WorldPlan } from "../world/world.ts"
import { type Found, type Part, type Parts, readLine, type Said, sequence } from "./parts.ts"

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

/** Use in random stories. */
export interface RandomUse {
  /** How often compared to the other verbs. */
  readonly weight: number
  /** Draws a line; `undefined` if the verb makes no sense now. */
  readonly line: (draw: Draw) => string | undefined
  /** Only for stories in which leaders are elected. */
  readonly ofElected?: true
  /** Only for stories with faults between operators and agents. */
  readonly ofNodes?: true
  /**
   * Only for what is woven into some stories: copies of targets, policies, other clusters in the fleet, tokens that
   * end, members that are found or are authenticated at in other ways, branches of databases, or members that dial
   * out.
   */
  readonly woven?: "copies" | "policies" | "fleet" | "tokens" | "members" | "branches" | "outbound"
}

interface Named {
  readonly name: string
  /** The effect of the verb, for those who write stories. */
  readonly summary: string
}

/** A verb of the stories' language. */
export type Verb = Named & {
  /** The verb's form, such as `cut <place> <place> [one-way]`. */
  readonly usage: string
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
        readonly random?: RandomUse
      }
  )

const usageOf = (name: string, form: Part<unknown>): string => `${name} ${form.usage}`.trimEnd()

/** A verb that describes the world. */
export const setup = <P extends Parts>({
  set,
  words,
  ...named
}: Named & { readonly words: P; readonly set: (plan: PlanDraft, said: Said<P>) => void }): Verb => {
  const form = sequence(words)
  return {
    ...named,
    kind: "setup",
    usage: usageOf(named.name, form),
    read: (left) => Result.map(readLine(form, left), (said) => (plan) => set(plan, said))
  }
}

/**
 * A verb that does something in the running story. A text from `run` says why the line does nothing: random stories hit
 * such moments, and shrinking removes lines that later lines depend on.
 */
export const act = <P extends Parts>({
  run: perform,
  words,
  ...named
}: Named & {
  readonly words: P
  readonly run: (found: Found<P>, run: StoryRun) => string | void
  readonly random?: RandomUse
}): Verb => {
  const form = sequence(words)
  return {
    ...named,
    kind: "act",
    usage: usageOf(named.name, form),
    read: (left) =>
      Result.map(readLine(form, left), (said) => (run) => {
        const found = form.find?.(run.world, said) ?? Result.fail("it cannot be found")
        const why = Result.isFailure(found) ? found.failure : perform(found.success, run)
        if (why !== undefined) run.note(`${why}: nothing happens`)
      })
  }
}
