/** `canary b 1`: a workload beside `deployment/myapp` whose pods have its labels too. */

import { Result } from "effect"
import { withCluster } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { nameWord, nothingMore, wholeNumber } from "../words.ts"

export const canary: Verb = {
  name: "canary",
  usage: "canary <cluster> <n>",
  summary:
    "deployment/myapp-canary has so many pods, which the selectors of deployment/myapp and service/web cover too; " +
    "both are made if they are not there.",
  kind: "act",
  read: ([first, second, ...rest]) =>
    Result.gen(function* () {
      const cluster = yield* nameWord(first, "a cluster's name")
      const wanted = yield* wholeNumber(second, "a number of pods")
      yield* nothingMore(rest)
      return (run) => withCluster(run, cluster, ({ kubelet }) => kubelet.scaleCanary(wanted))
    })
}
