/**
 * The check `permissions` of `braid doctor`: which rights are missing, what fails without them, and how to get them.
 *
 * Not here: the list of rights (needed-rights.ts) and asking for them (app/commands/doctor/ask-rights.ts).
 */

import type { Right } from "../../catalogue/right.ts"
import { eventNamespace } from "../../events/event-object.ts"
import type { ClusterFacts, RightFact } from "./cluster-facts.ts"
import { type Finding, failed, ok, skipped } from "./finding.ts"

const resourceText = ({ group, resource }: Right): string => (group === "" ? resource : `${resource}.${group}`)

const placeText = ({ namespace }: ClusterFacts, { scope }: Right): string => {
  switch (scope) {
    case "cluster":
      return "in the whole cluster"
    case "kube-system":
      return "in namespace kube-system"
    case "operator-namespace":
      return `in namespace ${namespace}`
    case "agent-namespace":
      return "in the namespace of agents"
    case "event-namespace":
      return `in namespace ${eventNamespace}`
    case "cluster-api-namespace":
      return "in the namespace of Cluster API"
    case "cluster-profile-namespace":
      return "in the namespace of ClusterProfiles"
    case "target-namespace":
      return "in the namespace of targets"
  }
}

/** How to grant what is missing: the chart makes all roles. */
const rightsFix = ({ credentials, name, part, role }: ClusterFacts): string => {
  if (part === "own") {
    return (
      "Upgrade the release of the chart with the values of this " +
      `installation${role._tag === "Primary" ? " (operator.multiCluster.enabled: true)" : ""}; it makes the roles ` +
      "of the operator and binds them."
    )
  }
  return credentials._tag === "Certificate"
    ? `On ${name}: upgrade the chart with operator.multiClusterMember: true and the certificate's user in ` +
        "rbac.memberSubjects."
    : `On ${name}: upgrade the chart with operator.multiClusterMember: true, and use a token of its ServiceAccount ` +
        "mirrord-operator-envoy."
}

/** Whether the credentials have all rights that the operator needs; one finding for each resource that lacks some. */
export const examineRights = (facts: ClusterFacts): ReadonlyArray<Finding> => {
  const { rights } = facts
  const who = facts.rightsOf ?? (facts.user._tag === "Answered" ? facts.user.value : "the user")
  if (rights.length === 0) return [skipped("permissions", "The API server could not be asked for rights.")]
  const unknown = rights.filter(({ allowed }) => allowed === undefined)
  const byRight = Map.groupBy(
    rights.filter(({ allowed }) => allowed === false),
    ({ right }) => right
  )
  const missing = [...byRight].map(([right, verbs]) => {
    const named = right.name === undefined ? "" : ` ${JSON.stringify(right.name)}`
    return failed(
      "permissions",
      `${who} may not ${verbs.map(({ verb }: RightFact) => verb).join(", ")} ${resourceText(right)}${named} ` +
        `${placeText(facts, right)}: without it ${right.without}.`,
      rightsFix(facts)
    )
  })
  if (unknown.length > 0) {
    const [first] = unknown
    const what = first === undefined ? "" : `, such as ${first.verb} ${resourceText(first.right)}`
    missing.push(
      failed(
        "permissions",
        `${unknown.length} of ${rights.length} rights could not be asked for${what}.`,
        "Whoever runs this must be allowed to create selfsubjectaccessreviews, or subjectaccessreviews to ask " +
          "for another user."
      )
    )
  }
  return missing.length === 0 ? [ok("permissions", `${who} has all ${rights.length} rights that are needed.`)] : missing
}
