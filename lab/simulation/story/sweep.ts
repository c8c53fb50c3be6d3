import { type CallFault, errorKinds, type FaultPlan } from "../world/port-calls.ts"
import type { PortCall } from "../world/world-event.ts"
import { runStory } from "./run-story.ts"
import type { Story, StoryResult } from "./story.ts"

/** One run of a sweep: a story with exactly one fault. */
export interface SweepRun {
  /** Such as `primary call 17 (create mirrordclustersessions to b): crash before`. */
  readonly name: string
  /** Made anew for every run. */
  readonly faults: () => FaultPlan
}

/** The ways in which a call can end its operator. */
const crashes: Readonly<Record<string, CallFault>> = {
  "crash before": { _tag: "Crash", when: "before" },
  "crash after": { _tag: "Crash", when: "after" }
}

/** A stale answer is a thing of reads. */
const applies = (fault: CallFault, call: PortCall): boolean =>
  fault._tag !== "Stale" || call.verb === "get" || call.verb === "list"

/** What is asked for, without what differs from run to run. */
const describe = ({ resource, subresource, to, verb }: PortCall): string =>
  [verb, resource, subresource, `to ${to}`].filter((word) => word !== undefined && word !== "").join(" ")

/**
 * Every call that operators make during the acts of a story that nothing is done to; what is after the acts heals all
 * faults.
 */
const recordedCalls = (story: Story): ReadonlyArray<PortCall> => {
  const calls: Array<PortCall> = []
  runStory(story, { faults: (call) => void calls.push(call) })
  return calls
}

/**
 * Everything that can go wrong with exactly one call of a story: for each call of each operator, a crash right before
 * and right after it, and each error kind of {@link errorKinds}. An index counts the calls of that operator in the run
 * with the fault, which does up to there what the story does without faults. Throws if the story breaks something
 * without any fault.
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

/** Runs a sweep, or those of its runs that are given; gives their number. */
export const runSweep = (
  story: Story,
  onResult: (run: SweepRun, result: StoryResult) => void,
  runs: ReadonlyArray<SweepRun> = sweepRuns(story)
): number => {
  for (const run of runs) onResult(run, runStory(story, { faults: run.faults() }))
  return runs.length
}
