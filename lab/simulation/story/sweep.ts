/**
 * Systematic faults: one story again and again, each time with exactly one fault at one call. Random faults are in
 * `random-story.ts`.
 */

import { type CallFault, errorKinds, type FaultPlan } from "../world/call-faults.ts"
import type { PortCall } from "../world/world-event.ts"
import { runStory } from "./run-story.ts"
import type { Story, StoryResult } from "./story.ts"

/** One run of a sweep: a story with exactly one fault. */
export interface SweepRun {
  /** Such as `primary call 17 (create mirrordclustersessions to b): crash before`. */
  readonly name: string
  /** Made again for every run. */
  readonly faults: () => FaultPlan
}

/** The ways in which a call can end its operator's process. */
const crashes: Readonly<Record<string, CallFault>> = {
  "crash before": { _tag: "Crash", when: "before" },
  "crash after": { _tag: "Crash", when: "after" }
}

/** Only reads can have a stale answer. */
const applies = (fault: CallFault, call: PortCall): boolean =>
  fault._tag !== "Stale" || call.verb === "get" || call.verb === "list"

/** A call in words, without the parts that differ from run to run. */
const describe = ({ resource, subresource, to, verb }: PortCall): string =>
  [verb, resource, subresource, `to ${to}`].filter((word) => word !== undefined && word !== "").join(" ")

/**
 * All calls of operators during the acts of a story without faults. The settling after the acts heals all faults, so
 * its calls are not swept.
 */
const recordedCalls = (story: Story): ReadonlyArray<PortCall> => {
  const calls: Array<PortCall> = []
  runStory(story, { faults: (call) => void calls.push(call) })
  return calls
}

/**
 * All that can go wrong with exactly one call of a story: for each call of each operator, a crash right before and
 * right after it, and each fault of {@link errorKinds}. A call is found by its number among its operator's calls; until
 * the fault the run does what it does without faults. Throws if the story breaks something without any fault.
 */
export const sweepRuns = (story: Story): ReadonlyArray<SweepRun> => {
  const [broken] = runStory(story).violations
  if (broken !== undefined)
    throw new Error(`the story breaks ${broken.id} without any fault: ${broken.sentence} ${broken.detail}`)
  const kinds = Object.entries({ ...crashes, ...errorKinds })
  return recordedCalls(story).flatMap((call) =>
    kinds.flatMap(([kind, fault]): ReadonlyArray<SweepRun> =>
      applies(fault, call)
        ? [
            {
              name: `${call.operator} call ${call.index} (${describe(call)}): ${kind}`,
              faults:
                () =>
                ({ index, operator }) =>
                  operator === call.operator && index === call.index ? fault : undefined
            }
          ]
        : []
    )
  )
}

/** Runs a sweep, or the given part of it; the result is the number of runs. */
export const runSweep = (
  story: Story,
  onResult: (run: SweepRun, result: StoryResult) => void,
  runs: ReadonlyArray<SweepRun> = sweepRuns(story)
): number => {
  for (const run of runs) onResult(run, runStory(story, { faults: run.faults() }))
  return runs.length
}
