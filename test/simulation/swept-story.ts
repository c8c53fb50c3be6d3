/** The sweeps of scenarios as tests, many runs in each. */

import { Result } from "effect"
import { it } from "vitest"
import { readScenario } from "../../lab/simulation/command/scenario-file.ts"
import { runStory } from "../../lab/simulation/story/run-story.ts"
import type { Story } from "../../lab/simulation/story/story.ts"
import { type SweepRun, sweepRuns } from "../../lab/simulation/story/sweep.ts"
import { explain } from "./failing-story.ts"

/** A scenario that is swept. */
interface Swept {
  readonly name: string
  readonly story: Story
}

const swept = (name: string): Swept => {
  const read = readScenario(name, undefined)
  if (Result.isFailure(read)) throw new Error(read.failure.join("\n"))
  return { name, story: read.success.story }
}

/** The step-by-step example, and the one of a branch of a database. */
export const sweptExample = swept("rfc-example")
export const sweptBranch = swept("branches-rfc")

/**
 * One of so many runs. The runs of a call are its 11 or 12 ways to fail, so a number without a common divisor meets all
 * ways in turn.
 */
export const sampleOf = (runs: ReadonlyArray<SweepRun>, oneOf: number): ReadonlyArray<SweepRun> =>
  runs.filter((_, i) => i % oneOf === 0)

const perTest = 200

/** Tests of 200 runs of a sweep each. A test lists all its failures, the first one in full. */
export const testSweep = ({ name: scenario, story }: Swept, runs: ReadonlyArray<SweepRun> = sweepRuns(story)): void => {
  for (let from = 0; from < runs.length; from += perTest) {
    const some = runs.slice(from, from + perTest)
    it(`runs ${from + 1} to ${from + some.length} of ${runs.length}`, () => {
      const failed = some.flatMap((run) => {
        const result = runStory(story, { faults: run.faults() })
        return result.violations.length === 0 ? [] : [{ run, result }]
      })
      const [first] = failed
      if (first === undefined) return
      const tested = {
        story,
        sweepRun: first.run,
        replay: `npm run simulate -- --sweep ${scenario}`
      }
      const names = failed.map(({ result, run }) => `${run.name}: ${result.violations[0]?.id}`)
      throw new Error(
        `${failed.length} of ${some.length} runs broke ` +
          `something:\n${names.join("\n")}\n\n${explain(tested, first.result)}`
      )
    })
  }
}
