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
  const now = stateText(after)
  return before !== undefined && stateText(before) === now ? undefined : `${name} ${now}`
}

/** The phase of a branch, its error, and how many sessions use it. */
const stateText = (branch: KubeObject): string => {
  const text = [phaseOfBranch(branch) ?? "new", asString(at(branch, "status", "error")) ?? ""].join(" ").trimEnd()
  const sessions = Object.keys(asObject(at(branch, "status", "sessionInfo"))).length
  return `${text}${sessions === 0 ? "" : `, used by ${sessions}`}`
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

/** A change of an object, without the cluster; undefined if a reader would skip it. */
const commitText = (commit: Commit): string | undefined => {
  const { after, before, ref } = commit
  switch (ref.plural) {
    case mirrordMultiClusterSessions.plural: {
      if (after === undefined) return "parent gone"
      const text = parentText(after)
      return before !== undefined && parentText(before) === text ? undefined : `parent ${text}`
    }
    case leases.plural:
      return leaseText(commit)
    case mirrordClusterSessions.plural:
      if (before === undefined) return "child created"
      return after === undefined ? "child gone" : undefined
    default:
      return branchText(commit) ?? copyText(commit)
  }
}

const leaseText = ({ after, before }: Commit): string | undefined => {
  if ((after ?? before)?.metadata.name === primaryLeaseName) {
    const holder = at(after, "spec", "holderIdentity")
    return `serves ${holder === undefined ? "no primary" : `the primary ${String(holder)}`}`
  }
  const [oldHolder, newHolder] = [holderOf(before), holderOf(after)]
  if (oldHolder === newHolder) return undefined
  return newHolder === "" ? "nobody leads" : `${newHolder} leads`
}

/** An event of a client's protocol, without the client. */
const clientText = (what: ClientEvent): string | undefined => {
  switch (what._tag) {
    case "Log":
      return `reads: ${what.message}`
    case "Subscribed":
      return `port ${what.port}: ${subscribedText(what.result)}`
    case "NotDone":
      return `not done: ${what.request._tag}: ${what.reason}`
    case "Resumed":
      return "resumed"
    default: {
      const answer = programAnswer(what)
      return answer === undefined ? undefined : `gets ${answer}`
    }
  }
}

/** A line that begins with the place of its event; undefined if there is nothing to say of it. */
const after = (place: string, text: string | undefined): string | undefined =>
  text === undefined ? undefined : `${place} ${text}`

/** One line of a transcript; undefined for events that a reader would skip. */
export const describeEvent = (event: WorldEvent): string | undefined => {
  switch (event._tag) {
    case "Committed":
      return after(`${event.cluster}:`, commitText(event.commit))
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
    case "ClientEvent":
      return after(event.client, clientText(event.event))
    case "RequestAnswered": {
      const said = event.body === "" ? "" : ` says ${JSON.stringify(event.body)}`
      return `request ${event.id} at ${event.cluster}: ${event.by}${said}`
    }
    case "Fault":
      return `fault: ${event.text}`
    default:
      return connectionText(event)
  }
}

/** A client's connection: that it is there, refused, lost or over. */
const connectionText = (event: WorldEvent): string | undefined => {
  switch (event._tag) {
    case "ClientConnected":
      return `${event.client} connected`
    case "ClientRefused":
      return `${event.client} refused: ${event.code ?? "no answer"} ${event.reason} ${event.message}`.trimEnd()
    case "ClientLost":
      return `${event.client} lost its connection: ${event.reason}`
    case "ClientEnded":
      return `${event.client} ended: ${event.rule === undefined ? "" : `${event.rule}: `}${event.message}`
    default:
      return undefined
  }
}
