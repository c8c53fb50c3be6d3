/**
 * The check `operator` of `braid doctor`: whether an operator of this release answers through the API server, in the
 * role that its configuration gives it.
 *
 * Not here: how it is asked (app/commands/doctor/ask-operator.ts), and whether its sessions are well (`braid
 * sessions`).
 */

import { protocolVersion } from "../../protocol/version.ts"
import type { ClusterFacts, OperatorFacts } from "./cluster-facts.ts"
import { type Finding, failed, ok, skipped, warning } from "./finding.ts"
import { refusalText } from "./refusal-text.ts"
import { roleText } from "./role-text.ts"

const placeText = ({ name, part }: ClusterFacts): string => (part === "own" ? "here" : `on ${name}`)

/** Shows the logs of every replica: which one leads may be the very thing that is wrong. */
const logsFix = (facts: ClusterFacts): string =>
  `Look at its log ${placeText(facts)}: kubectl -n ${facts.namespace} logs -l app=mirrord-operator --prefix --tail=200.`

const refused = (answer: Extract<ClusterFacts["operator"], { _tag: "Refused" }>, facts: ClusterFacts): Finding => {
  const { name, namespace, part } = facts
  switch (answer.code) {
    case 404:
      return failed(
        "operator",
        "No operator is registered with the API server (APIService v1.operator.metalbear.co).",
        `Install the chart ${placeText(facts)}.`
      )
    case 503:
      return failed(
        "operator",
        `The API server does not reach the operator (${refusalText(answer)}).`,
        `${part === "own" ? "Look" : `On ${name}, look`} at the condition Available of kubectl get apiservice ` +
          "v1.operator.metalbear.co -o yaml, then at " +
          `kubectl -n ${namespace} get pods,endpointslices,leases.`
      )
    default:
      return failed("operator", `The operator answers with an error (${refusalText(answer)}).`, logsFix(facts))
  }
}

const answered = ({ features, protocolVersion: spoken, version }: OperatorFacts, facts: ClusterFacts): Finding => {
  const { name, namespace, part, role } = facts
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
  const lacksRole = part === "own" && role._tag === "Primary" && !features.includes("MultiClusterPrimary")
  return lacksRole
    ? failed(
        "operator",
        `Operator ${version} serves, but not as a primary: it runs with an older configuration.`,
        `Restart it: kubectl -n ${namespace} rollout restart deployment/mirrord-operator.`
      )
    : ok("operator", `Operator ${version} serves${part === "own" ? roleText(role) : ""}, protocol ${spoken}.`)
}

/** Whether the cluster's operator serves, and whether it fits to this release and to its configuration. */
export const examineOperator = (facts: ClusterFacts): Finding => {
  const { operator: answer } = facts
  switch (answer._tag) {
    case "NotAsked":
      return skipped("operator", "The operator could not be asked through the API server.")
    case "NoAnswer":
      return failed("operator", `The operator did not answer through the API server: ${answer.detail}.`, logsFix(facts))
    case "Refused":
      return refused(answer, facts)
    case "Answered":
      return answered(answer.value, facts)
  }
}
