/**
 * The findings of `braid doctor` in one cluster, decided from the facts that were observed there.
 *
 * Not here: how the facts are observed (app/commands/doctor/observe-cluster.ts), how findings are printed (report.ts),
 * and the larger checks, which have files of their own.
 */

import { spanText } from "../../fleet/credentials/validity.ts"
import { certainSkew } from "./clock-skew.ts"
import { areUsable, type ClusterFacts, type KindFact } from "./cluster-facts.ts"
import { examineConnection } from "./examine-connection.ts"
import { examineCredentials } from "./examine-credentials.ts"
import { examineOperator } from "./examine-operator.ts"
import { examineRights } from "./examine-rights.ts"
import { type Finding, failed, ok, skipped, warning } from "./finding.ts"
import { refusalText } from "./refusal-text.ts"

/** Skew from which times in logs and objects mislead people, ms. */
const noticedSkew = 5_000
/** Skew from which sessions end too early or too late, ms: their TTL is 60 s. */
const harmfulSkew = 60_000

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

/** The configuration that a running primary was given, as the primary itself judges it. */
const changedConfiguration = ({ namespace, operator, part }: ClusterFacts): ReadonlyArray<Finding> => {
  const refused = operator._tag === "Answered" && part === "own" ? operator.value.refusedConfiguration : undefined
  return refused === undefined
    ? []
    : [
        failed(
          "configuration",
          `The operator does not use its changed configuration, the last good one stays: ${refused}`,
          "Correct operator.multiCluster in the chart's values and upgrade the release. Where it asks for a restart: " +
            `kubectl -n ${namespace} rollout restart deployment/mirrord-operator.`
        )
      ]
}

/** Collections that the running operator cannot read, although it may. */
const unread = ({ name, namespace, operator, part }: ClusterFacts): ReadonlyArray<Finding> => {
  const found = operator._tag === "Answered" ? operator.value.unreadCollections : undefined
  const place = part === "own" ? "" : `On ${name}: `
  return found === undefined
    ? []
    : [
        failed(
          "operator",
          `The operator runs, and cannot read all that it acts on. ${found}`,
          `${place}kubectl get of that kind in all namespaces should say the same; else look at the operator's log: ` +
            `kubectl -n ${namespace} logs -l app=mirrord-operator --prefix --tail=200.`
        )
      ]
}

/** Members whose name stands for another cluster, as the running primary found it. */
const identities = ({ operator, part }: ClusterFacts): ReadonlyArray<Finding> =>
  operator._tag !== "Answered" || part !== "own"
    ? []
    : Object.entries(operator.value.refusedIdentities ?? {}).map(([name, problem]) =>
        failed(
          "configuration",
          `The operator does not use cluster ${name}: ${problem}.`,
          "Do what the sentence says; the cluster is connected to within 5 s then."
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
        areUsable(credentials) ? "The API server could not be asked." : "There are no credentials to try."
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

/** How to renew the credentials for a member. */
const newCredentials = ({ credentials, name, namespace }: ClusterFacts): string => {
  switch (credentials._tag) {
    case "Certificate":
      return (
        `Put a certificate that ${name} trusts, and its key, as tls.crt and tls.key into the Secret of this ` +
        "cluster."
      )
    case "Cloud":
      if (credentials.auth._tag === "ExecPlugin")
        return `Look whether the plugin of access provider ${credentials.auth.provider} gives credentials for ${name}.`
      return credentials.auth._tag === "Eks"
        ? `Make an access entry for the operator's role in the EKS cluster, whose name in AWS must be ${name}; ` +
            `${credentials.auth.region ?? "region"} must be its region.`
        : "Turn on the Microsoft Entra integration of the AKS cluster (az aks update --enable-aad); tenantId must be " +
            "the tenant of its aadProfile."
    default:
      return (
        `braid join ${name} --apply --wait, with contexts for both clusters, makes new ones, and says so if their ` +
        `account was deleted. By hand, on ${name}: kubectl -n ${namespace} create token mirrord-operator-envoy ` +
        "--duration=24h; put it as bearerToken into the Secret of this cluster, beside the primary's operator."
      )
  }
}

const clock = ({ clock: reading }: ClusterFacts): Finding => {
  if (reading === undefined) return skipped("clock", "The API server's clock could not be read.")
  const skew = certainSkew(reading)
  const text = `The API server's clock is ${spanText(Math.abs(skew))} ${skew > 0 ? "ahead of" : "behind"} ours`
  const fix = "Synchronise the clocks of both machines (chrony, systemd-timesyncd, the cloud's time service)."
  if (Math.abs(skew) >= harmfulSkew) return failed("clock", `${text}; sessions end too early or too late.`, fix)
  return Math.abs(skew) >= noticedSkew ? warning("clock", `${text}.`, fix) : ok("clock", "The clocks agree.")
}

const kindText = ({ group, plural }: KindFact): string => `${plural}.${group}`

const isServed = ({ served, version }: KindFact): boolean =>
  served._tag === "Answered" && served.value.includes(version)

/** The problem with a kind; `undefined` if it is served, or was not asked for. */
const kindProblem = (kind: KindFact, fix: string): Finding | undefined => {
  const { need, served, version } = kind
  if (served._tag === "NotAsked" || isServed(kind)) return undefined
  if (served._tag !== "Answered") {
    return failed(
      "resources",
      `Whether ${kindText(kind)} is served could not be found out (${refusalText(served)}).`,
      "Whoever runs this must be allowed to read discovery, as ClusterRole system:discovery lets everybody."
    )
  }
  const found =
    served.value.length === 0 ? "is not installed" : `is served as ${served.value.join(", ")}, not as ${version}`
  return need === "required"
    ? failed("resources", `${kindText(kind)} ${found}: no session can be served.`, fix)
    : warning("resources", `${kindText(kind)} ${found}, which the chart always brings.`, fix)
}

const resources = ({ kinds, name, part }: ClusterFacts): ReadonlyArray<Finding> => {
  if (kinds.every(({ served }) => served._tag === "NotAsked"))
    return [skipped("resources", "The API server could not be asked for its custom resources.")]
  const fix =
    `Upgrade the release of the chart ${part === "own" ? "here" : `on ${name}`}; it installs the custom resources. ` +
    "By hand: kubectl apply --server-side -f crds/."
  const problems = kinds.flatMap((kind) => kindProblem(kind, fix) ?? [])
  if (problems.length > 0) return problems
  const versions = kinds.flatMap((kind) =>
    kind.need === "required" && kind.served._tag === "Answered"
      ? [`${kindText(kind)} (${kind.served.value.join(", ")})`]
      : []
  )
  return [ok("resources", `Served: ${versions.join(", ")}.`)]
}

/** All findings of a cluster, in the order of `checks`. The same facts give the same findings. */
export const examineCluster = (facts: ClusterFacts): ReadonlyArray<Finding> => [
  ...configuration(facts),
  ...changedConfiguration(facts),
  ...identities(facts),
  ...examineConnection(facts),
  examineCredentials(facts, newCredentials(facts)),
  authentication(facts),
  clock(facts),
  ...examineRights(facts),
  ...resources(facts),
  examineOperator(facts),
  ...unread(facts)
]
