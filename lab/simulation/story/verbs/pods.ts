/** `pods a reschedule`: changes of the workload's pods, as its controllers make them. */

import { Result } from "effect"
import { withCluster } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { nameWord, nothingMore, oneOf, wholeNumber } from "../words.ts"

const deeds = ["reschedule", "replace", "ready", "unready", "scale"] as const
const workload = "myapp"

export const pods: Verb = {
  name: "pods",
  usage: "pods <cluster> reschedule|replace|ready|unready|scale <n>",
  summary:
    "One pod of the workload goes and another starts, under a new name or the same; all are ready or not; so " +
    "many are wanted.",
  kind: "act",
  read: ([first, second, ...rest]) =>
    Result.gen(function* () {
      const cluster = yield* nameWord(first, "a cluster's name")
      const deed = yield* oneOf(second, deeds)
      const wanted = deed === "scale" ? yield* wholeNumber(rest[0], "a number of pods") : 0
      yield* nothingMore(deed === "scale" ? rest.slice(1) : rest)
      return (run) =>
        withCluster(run, cluster, ({ kubelet }) => {
          switch (deed) {
            case "reschedule":
              run.fault("pod rescheduled", `a pod of ${cluster} goes, and another starts`)
              return kubelet.reschedule(workload)
            case "replace":
              run.fault("pod replaced", `a pod of ${cluster} is replaced under its name`)
              return kubelet.replaceUnderSameName(workload)
            case "ready":
              return kubelet.setReady(workload, true)
            case "unready":
              run.fault("pods not ready", `the pods of ${cluster} are not ready`)
              return kubelet.setReady(workload, false)
            case "scale":
              run.fault("pods scaled", `${cluster} has ${wanted} pods`)
              return kubelet.scale(workload, wanted)
          }
        })
    }),
  random: {
    weight: 4,
    line: ({ clusters, random }) => {
      const deed = random.pick(deeds)
      return `pods ${random.pick(clusters)} ${deed}${deed === "scale" ? ` ${random.int(0, 3)}` : ""}`
    }
  }
}
