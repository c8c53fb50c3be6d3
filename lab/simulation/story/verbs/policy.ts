/** `policy b no-steal steal`: an administrator makes, changes or deletes a mirrord policy of a cluster. */

import { Result } from "effect"
import { mirrordClusterPolicies } from "../../../../src/domain/resources/policies/mirrord-policies.ts"
import { nothingHappens, withCluster } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { exactly, nameWord, nothingMore, oneOf } from "../words.ts"
import { workloadWord } from "../workload-word.ts"

const rules = ["steal", "steal-without-filter", "mirror", "profile", "scale-down", "gone"] as const
const randomRules = ["steal", "steal-without-filter", "mirror", "profile", "gone", "steal", "gone"] as const

const blocks = (rule: (typeof rules)[number]): ReadonlyArray<string> =>
  rule === "profile" ? [] : [rule === "scale-down" ? "copy-target-scale-down" : rule]

export const policy: Verb = {
  name: "policy",
  usage: `policy <cluster> <name> ${rules.join("|")} [on <kind>/<name>] [copies]`,
  summary:
    "A MirrordClusterPolicy forbids to steal, to steal without a filter, to mirror, or that a copy takes its " +
    "workload's pods, or it wants a profile, which no session has; for all targets, or for one; copies: for sessions " +
    "on copies of them too. The same name again changes it; gone deletes it.",
  kind: "act",
  read: ([first, second, third, ...words]) =>
    Result.gen(function* () {
      const cluster = yield* nameWord(first, "a cluster's name")
      const name = yield* nameWord(second, "a policy's name")
      const rule = yield* oneOf(third, rules)
      const isForCopies = words.at(-1) === "copies"
      const [fourth, fifth, ...rest] = isForCopies ? words.slice(0, -1) : words
      if (fourth !== undefined) yield* exactly(fourth, "on")
      const target = fourth === undefined ? undefined : yield* workloadWord(fifth)
      yield* nothingMore(rest)
      const spec = {
        block: blocks(rule),
        requireProfile: rule === "profile",
        appliesToCopyTargets: isForCopies,
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
          objects.write(mirrordClusterPolicies, name, { spec }, { namespace: undefined, now: run.world.now })
        })
    }),
  random: {
    weight: 10,
    woven: "policies",
    line: ({ clusters: [home], primary, random }) => {
      const place = random.pick([home, home, primary])
      const [name, rule] = [random.pick(["one", "two"]), random.pick(randomRules)]
      return `policy ${place} ${name} ${rule}${rule !== "gone" && random.chance(0.5) ? " copies" : ""}`
    }
  }
}
