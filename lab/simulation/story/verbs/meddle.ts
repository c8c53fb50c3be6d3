/** `meddle a delete copy`: a person deletes a copy, or scales or deletes a workload that copies are made of. */

import { Result } from "effect"
import { pods } from "../../../../src/domain/resources/core-kinds.ts"
import { nothingHappens, withCluster } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { nameWord, nothingMore, oneOf, wholeNumber } from "../words.ts"
import { workloadWord } from "../workload-word.ts"

export const meddle: Verb = {
  name: "meddle",
  usage: "meddle <cluster> delete copy | delete <kind>/<name> | scale <kind>/<name> <n>",
  summary: "A person deletes a copy's pod, deletes a workload, or sets its number of pods.",
  kind: "act",
  read: ([first, second, third, ...rest]) =>
    Result.gen(function* () {
      const cluster = yield* nameWord(first, "a cluster's name")
      const deed = yield* oneOf(second, ["delete", "scale"])
      const target = deed === "delete" && third === "copy" ? undefined : yield* workloadWord(third)
      const replicas = deed === "scale" ? yield* wholeNumber(rest[0], "a number of pods") : 0
      yield* nothingMore(deed === "scale" ? rest.slice(1) : rest)
      return (run) =>
        withCluster(run, cluster, ({ kubelet, server }) => {
          if (target === undefined) {
            const copy = run.world.kernel.random.split(`meddle at ${run.world.now}`).pick(kubelet.copies)
            if (copy === undefined) return nothingHappens(run, `there is no copy in ${cluster}`)
            run.fault("copy deleted", `somebody deletes the copy ${copy.metadata.name} of ${cluster}`)
            return server.objects.erase(pods, copy.metadata.name, copy.metadata.namespace)
          }
          const { kind, name } = target
          if (!kubelet.hasWorkload(kind, name)) return nothingHappens(run, `there is no ${kind}/${name} in ${cluster}`)
          if (deed === "delete") {
            run.fault("workload deleted", `somebody deletes ${kind}/${name} of ${cluster}`)
            return kubelet.deleteOther(kind, name)
          }
          run.fault("workload scaled", `somebody scales ${kind}/${name} of ${cluster} to ${replicas}`)
          kubelet.scaleOther(kind, name, replicas)
        })
    }),
  random: {
    weight: 4,
    woven: "copies",
    line: ({ clusters, random }) => {
      const target = random.pick(["deployment/myapp", "statefulset/db"])
      const deed = random.chance(0.4)
        ? "delete copy"
        : random.chance(0.8)
          ? `scale ${target} ${random.int(0, 3)}`
          : `delete ${target}`
      return `meddle ${random.pick(clusters)} ${deed}`
    }
  }
}
