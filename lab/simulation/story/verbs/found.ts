/** `found b by clusterApi with mtls for 20m`: a primary finds a member by itself, before the story begins. */

import { Result } from "effect"
import { clusterProviders } from "../../../../src/domain/fleet/provided-clusters.ts"
import { kubeconfigAuths, type MemberPlan } from "../../world/member-plan.ts"
import type { Verb } from "../verb.ts"
import { duration, exactly, nameWord, nothingMore, oneOf } from "../words.ts"

export const found: Verb = {
  name: "found",
  usage: `found <cluster> by ${clusterProviders.join("|")} [with ${kubeconfigAuths.join("|")}] for <duration>`,
  summary:
    "A member stands not in the primary's list: a provider finds it. Its kubeconfig has a token, or a certificate, " +
    "that ends after so long and is replaced in time; a clusterProfile has none, as a plugin gives tokens.",
  kind: "setup",
  read: ([first, word, second, ...rest]) =>
    Result.gen(function* () {
      const cluster = yield* nameWord(first, "a cluster's name")
      yield* exactly(word, "by")
      const provider = yield* oneOf(second, clusterProviders)
      const left = [...rest]
      let member: MemberPlan = { _tag: "Profile" }
      if (provider !== "clusterProfile") {
        yield* exactly(left.shift(), "with")
        member = { _tag: "Kubeconfig", provider, auth: yield* oneOf(left.shift(), kubeconfigAuths) }
      }
      yield* exactly(left.shift(), "for")
      const lifetime = yield* duration(left.shift())
      yield* nothingMore(left)
      return (plan) => {
        plan.members = { ...plan.members, [cluster]: member }
        plan.tokens = { ...plan.tokens, [cluster]: { lifetime, longest: Infinity, skew: 0 } }
      }
    })
}
