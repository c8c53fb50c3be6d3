/**
 * N17 (failures.md §3.18). A copy lives as long as it is used, and as its idle time after that: no operator deletes a
 * copy under a session, and no copy outlives its sessions for long. A session is what the cluster itself has stored.
 */

import { asString, at } from "../../../src/domain/json.ts"
import { pods } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { timeOf } from "../../../src/domain/resources/object-meta.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"
import type { World } from "../world/world.ts"
import type { Invariant } from "./invariant.ts"
import { isLeaving, usedCopies } from "./session-objects.ts"

/**
 * How long a copy may be there without a session, beside its idle time, ms: a new leader's grace, and where faults have
 * just ended, a silent watch too.
 */
const latest = { healed: 500_000, left: 200_000 } as const
/** The shortest idle time that an operator grants, ms. */
const shortest = 15_000

const idleTime = ({ metadata }: KubeObject): number => {
  const [, secs] = /"idle_ttl":(\d+)/u.exec(metadata.annotations?.["operator.metalbear.co/copy-target"] ?? "") ?? []
  return Math.max(shortest, Number(secs ?? 30) * 1_000)
}

const isUndisturbed = ({ faultPlans }: World): boolean => faultPlans.every(({ isOver }) => isOver?.() === true)

export const copiesEnd: Invariant = {
  id: "N17",
  sentence: "A copy of a target lives as long as a session uses it, and ends soon after.",
  begin: (world) => {
    /** When each copy was last seen in use or made, by cluster and name. */
    const usedAt = new Map<string, number>()
    const noteUse = (now: number): void => {
      for (const cluster of world().clusters.values())
        for (const name of usedCopies(cluster)) usedAt.set(`${cluster.name} ${name}`, now)
    }
    return {
      on: {
        Committed: ({ at: now, cluster, commit: { after, before, ref } }) => {
          // The last moment of a use is the one before the session ends.
          const isLast = after === undefined || before === undefined || isLeaving(after)
          if (ref.plural === mirrordClusterSessions.plural && isLast)
            usedAt.set(`${cluster} ${asString(at(before ?? after, "spec", "target", "name")) ?? ""}`, now)
        },
        Called: ({ call: { name, resource, to, verb }, process }) => {
          const cluster = verb === "delete" && resource === pods.plural ? world().clusters.get(to) : undefined
          return cluster !== undefined && isUndisturbed(world()) && usedCopies(cluster).has(name)
            ? `${process} deletes the copy ${name} in ${to}, and a session is on it.`
            : undefined
        }
      },
      atRest: (moment) => {
        const theWorld = world()
        const { now } = theWorld
        noteUse(now)
        return [...theWorld.clusters.values()].flatMap(({ host, kubelet, name }) =>
          host.isGone
            ? []
            : kubelet.copies.flatMap((copy) => {
                const { creationTimestamp, name: pod } = copy.metadata
                const since = usedAt.get(`${name} ${pod}`) ?? timeOf(creationTimestamp) ?? 0
                const idle = now - since
                return idle <= latest[moment] + idleTime(copy)
                  ? []
                  : [`The copy ${pod} in ${name} has been without a session for ${Math.round(idle / 1_000)} s.`]
              })
        )
      }
    }
  }
}
