/**
 * S-B3 (failures.md §1.15). A branch is in use while a client that named it is connected to the operator that makes it,
 * by itself or by a link of the primary; and while it may come back to its session, which is there as an object.
 */

import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { timeOf } from "../../../src/domain/resources/object-meta.ts"
import { parentNameOf } from "../../../src/domain/sessions/child-owner.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"
import { phaseOfBranch } from "../world/branch-order.ts"
import type { SimClient } from "../world/sim-client.ts"
import type { World } from "../world/world.ts"
import {
  type BranchHistory,
  branchPath,
  branchRule,
  calledBranch,
  isBranchCall,
  isOrdering,
  marksOf
} from "./branch-history.ts"
import { defaultOf, isLeaving, sessionObjectOf } from "./session-objects.ts"

/** A client hears at least the answers to its pings, ms. */
const heardWithin = 40_000

/** Whether a client's session has an open connection to the operator of a cluster. */
const isConnectedTo = (
  { network }: World,
  { home, isServing, place, sessionId }: SimClient,
  cluster: string
): boolean => {
  if (!isServing) return false
  const way = [[place, home] as const]
  const hops = home === cluster ? way : [...way, [home, cluster] as const]
  return hops.every(
    ([from, to]) =>
      network.isPrompt(from, to) &&
      network.isPrompt(to, from) &&
      network.between(from, to).some(({ isSilent, what }) => what === `session ${sessionId}` && !isSilent())
  )
}

/**
 * Whether a client may come back to its session in a cluster: it keeps trying, and the session has been there since the
 * client used it. A session that was made again uses its branches only when it is connected.
 */
const mayComeBack = (world: World, client: SimClient, cluster: string, begunAt: number): boolean =>
  client.ended === undefined &&
  world
    .cluster(cluster)
    .server.objects.peekAll(mirrordClusterSessions)
    .some(
      (session) =>
        (parentNameOf(session) ?? session.metadata.name) === sessionObjectOf(client) &&
        !isLeaving(session) &&
        (timeOf(session.metadata.creationTimestamp) ?? Infinity) <= begunAt
    )

/** Whether an operator may delete a branch, whoever uses it. The delete of an origin counts for its copy. */
const mayGo = (history: BranchHistory, branch: KubeObject): boolean => {
  if (phaseOfBranch(branch) === "Failed") return true
  // A copy without an origin goes when its name is wanted.
  const marks = marksOf(branch)
  const origin = history.records.get(marks?.uid ?? "")
  const isUnwanted = marks !== undefined && (origin === undefined || origin.goneAt !== undefined)
  return isUnwanted && origin?.wasDeletedByOperator !== true
}

export const usedBranchesStay = branchRule({
  id: "S-B3",
  sentence: "No operator deletes a branch that a session uses, unless a person has deleted it.",
  begin: (world, history) => {
    const heard = new Map<string, number>()
    /** When a client of each session was heard first: a branch that was made later is none that it uses. */
    const begun = new Map<bigint, number>()
    /** Whether a client uses the branches that it named in a cluster. */
    const isUsing = (client: SimClient, cluster: string, now: number): boolean => {
      const isHeard = now - (heard.get(client.name) ?? -Infinity) < heardWithin
      return (
        cluster === defaultOf(world(), client) &&
        ((isHeard && isConnectedTo(world(), client, cluster)) ||
          mayComeBack(world(), client, cluster, begun.get(client.sessionId) ?? Infinity))
      )
    }
    return {
      on: {
        ClientHeard: ({ at, client }) => {
          heard.set(client, at)
          const session = world().clients.get(client)?.sessionId
          if (session !== undefined && !begun.has(session)) begun.set(session, at)
        },
        Called: ({ at, call, process }) => {
          if (call.verb !== "delete" || !isBranchCall(call) || isOrdering(world(), call.to)) return undefined
          const branch = calledBranch(world(), call)
          if (branch === undefined || mayGo(history, branch)) return undefined
          const madeAt = history.of(branch)?.madeAt ?? 0
          const user = [...world().clients.values()].find((client) => {
            const begunAt = begun.get(client.sessionId) ?? Infinity
            const isNamed = client.branches.includes(call.name) && begunAt >= madeAt && begunAt < at
            return isNamed && isUsing(client, call.to, at)
          })
          return user === undefined
            ? undefined
            : `${process} deletes the branch ${branchPath(branch)} in ${call.to}, which ${user.name} uses.`
        }
      }
    }
  }
})
