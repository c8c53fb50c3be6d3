/** The sweep of a story whose middle is the renewal of two members' tokens: one fault at one call near a renewal. */

import { it } from "vitest"
import { runStory } from "../../lab/simulation/story/run-story.ts"
import { type SweepRun, sweepRuns } from "../../lab/simulation/story/sweep.ts"

/** The tokens are renewed soon after the start, and once more before the acts end; the recovery sees the next time. */
const story = {
  seed: "rotation",
  lines: [
    "cluster a default",
    "cluster b",
    "tokens a for 10m",
    "tokens b for 20m at most 10m clock +2m",
    "session s1",
    "steal s1 80",
    "expect within 30s s1 serving",
    "tick 9m",
    "request b → s1"
  ]
}

/** Calls before and after a request for a token that are swept: a renewal takes three or four. */
const near = { before: 2, after: 6 }

const callOf = ({ name }: SweepRun): number => Number(/^primary call (\d+) /.exec(name)?.[1] ?? Number.NaN)

/** Every run of the sweep with a fault at or beside a call of a renewal. */
export const rotationRuns = (): ReadonlyArray<SweepRun> => {
  const runs = sweepRuns(story)
  const asked = new Set(runs.filter(({ name }) => name.includes("(create serviceaccounts/")).map(callOf))
  return runs.filter((run) =>
    [...asked].some((index) => callOf(run) >= index - near.before && callOf(run) <= index + near.after)
  )
}

/** A test for each way to fail among the runs. */
export const testRotationSweep = (runs: ReadonlyArray<SweepRun>): void => {
  const kinds = Map.groupBy(runs, ({ name }) => name.split(": ").at(-1) ?? "")
  for (const [kind, some] of kinds) {
    it(`${kind}: ${some.length} runs`, () => {
      const failed = some.flatMap((run) => {
        const [broken] = runStory(story, { faults: run.faults() }).violations
        return broken === undefined ? [] : [`${run.name}: ${broken.id}: ${broken.sentence} ${broken.detail}`]
      })
      if (failed.length > 0) throw new Error(failed.join("\n"))
    })
  }
}
