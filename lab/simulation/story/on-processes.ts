/** The common form of verbs that act on processes of a cluster, such as `pause`. */

import { Result } from "effect"
import type { SimProcess } from "../kernel/sim-process.ts"
import type { OperatorHost } from "../world/operator-host.ts"
import { withCluster } from "./scene.ts"
import type { Draw, StoryRun } from "./verb.ts"
import { nameWord, nothingMore, oneOf } from "./words.ts"

/** The operator of a cluster, or all its agents: stopped and resumed together. */
export interface Processes {
  readonly what: "operator" | "agent"
  readonly cluster: string
  /** The processes that exist now. */
  readonly all: ReadonlyArray<Pick<SimProcess, "state">>
  readonly each: ReadonlyArray<Pick<SimProcess | OperatorHost, "pause" | "resume">>
}

/** Reads the words `operator|agent <cluster>`. */
export const onProcesses =
  (act: (processes: Processes, run: StoryRun) => void) =>
  ([first, second, ...rest]: ReadonlyArray<string>): Result.Result<(run: StoryRun) => void, string> =>
    Result.gen(function* () {
      const what = yield* oneOf(first, ["operator", "agent"])
      const cluster = yield* nameWord(second, "a cluster's name")
      yield* nothingMore(rest)
      return (run) =>
        withCluster(run, cluster, ({ host, kubelet }) => {
          const agents = kubelet.agents.map(({ process }) => process)
          const operator = host.processes
          act(
            what === "agent"
              ? { what, cluster, all: agents, each: agents }
              : { what, cluster, all: operator, each: [host] },
            run
          )
        })
    })

/** A random line of such a verb. */
export const someProcesses =
  (verb: string) =>
  ({ clusters, places, random }: Draw): string =>
    random.chance(0.6) ? `${verb} operator ${random.pick(places)}` : `${verb} agent ${random.pick(clusters)}`
