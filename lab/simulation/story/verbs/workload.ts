/** `workload a statefulset/db pods 2`: adds a workload to a cluster before the story begins. */

import { Result } from "effect"
import type { Verb } from "../verb.ts"
import { exactly, nameWord, nothingMore, wholeNumber } from "../words.ts"
import { workloadWord } from "../workload-word.ts"

export const workload: Verb = {
  name: "workload",
  usage: "workload <cluster> deployment|statefulset|job|cronjob/<name> [pods <n>]",
  summary: "A workload beside deployment/myapp, of which copies can be made; after the line of its cluster.",
  kind: "setup",
  read: ([first, second, third, ...rest]) =>
    Result.gen(function* () {
      const cluster = yield* nameWord(first, "a cluster's name")
      const { kind, name } = yield* workloadWord(second)
      if (third !== undefined) yield* exactly(third, "pods")
      const count = third === undefined ? 1 : yield* wholeNumber(rest[0], "a number of pods")
      yield* nothingMore(rest.slice(1))
      return (plan) => {
        plan.clusters = plan.clusters.map((known) =>
          known.name === cluster
            ? { ...known, workloads: [...(known.workloads ?? []), { kind, name, pods: count }] }
            : known
        )
      }
    })
}
