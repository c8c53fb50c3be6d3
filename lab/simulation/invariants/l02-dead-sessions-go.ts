/**
 * L2 (failures.md §2.2, §4.15). Nothing of a session outlives its client for long, in any cluster that has an operator.
 * Failed parents stay a while, so that people can read why.
 */

import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { timeOf } from "../../../src/domain/resources/object-meta.ts"
import { isFailureReason } from "../../../src/domain/resources/session-failure.ts"
import { parentNameOf } from "../../../src/domain/sessions/child-owner.ts"
import { failedRetention } from "../../../src/domain/sessions/session-plan.ts"
import type { World } from "../world/world.ts"
import type { Invariant } from "./invariant.ts"
import { conditionsOf, isLeaving, parentStatus, recordedChildren, sessionObjectOf } from "./session-objects.ts"

/**
 * How long a session may outlive its client in a world that is well, ms: a silent watch, a leader's grace, the TTL and
 * retries.
 */
const latest = 390_000
/** How long an operator may take to delete a failed parent once its time has come, ms. */
const slack = 30_000

/** Names of parents, and of sessions of one cluster, whose client is connected or left only just now. */
const alive = (world: World, endedAt: ReadonlyMap<string, number>): ReadonlySet<string> =>
  new Set(
    [...world.clients.values()].flatMap((client) => {
      const isRecent = client.ended === undefined || world.now - (endedAt.get(client.name) ?? world.now) < latest
      return isRecent ? [sessionObjectOf(client)] : []
    })
  )

const deadParents = (world: World, living: ReadonlySet<string>): ReadonlyArray<string> => {
  const { host, server } = world.primary
  if (host.isGone) return []
  return server.objects.peekAll(mirrordMultiClusterSessions).flatMap((parent) => {
    const { name } = parent.metadata
    if (living.has(name)) return []
    const failed = conditionsOf(parent).find(({ status, type }) => type === "Failed" && status === "True")
    const stays = parentStatus(parent).phase === "Failed" && !isLeaving(parent)
    // A person may have written a cluster that does not exist into the parent. The child recorded there becomes a debt
    // after a while, and then the parent goes.
    if (isLeaving(parent) && recordedChildren(parent).some(([cluster]) => !world.clusters.has(cluster))) return []
    // A status written by hand may say Failed without a time.
    const { lastTransitionTime, reason = "" } = failed ?? {}
    const failedAt = timeOf(lastTransitionTime) ?? timeOf(parent.metadata.creationTimestamp) ?? 0
    const retention = failedRetention(isFailureReason(reason) ? reason : "Error")
    if (stays && world.now < failedAt + retention + slack) return []
    return [
      `${name} is still there ` +
        `(${parentStatus(parent).phase ?? "no phase"}${isLeaving(parent) ? ", being deleted" : ""}), ` +
        `${latest / 1000} s after its client has gone.`
    ]
  })
}

const orphans = (world: World, living: ReadonlySet<string>, moment: "healed" | "left"): ReadonlyArray<string> =>
  [...world.clusters.values()].flatMap(({ host, name: cluster, server }) => {
    if (host.isGone) return []
    return server.objects.peekAll(mirrordClusterSessions).flatMap((child) => {
      // The session of one cluster, on a copy, has no parent. With a new leader it waits longer for its first client.
      if (parentNameOf(child) === undefined && moment === "healed") return []
      const parent = parentNameOf(child) ?? child.metadata.name
      if (living.has(parent) || world.primary.server.objects.peek(mirrordMultiClusterSessions, parent) !== undefined)
        return []
      const createdAt = timeOf(child.metadata.creationTimestamp) ?? 0
      return world.now - createdAt < latest
        ? []
        : [`The child ${child.metadata.name} in ${cluster} has neither a parent nor a client any more.`]
    })
  })

export const deadSessionsGo: Invariant = {
  id: "L2",
  sentence: "Everything of a dead session is gone within its time-outs, in every cluster that has an operator.",
  begin: (world) => {
    const endedAt = new Map<string, number>()
    return {
      on: { ClientEnded: ({ at, client }) => void endedAt.set(client, at) },
      atRest: (moment) => {
        const living = alive(world(), endedAt)
        return [...deadParents(world(), living), ...orphans(world(), living, moment)]
      }
    }
  }
}
