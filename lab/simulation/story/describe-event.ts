/**
 * Puts an event of the simulated world into words, as one line of a transcript. Golden transcripts hold these lines
 * byte for byte. A trace has every event instead (`event-text.ts`).
 */

import { leases } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"
import { programAnswer } from "../world/program-answer.ts"
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
      if (ref.plural === leases.plural) {
        const [oldHolder, newHolder] = [holderOf(before), holderOf(after)]
        if (oldHolder === newHolder) return undefined
        return `${event.cluster}: ${newHolder === "" ? "nobody leads" : `${newHolder} leads`}`
      }
      if (ref.plural === mirrordClusterSessions.plural && (before === undefined || after === undefined)) {
        return `${event.cluster}: child ${before === undefined ? "created" : "gone"}`
      }
      return undefined
    }
    case "Operator":
      return `operator ${event.cluster} ${event.change}${event.detail === undefined ? "" : ` ${event.detail}`}`
    case "AgentStarted":
      return `${event.cluster}: agent started${event.pod === "" ? "" : ` for ${event.pod}`}`
    case "AgentEnded":
      return `${event.cluster}: agent ended`
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
      if (what._tag === "Subscribed")
        return `${event.client} port ${what.port}: ${what.result._tag === "Ok" ? "subscribed" : "refused"}`
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
