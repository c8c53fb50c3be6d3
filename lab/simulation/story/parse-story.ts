/**
 * Reads the text of a story: each line by its verb, all mistakes at once. It knows no verb itself; they are in
 * `verbs.ts`.
 */

import { Result } from "effect"
import { defaultPlan, type WorldPlan } from "../world/world.ts"
import type { PlanDraft, StoryRun, Verb } from "./verb.ts"
import { verbs } from "./verbs.ts"
import { nearest } from "./words.ts"

/** A mistake in a scenario. `line` counts from 1. */
export interface StoryMistake {
  readonly line: number
  readonly message: string
}

/** One line of a story, read and ready to run. */
export interface Act {
  readonly line: number
  readonly text: string
  readonly run: (run: StoryRun) => void
}

export interface ParsedStory {
  readonly plan: WorldPlan
  readonly acts: ReadonlyArray<Act>
}

const byName: ReadonlyMap<string, Verb> = new Map(verbs.map((verb) => [verb.name, verb]))

const wordsOf = (line: string): ReadonlyArray<string> =>
  line
    .replace(/#.*$/, "")
    .split(/\s+/)
    .filter((word) => word !== "")

/** Reads a whole story and reports all its mistakes at once. Empty lines and text after a `#` are left out. */
export const parseStory = (
  seed: string,
  lines: ReadonlyArray<string>
): Result.Result<ParsedStory, ReadonlyArray<StoryMistake>> => {
  const plan: PlanDraft = { ...defaultPlan, seed, clusters: [], defaultCluster: "" }
  const mistakes: Array<StoryMistake> = []
  const acts: Array<Act> = []
  for (const [index, text] of lines.entries()) {
    const [name, ...words] = wordsOf(text)
    if (name === undefined) continue
    const line = index + 1
    const verb = byName.get(name)
    if (verb === undefined) {
      mistakes.push({
        line,
        message: `there is no verb ${JSON.stringify(name)}; the nearest is ${nearest(name, [...byName.keys()])}`
      })
      continue
    }
    const wrong = (message: string): void =>
      void mistakes.push({ line, message: `${name}: ${message}; its form is \`${verb.usage}\`` })
    if (verb.kind === "setup") {
      const read = verb.read(words)
      if (acts.length > 0)
        mistakes.push({ line, message: `${name} describes the world: it must come before the first act` })
      else if (Result.isFailure(read)) wrong(read.failure)
      else read.success(plan)
    } else {
      const read = verb.read(words)
      if (Result.isFailure(read)) wrong(read.failure)
      else acts.push({ line, text: text.trim(), run: read.success })
    }
  }
  if (plan.clusters.length === 0)
    mistakes.push({ line: 1, message: "there is no cluster: write `cluster a default` and at least one act" })
  else if (plan.defaultCluster === "")
    mistakes.push({
      line: 1,
      message: "no cluster is the default: write `default` after one, as in `cluster a default`"
    })
  return mistakes.length > 0 ? Result.fail(mistakes) : Result.succeed({ plan, acts })
}
