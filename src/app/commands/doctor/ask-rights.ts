/**
 * Asks an API server for every right that the operator needs there, verb by verb.
 *
 * Not here: which rights are needed (domain/commands/doctor/needed-rights.ts) and what their lack means
 * (examine-rights.ts).
 */

import { Effect } from "effect"
import type { Right } from "../../../domain/catalogue/right.ts"
import type { RightFact } from "../../../domain/commands/doctor/cluster-facts.ts"
import { memberRights, ownRights } from "../../../domain/commands/doctor/needed-rights.ts"
import { eventNamespace } from "../../../domain/events/event-object.ts"
import { at } from "../../../domain/json.ts"
import type { ClusterProbe } from "../../../ports/cluster-probe.ts"
import type { ExaminedCluster } from "./examined-cluster.ts"
import { concurrency, reviewBody } from "./probe-answer.ts"

/** The user name of a service account. */
export const accountUser = ({ name, namespace }: NonNullable<ExaminedCluster["account"]>): string =>
  `system:serviceaccount:${namespace}:${name}`

/** The namespace of a right; empty: the whole cluster. Rights of the scopes without a namespace are not asked for. */
const namespaceOf = ({ agentNamespace, namespace }: ExaminedCluster, { scope }: Right): string => {
  switch (scope) {
    case "cluster":
    case "cluster-api-namespace":
    case "cluster-profile-namespace":
    case "target-namespace":
      return ""
    case "kube-system":
      return "kube-system"
    case "operator-namespace":
      return namespace
    case "agent-namespace":
      return agentNamespace
    case "event-namespace":
      return eventNamespace
  }
}

/** Asks for one verb: for the credentials themselves, or for a service account by name. */
const askVerb = (
  probe: ClusterProbe,
  examined: ExaminedCluster,
  right: Right,
  verb: string
): Effect.Effect<RightFact> => {
  const [resource = "", ...subresources] = right.resource.split("/")
  const resourceAttributes = {
    namespace: namespaceOf(examined, right),
    verb,
    group: right.group,
    resource,
    subresource: subresources.join("/"),
    name: right.name ?? ""
  }
  const { account } = examined
  const subject =
    account === undefined
      ? {}
      : {
          user: accountUser(account),
          groups: ["system:serviceaccounts", `system:serviceaccounts:${account.namespace}`, "system:authenticated"]
        }
  const kind = account === undefined ? "SelfSubjectAccessReview" : "SubjectAccessReview"
  return Effect.map(
    probe.request(
      "POST",
      `/apis/authorization.k8s.io/v1/${kind.toLowerCase()}s`,
      reviewBody(kind, "authorization.k8s.io", { resourceAttributes, ...subject })
    ),
    ({ answer }) => {
      const allowed = answer._tag === "Answered" ? at(answer.value.body, "status", "allowed") : undefined
      return { right, verb, allowed: typeof allowed === "boolean" ? allowed : undefined }
    }
  )
}

/** Every needed right of a cluster with the API server's answer, in the order of the needed rights. */
export const askRights = (probe: ClusterProbe, examined: ExaminedCluster): Effect.Effect<ReadonlyArray<RightFact>> => {
  const { isDefault, kept, part, role } = examined
  const needed = part === "own" ? ownRights(role, kept) : memberRights(isDefault ? kept.branching : [])
  const verbs = needed.flatMap((right) => right.verbs.map((verb) => ({ right, verb })))
  return Effect.forEach(verbs, ({ right, verb }) => askVerb(probe, examined, right, verb), { concurrency })
}
