/**
 * S-B3 (failures.md §1.15). A branch is in use while a client that named it is connected to the operator that makes it,
 * by itself or by a link of the primary; and while it may come back to its session, which is there as an object.
 */

import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { timeOf } from "../../../src/domain/resources/object-meta.ts"
import { parentNameOf } from "../../../src/domain/sessions/child-owner.ts"
import { phaseOfBranch } from "../world/branch-order.ts"
import type { SimClient } from "../world/sim-client.ts"
import type { World } from "../world/world.ts"
import { branchHistory, calledBranch, isBranchCall, isOrdering, marksOf, branchPath } from "./branch-history.ts"
import type { Invariant } from "./invariant.ts"
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
  const hops: ReadonlyArray<readonly [string, string]> =
    home === cluster
      ? [[place, home]]
      : [
          [place, home],
          [home, cluster]
        ]
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

export const usedBranchesStay: Invariant = {
  id: "S-B3",
  ofBranches: true,
  sentence: "No operator deletes a branch that a session uses, unless a person has deleted it.",
  begin: (world) => {
    const history = branchHistory(world)
    const heard = new Map<string, number>()
    /** When a client of each session was heard first: a branch that was made later is none that it uses. */
    const begun = new Map<bigint, number>()
    const begunAt = ({ sessionId }: SimClient): number => begun.get(sessionId) ?? Infinity
    return {
      on: (event) => {
        history.take(event)
        if (event._tag === "ClientHeard") {
          heard.set(event.client, event.at)
          const session = world().clients.get(event.client)?.sessionId
          if (session !== undefined && !begun.has(session)) begun.set(session, event.at)
        }
        if (event._tag !== "Called" || event.call.verb !== "delete" || !isBranchCall(event.call)) return undefined
        const { at, call, process } = event
        const branch = calledBranch(world(), call)
        if (branch === undefined || phaseOfBranch(branch) === "Failed" || isOrdering(world(), call.to)) return undefined
        // The delete of an origin counts for its copy. A copy of nobody goes when its name is wanted.
        const marks = marksOf(branch)
        const origin = history.records.get(marks?.uid ?? "")
        const isUnwanted = marks !== undefined && (origin === undefined || origin.goneAt !== undefined)
        if (isUnwanted && origin?.wasDeletedByOperator !== true) return undefined
        const madeAt = history.of(branch)?.madeAt ?? 0
        const user = [...world().clients.values()].find(
          (client) =>
            client.branches.includes(call.name) &&
            begunAt(client) >= madeAt &&
            begunAt(client) < at &&
            call.to === defaultOf(world(), client) &&
            ((at - (heard.get(client.name) ?? -Infinity) < heardWithin && isConnectedTo(world(), client, call.to)) ||
              mayComeBack(world(), client, call.to, begunAt(client)))
        )
        return user === undefined
          ? undefined
          : `${process} deletes the branch ${branchPath(branch)} in ${call.to}, which ${user.name} uses.`
      }
    }
  }
}
