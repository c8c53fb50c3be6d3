/**
 * The work of a worker process, one piece at a time: runs a story, shrinks it, or plans its sweep; writes trace and
 * report. Never talks to the user; that is `output.ts`.
 */

import { writeFileSync } from "node:fs"
import { gzipSync } from "node:zlib"
import type { Violation } from "../invariants/invariant.ts"
import { makeReport } from "../report/make-report.ts"
import { reportPage } from "../report/report-page.ts"
import { eventText } from "../story/event-text.ts"
import { runStory } from "../story/run-story.ts"
import { seededStory } from "../story/seeded-story.ts"
import { shrinkStory } from "../story/shrink-story.ts"
import type { Story, StoryResult } from "../story/story.ts"
import { type SweepRun, sweepRuns } from "../story/sweep.ts"
import type { FaultPlan } from "../world/call-faults.ts"
import type { Answer, Outcome, StoryChoice, Work } from "./work.ts"

/** Most runs that the search for a shorter story may take. */
const shrinkBudget = 400

/** The last plan of a sweep. Sweeps run the same story thousands of times, and planning one is a run of its own. */
let planned: { readonly key: string; readonly runs: ReadonlyMap<string, SweepRun> } | undefined

const planOf = (story: Story): ReadonlyMap<string, SweepRun> => {
  const key = JSON.stringify([story.seed, story.lines])
  if (planned?.key !== key) planned = { key, runs: new Map(sweepRuns(story).map((run) => [run.name, run])) }
  return planned.runs
}

const faultsOf = (story: Story, sweepRun: string | undefined): FaultPlan | undefined => {
  if (sweepRun === undefined) return undefined
  const run = planOf(story).get(sweepRun)
  if (run === undefined) throw new Error(`the story's sweep has no run ${JSON.stringify(sweepRun)}`)
  return run.faults()
}

const run = (story: Story, sweepRun: string | undefined, events: boolean): StoryResult => {
  const faults = faultsOf(story, sweepRun)
  const result = runStory(story, { events, ...(faults === undefined ? {} : { faults }) })
  // A sweep's own fault is no act of the story, so the story has not counted it.
  const kind = `call ${/: ([^:]*)$/.exec(sweepRun ?? "")?.[1] ?? ""}`
  return sweepRun === undefined
    ? result
    : { ...result, faults: { ...result.faults, [kind]: (result.faults[kind] ?? 0) + 1 } }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** The result of a story that could not even begin: it counts as failed. */
const unreadable = (story: Story, error: unknown): StoryResult => {
  const violation: Violation = {
    id: "story",
    sentence: "The story can be read.",
    detail: messageOf(error),
    at: 0,
    line: 0
  }
  return {
    violations: [violation],
    transcript: [...story.lines],
    faults: {},
    virtualMs: 0,
    steps: 0,
    digest: "",
    events: [],
    calls: {}
  }
}

const storyOf = (choice: StoryChoice): Story =>
  choice._tag === "Written" ? choice.story : seededStory(choice.seed, choice.size)

const writeTrace = (file: string, heading: object, { events }: StoryResult): void => {
  const text = [`${JSON.stringify(heading)}\n`, ...events.map(eventText)].join("")
  writeFileSync(file, file.endsWith(".gz") ? gzipSync(text) : text)
}

const outcome = (
  story: Story,
  { faults, steps, transcript, violations: [violation], virtualMs }: StoryResult,
  wanted: boolean
): Outcome => ({
  story,
  violation,
  transcript: wanted || violation !== undefined ? transcript : [],
  faults,
  virtualMs,
  steps
})

const runOne = (work: Extract<Work, { readonly _tag: "Run" }>): Answer => {
  const { choice, number, report, title, trace, transcript } = work
  const story = storyOf(choice)
  const sweepRun = choice._tag === "Written" ? choice.sweepRun : undefined
  let result: StoryResult
  try {
    result = run(story, sweepRun, trace !== undefined || report !== undefined)
  } catch (error) {
    result = unreadable(story, error)
  }
  if (trace !== undefined)
    writeTrace(trace, { _tag: "Story", number, title, seed: story.seed, lines: story.lines }, result)
  if (report !== undefined && result.events.length > 0)
    writeFileSync(report, reportPage(makeReport(title, story, result)))
  return { _tag: "Ran", outcome: outcome(story, result, transcript) }
}

/** Sentences so general that only the detail tells two failures apart. */
const generalSentences: ReadonlySet<string> = new Set(["expect", "defect"])

/**
 * Whether two violations are of the same kind: the same sentence, and for a general sentence the same detail except for
 * its numbers.
 */
const isSame = (wanted: Violation, other: Violation | undefined): boolean => {
  const outline = ({ detail }: Violation): string | undefined => detail.split("\n")[0]?.replaceAll(/\d+/g, "0")
  return (
    other !== undefined &&
    wanted.id === other.id &&
    (!generalSentences.has(wanted.id) || outline(wanted) === outline(other))
  )
}

const shrink = ({ breaks, story, sweepRun }: Extract<Work, { readonly _tag: "Shrink" }>): Answer => {
  const isBroken = (candidate: Story): boolean => {
    try {
      return isSame(breaks, run(candidate, sweepRun, false).violations[0])
    } catch {
      // A candidate that cannot be read, or whose sweep lacks the run, is no shorter form of this failure.
      return false
    }
  }
  const shortest = shrinkStory(story, isBroken, shrinkBudget)
  return { _tag: "Ran", outcome: outcome(shortest, run(shortest, sweepRun, false), true) }
}

/** Does one piece of work. Never throws. */
export const doWork = (work: Work): Answer => {
  try {
    switch (work._tag) {
      case "Run":
        return runOne(work)
      case "Shrink":
        return shrink(work)
      case "PlanSweep":
        return { _tag: "SweepPlanned", runs: [...planOf(work.story).keys()] }
    }
  } catch (error) {
    return { _tag: "Failed", message: messageOf(error) }
  }
}
