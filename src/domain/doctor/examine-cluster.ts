import { eventNamespace } from "../events/event-object.ts"
import { protocolVersion } from "../protocol/version.ts"
import { certainSkew } from "./clock-skew.ts"
import type { Answer, ClusterFacts, KindFact, RightFact } from "./cluster-facts.ts"
import { examineConnection } from "./examine-connection.ts"
import { examineCredentials } from "./examine-credentials.ts"
import { type Finding, failed, ok, skipped, warning } from "./finding.ts"
import type { NeededRight } from "./needed-rights.ts"
import { roleText } from "./role-text.ts"
import { spanText } from "./validity.ts"

/**
 * Skew from which times in logs and objects mislead people, and from which sessions end too early or too late (their
 * TTL is 60 s). ms.
 */
const noticedSkew = 5_000
const harmfulSkew = 60_000

const refusalText = (answer: Exclude<Answer<unknown>, { readonly _tag: "Answered" }>): string => {
  switch (answer._tag) {
    case "Refused":
      return `HTTP ${answer.code}: ${answer.detail}`
    case "NoAnswer":
      return answer.detail
    case "NotAsked":
      return "it was not asked"
  }
}

const configuration = ({ problems }: ClusterFacts): ReadonlyArray<Finding> =>
  problems.length === 0
    ? []
    : problems.map((problem) =>
        failed(
          "configuration",
          problem,
          "Correct it in operator.multiCluster.clusters of the chart's values, upgrade the release and restart " +
            "the operator."
        )
      )

const authentication = (facts: ClusterFacts): Finding => {
  const { credentials, user } = facts
  switch (user._tag) {
    case "Answered":
      return ok("authentication", `The API server takes us for ${user.value}.`)
    case "NotAsked":
      return skipped(
        "authentication",
        credentials._tag === "Unusable" || credentials._tag === "Unsupported"
          ? "There are no credentials to try."
          : "The API server could not be asked."
      )
    case "NoAnswer":
      return failed(
        "authentication",
        `The API server did not say who we are: ${user.detail}.`,
        "Try again; if it stays so, look at the API server's log."
      )
    case "Refused":
      if (user.code === 401) {
        return facts.part === "member"
          ? failed(
              "authentication",
              "The API server refuses the credentials (401 Unauthorized).",
              newCredentials(facts)
            )
          : failed(
              "authentication",
              "The API server refuses the credentials (401 Unauthorized).",
              "Log in again, or use another context: --kubeconfig, --context. In the operator's pod: restart the pod."
            )
      }
      return failed(
        "authentication",
        `The API server did not say who we are (${refusalText(user)}).`,
        "It must serve authentication.k8s.io/v1 selfsubjectreviews, as every Kubernetes from 1.28 does."
      )
  }
}

/** How to come to new credentials of a member. */
const newCredentials = ({ credentials, name, namespace }: ClusterFacts): string =>
  credentials._tag === "Certificate"
    ? `Put a certificate that ${name} trusts, and its key, as tls.crt and tls.key into the Secret of this cluster.`
    : `On ${name}: kubectl -n ${namespace} create token mirrord-operator-envoy --duration=24h; put it as ` +
      "bearerToken into the Secret of this cluster, beside the primary's operator."

const clock = ({ clock: reading }: ClusterFacts): Finding => {
  if (reading === undefined) return skipped("clock", "The API server's clock could not be read.")
  const skew = certainSkew(reading)
  const text = `The API server's clock is ${spanText(Math.abs(skew))} ${skew > 0 ? "ahead of" : "behind"} ours`
  const fix = "Synchronise the clocks of both machines (chrony, systemd-timesyncd, the cloud's time service)."
  if (Math.abs(skew) >= harmfulSkew) return failed("clock", `${text}; sessions end too early or too late.`, fix)
  return Math.abs(skew) >= noticedSkew ? warning("clock", `${text}.`, fix) : ok("clock", "The clocks agree.")
}

const resourceText = ({ group, resource }: NeededRight): string => (group === "" ? resource : `${resource}.${group}`)

const placeText = ({ namespace }: ClusterFacts, { scope }: NeededRight): string => {
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
  }
}

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

const permissions = (facts: ClusterFacts): ReadonlyArray<Finding> => {
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
          "for somebody else."
      )
    )
  }
  return missing.length === 0 ? [ok("permissions", `${who} has all ${rights.length} rights that are needed.`)] : missing
}

const kindText = ({ group, plural }: KindFact): string => `${plural}.${group}`

const resources = (facts: ClusterFacts): ReadonlyArray<Finding> => {
  const asked = facts.kinds.filter(({ served }) => served._tag !== "NotAsked")
  if (asked.length === 0) return [skipped("resources", "The API server could not be asked for its custom resources.")]
  const fix =
    `Upgrade the release of the chart ${facts.part === "own" ? "here" : `on ${facts.name}`}; ` +
    "it installs the custom resources. By hand: kubectl apply --server-side -f crds/."
  const problems = asked.flatMap((kind): ReadonlyArray<Finding> => {
    const { need, served, version } = kind
    if (served._tag !== "Answered") {
      return served._tag === "NotAsked"
        ? []
        : [
            failed(
              "resources",
              `Whether ${kindText(kind)} is served could not be found out (${refusalText(served)}).`,
              "Whoever runs this must be allowed to read discovery, as ClusterRole system:discovery lets everybody."
            )
          ]
    }
    if (served.value.includes(version)) return []
    const found =
      served.value.length === 0 ? "is not installed" : `is served as ${served.value.join(", ")}, not as ${version}`
    return need === "required"
      ? [failed("resources", `${kindText(kind)} ${found}: no session can be served.`, fix)]
      : [warning("resources", `${kindText(kind)} ${found}, which the chart always brings.`, fix)]
  })
  const there = asked.filter(
    ({ need, served, version }) => need === "required" && served._tag === "Answered" && served.value.includes(version)
  )
  const all = there.map(
    (kind) => `${kindText(kind)} (${kind.served._tag === "Answered" ? kind.served.value.join(", ") : ""})`
  )
  return problems.length > 0 ? problems : [ok("resources", `Served: ${all.join(", ")}.`)]
}

const operator = (facts: ClusterFacts): Finding => {
  const { name, namespace, operator: answer, part } = facts
  const where = part === "own" ? "here" : `on ${name}`
  // Of every replica: which one leads is what may be wrong.
  const logs = `kubectl -n ${namespace} logs -l app=mirrord-operator --prefix --tail=200`
  switch (answer._tag) {
    case "NotAsked":
      return skipped("operator", "The operator could not be asked through the API server.")
    case "NoAnswer":
      return failed(
        "operator",
        `The operator did not answer through the API server: ${answer.detail}.`,
        `Look at its log ${where}: ${logs}.`
      )
    case "Refused":
      if (answer.code === 404)
        return failed(
          "operator",
          "No operator is registered with the API server (APIService v1.operator.metalbear.co).",
          `Install the chart ${where}.`
        )
      if (answer.code === 503) {
        return failed(
          "operator",
          `The API server does not reach the operator (${refusalText(answer)}).`,
          `${part === "own" ? "Look" : `On ${name}, look`} at the condition Available of ` +
            "kubectl get apiservice v1.operator.metalbear.co -o yaml, " +
            `then at kubectl -n ${namespace} get pods,endpointslices,leases.`
        )
      }
      return failed(
        "operator",
        `The operator answers with an error (${refusalText(answer)}).`,
        `Look at its log ${where}: ${logs}.`
      )
    case "Answered":
      break
  }
  const { features, protocolVersion: spoken, version } = answer.value
  if (version === undefined) return ok("operator", "An operator serves; which, may not be read with these credentials.")
  if (part === "member" && !version.includes("+braid.")) {
    return failed(
      "operator",
      `The operator ${version} is not braid: sessions wait for it in vain.`,
      `Install this chart on ${name}, in place of the other operator.`
    )
  }
  if (spoken === undefined)
    return ok("operator", `Operator ${version} serves; it does not say which protocol it speaks.`)
  if (spoken !== protocolVersion) {
    return warning(
      "operator",
      `Operator ${version} speaks protocol ${spoken} and we speak ${protocolVersion}: sessions use what both know.`,
      "Upgrade the older of the two, so that all clusters run the same release."
    )
  }
  const isWrongPart = part === "own" && facts.role._tag === "Primary" && !features.includes("MultiClusterPrimary")
  return isWrongPart
    ? failed(
        "operator",
        `Operator ${version} serves, but not as a primary: it runs with an older configuration.`,
        `Restart it: kubectl -n ${namespace} rollout restart deployment/mirrord-operator.`
      )
    : ok("operator", `Operator ${version} serves${part === "own" ? roleText(facts.role) : ""}, protocol ${spoken}.`)
}

/** What is to be said about a cluster, in the order of `checks`. The same facts give the same findings. */
export const examineCluster = (facts: ClusterFacts): ReadonlyArray<Finding> => [
  ...configuration(facts),
  ...examineConnection(facts),
  examineCredentials(facts, newCredentials(facts)),
  authentication(facts),
  clock(facts),
  ...permissions(facts),
  ...resources(facts),
  operator(facts)
]
