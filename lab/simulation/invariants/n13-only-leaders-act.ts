/**
 * N13 (failures.md §3.13, §4.30). The Lease of the operator's cluster says at every moment which replica leads; a
 * write, link or dial by another replica is of an older epoch. The Lease itself is free for all replicas to read and to
 * try. A replica that shares the members with others acts for those that it owns (N23): it writes Events, identities
 * and what is left of members that have gone. That a stopped process makes no calls is S10.
 */

import { events } from "../../../src/domain/events/event-object.ts"
import { leaderLabel } from "../../../src/domain/leadership/leader-label.ts"
import { configMaps, leases, pods, secrets } from "../../../src/domain/resources/core-kinds.ts"
import type { PortCall } from "../world/world-event.ts"
import type { World } from "../world/world.ts"
import type { Invariant } from "./invariant.ts"
import { isSharded } from "./shards.ts"

const acts: ReadonlySet<PortCall["verb"]> = new Set(["create", "patch", "delete", "link", "dial"])

/** A leader that steps down takes its own label off if it can. */
const isStepDown = ({ body, resource, verb }: PortCall): boolean => {
  const { metadata } = (body ?? {}) as { readonly metadata?: { readonly labels?: Readonly<Record<string, unknown>> } }
  return verb === "patch" && resource === pods.plural && metadata?.labels?.[leaderLabel] === null
}

/** Objects of the primary that replicas write for the members that they own. */
const ofShards: ReadonlySet<string> = new Set([configMaps.plural, events.plural, secrets.plural])

/** Whether a call is one that any replica may make where members are shared. Sessions and links are the leader's. */
const isOfShard = (world: World, { operator, resource, to, verb }: PortCall): boolean => {
  if (!isSharded(world) || operator !== world.plan.primary) return false
  return to === operator ? ofShards.has(resource) : verb === "create" && resource.startsWith("serviceaccounts/")
}

export const onlyLeadersAct: Invariant = {
  id: "N13",
  sentence: "Nothing is written, linked or dialled by a replica that another has taken over from.",
  begin: (world) => ({
    on: {
      Called: ({ call, process }) => {
        if (!acts.has(call.verb) || call.resource === leases.plural || isOfShard(world(), call)) return undefined
        const host = world().clusters.get(call.operator)?.host
        const replica = host?.replicas.find((candidate) => candidate.process?.name === process)
        if (host?.isElected !== true || replica === undefined || replica.holdsLease || isStepDown(call))
          return undefined
        const what = `${call.verb} ${call.resource} ${call.name}`.trimEnd()
        return (
          `${process} calls ${what} in ${call.to}, but the Lease of ${call.operator} is held by ` +
          `${host.leader?.pod?.name ?? "somebody else"}.`
        )
      }
    }
  })
}
