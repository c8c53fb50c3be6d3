/** `policy b no-steal steal`: an administrator makes, changes or deletes a mirrord policy of a cluster. */

import { Result } from "effect"
import { mirrordClusterPolicies } from "../../../../src/domain/resources/policies/mirrord-policies.ts"
import { nothingHappens, withCluster } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { exactly, nameWord, nothingMore, oneOf } from "../words.ts"
import { workloadWord } from "../workload-word.ts"

const rules = ["steal", "steal-without-filter", "mirror", "profile", "gone"] as const

export const policy: Verb = {
  name: "policy",
  usage: `policy <cluster> <name> ${rules.join("|")} [on <kind>/<name>]`,
  summary:
    "A MirrordClusterPolicy forbids to steal, to steal without a filter, or to mirror, or wants a profile, which no " +
    "session has; for all targets, or for one. The same name again changes it; gone deletes it.",
  kind: "act",
  read: ([first, second, third, fourth, fifth, ...rest]) =>
    Result.gen(function* () {
      const cluster = yield* nameWord(first, "a cluster's name")
      const name = yield* nameWord(second, "a policy's name")
      const rule = yield* oneOf(third, rules)
      if (fourth !== undefined) yield* exactly(fourth, "on")
      const target = fourth === undefined ? undefined : yield* workloadWord(fifth)
      yield* nothingMore(rest)
      const spec = {
        block: rule === "profile" ? [] : [rule],
        requireProfile: rule === "profile",
        targetPath: target === undefined ? null : `${target.kind}/${target.name}`
      }
      return (run) =>
        withCluster(run, cluster, ({ server: { objects } }) => {
          const isThere = objects.peek(mirrordClusterPolicies, name) !== undefined
          if (rule === "gone") {
            if (!isThere) return nothingHappens(run, `there is no policy ${name} in ${cluster}`)
            run.fault("policy deleted", `the policy ${name} of ${cluster} is deleted`)
            return objects.erase(mirrordClusterPolicies, name)
          }
          run.fault(`policy ${isThere ? "changed" : "made"}`, `the policy ${name} of ${cluster} is about: ${rule}`)
          objects.write(mirrordClusterPolicies, name, { spec }, undefined, run.world.now)
        })
    }),
  random: {
    weight: 10,
    woven: "policies",
    line: ({ clusters: [home], primary, random }) => {
      const place = random.pick([home, home, primary])
      return `policy ${place} ${random.pick(["one", "two"])} ${random.pick([...rules, "steal", "gone"])}`
    }
  }
}
