/**
 * Puts an event of the simulated world into words, as one line of a transcript. Golden transcripts hold these lines
 * byte for byte. A trace has every event instead (`event-text.ts`).
 */

import { isCopy } from "../../../src/domain/copies/copy-record.ts"
import { asObject, asString, at } from "../../../src/domain/json.ts"
import { branchDatabases } from "../../../src/domain/resources/branches/branch-database.ts"
import { deployments, leases, pods, statefulSets } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { primaryLeaseName } from "../../../src/domain/sessions/primary-claim.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"
import type { ClientEvent } from "../../client/client-output.ts"
import type { Commit } from "../../memory/memory-objects.ts"
import { branchIdLabel, phaseOfBranch } from "../world/branch-order.ts"
import { programAnswer } from "../world/program-answer.ts"
import { isBranchPod } from "../world/sim-branch-pods.ts"
import type { WorldEvent } from "../world/world-event.ts"

interface ParentStatus {
  readonly phase?: string
  readonly clusterSessions?: Readonly<Record<string, { readonly ready?: boolean; readonly error?: string | null }>>
}
const statusOf = (object: KubeObject): ParentStatus => (object["status"] ?? {}) as ParentStatus

/** The state of a parent, such as `Ready a:ready b:not enough pods`. */
const parentText = (object: KubeObject): string => {
  const { clusterSessions = {}, phase = "new" } = statusOf(object)
  const clusters = Object.entries(clusterSessions).map(
    ([name, { error, ready }]) => `${name}:${ready === true ? "ready" : (error ?? "waits")}`
  )
  const isLeaving = object.metadata.deletionTimestamp !== undefined
  return [isLeaving ? `${phase} (being deleted)` : phase, ...clusters].join(" ")
}

/** The pod that holds a Lease, and the epoch. */
const holderOf = (lease: KubeObject | undefined): string => {
  const { holderIdentity = "", leaseTransitions } = (lease?.["spec"] ?? {}) as {
    readonly holderIdentity?: string
    readonly leaseTransitions?: number
  }
  return holderIdentity === "" ? "" : `${holderIdentity.split("_")[0]} of epoch ${leaseTransitions}`
}

/** A branch that comes, goes or gets another phase, and pods of branches. */
const branchText = ({ after, before, ref }: Commit): string | undefined => {
  const object = after ?? before
  if (object === undefined) return undefined
  if (ref.plural === pods.plural)
    return isBranchPod(object) && (after === undefined || before === undefined)
      ? `pod of a branch ${before === undefined ? "made" : "gone"}`
      : undefined
  if (ref.plural !== branchDatabases.plural) return undefined
  const name = `branch ${object.metadata.labels?.[branchIdLabel] ?? object.metadata.name}`
  if (after === undefined) return `${name} gone`
  const text = [phaseOfBranch(after) ?? "new", asString(at(after, "status", "error")) ?? ""].join(" ").trimEnd()
  const sessions = Object.keys(asObject(at(after, "status", "sessionInfo"))).length
  const now = `${name} ${text}${sessions === 0 ? "" : `, used by ${sessions}`}`
  return before !== undefined && branchText({ ref, before: undefined, after: before, version: 0 }) === now
    ? undefined
    : now
}

/** Pods of copies that come and go, workloads that are scaled down for them, and policies. */
const copyText = ({ after, before, ref }: Commit): string | undefined => {
  const object = after ?? before
  if (object === undefined) return undefined
  const { name } = object.metadata
  if (ref.plural === pods.plural)
    return isCopy(object.metadata) && (after === undefined || before === undefined)
      ? `copy ${name} ${before === undefined ? "made" : "gone"}`
      : undefined
  if (ref.plural !== deployments.plural && ref.plural !== statefulSets.plural) return undefined
  const [was, is] = [scaledDownOf(before), scaledDownOf(after)]
  if (was === is) return undefined
  const wanted = (after?.["spec"] as { readonly replicas?: number } | undefined)?.replicas
  return `${name} is to have ${wanted ?? "no"} pods${is === undefined ? "" : `, ${is} later on`}`
}

/** The number of pods that a scaled-down workload is to have later on. */
const scaledDownOf = (workload: KubeObject | undefined): string | undefined =>
  workload?.metadata.labels?.["operator.metalbear.co/scaled-down-from"]

const subscribedText = (result: Extract<ClientEvent, { readonly _tag: "Subscribed" }>["result"]): string => {
  if (result._tag === "Ok") return "subscribed"
  const { error } = result
  return error._tag === "ForbiddenWithReason"
    ? `refused by policy ${error.policyName ?? ""}, because ${error.reason}`
    : "refused"
}

/** One line of a transcript; undefined for events that a reader would skip. */
export const describeEvent = (event: WorldEvent): string | undefined => {
  switch (event._tag) {
    case "Committed": {
      const { after, before, ref } = event.commit
      if (ref.plural === mirrordMultiClusterSessions.plural) {
        if (after === undefined) return `${event.cluster}: parent gone`
        const text = parentText(after)
        return before !== undefined && parentText(before) === text ? undefined : `${event.cluster}: parent ${text}`
      }
      if (ref.plural === leases.plural && (after ?? before)?.metadata.name === primaryLeaseName) {
        const holder = at(after, "spec", "holderIdentity")
        return `${event.cluster}: serves ${holder === undefined ? "no primary" : `the primary ${String(holder)}`}`
      }
      if (ref.plural === leases.plural) {
        const [oldHolder, newHolder] = [holderOf(before), holderOf(after)]
        if (oldHolder === newHolder) return undefined
        return `${event.cluster}: ${newHolder === "" ? "nobody leads" : `${newHolder} leads`}`
      }
      if (ref.plural === mirrordClusterSessions.plural && (before === undefined || after === undefined)) {
        return `${event.cluster}: child ${before === undefined ? "created" : "gone"}`
      }
      const copied = branchText(event.commit) ?? copyText(event.commit)
      return copied === undefined ? undefined : `${event.cluster}: ${copied}`
    }
    case "Operator":
      return `operator ${event.cluster} ${event.change}${event.detail === undefined ? "" : ` ${event.detail}`}`
    case "AgentStarted":
      return `${event.cluster}: agent started${event.pod === "" ? "" : ` for ${event.pod}`}`
    case "AgentEnded":
      return `${event.cluster}: agent ended`
    case "BranchTold":
      return `${event.client} sees branch ${event.branch}: ${event.phase ?? "no phase"}`
    case "CopyTold":
      return `${event.client} is told of copy ${event.copy}: ${event.phase}`
    case "ClientConnected":
      return `${event.client} connected`
    case "ClientRefused":
      return `${event.client} refused: ${event.code ?? "no answer"} ${event.reason} ${event.message}`.trimEnd()
    case "ClientLost":
      return `${event.client} lost its connection: ${event.reason}`
    case "ClientEnded":
      return `${event.client} ended: ${event.rule === undefined ? "" : `${event.rule}: `}${event.message}`
    case "ClientEvent": {
      const { event: what } = event
      if (what._tag === "Log") return `${event.client} reads: ${what.message}`
      if (what._tag === "Subscribed") return `${event.client} port ${what.port}: ${subscribedText(what.result)}`
      if (what._tag === "NotDone") return `${event.client} not done: ${what.request._tag}: ${what.reason}`
      if (what._tag === "Resumed") return `${event.client} resumed`
      const answer = programAnswer(what)
      return answer === undefined ? undefined : `${event.client} gets ${answer}`
    }
    case "RequestAnswered":
      return (
        `request ${event.id} at ${event.cluster}: ${event.by}` +
        (event.body === "" ? "" : ` says ${JSON.stringify(event.body)}`)
      )
    case "Fault":
      return `fault: ${event.text}`
    default:
      return undefined
  }
}
