/**
 * L3 (failures.md §2.3, §4.17). When a parent goes before its children, the primary's ledger of debts names the
 * children, and pays once their cluster is back. How the ledger is read is in `debts.ts`.
 */

import { configMaps } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { parentNameOf } from "../../../src/domain/sessions/child-owner.ts"
import { parentFinalizer } from "../../../src/domain/sessions/names.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"
import { debtsOf, isOutOfReach, ledgerName } from "./debts.ts"
import type { Invariant } from "./invariant.ts"
import { isLeaving, isParent, parentUidOf, recordedChildren } from "./session-objects.ts"

/** How long a debt in a reachable cluster may stay unpaid, ms. */
const payment = 120_000

export const leftoversAreOwed: Invariant = {
  id: "L3",
  sentence: "A parent's leftovers are in the ledger when the parent goes, and are paid when their cluster is back.",
  begin: (world) => {
    /** UIDs of parents from which an operator, not a person, took the finalizer. */
    const released = new Set<string>()
    const owedSince = new Map<string, number>()
    /** Creates whose answer has not arrived, by cluster and name. */
    const pending = new Set<string>()
    /** Notes the debts that begin and end. */
    const noteDebts = (at: number): void => {
      const owed = debtsOf(world())
      for (const child of owedSince.keys()) if (!owed.has(child)) owedSince.delete(child)
      for (const child of owed.keys()) if (!owedSince.has(child)) owedSince.set(child, at)
    }
    /** Whether a child is there of a parent that goes, and no other operator will end it. */
    const isLeft = (parent: KubeObject, cluster: string, name: string): boolean => {
      const known = world().clusters.get(cluster)
      const child = known?.server.objects.peek(mirrordClusterSessions, name)
      if (child === undefined || isLeaving(child)) return false
      // A create whose answer was given up may be carried out later; the member ends such a child.
      if (pending.has(`${cluster} ${name}`) && known?.host.isGone === false) return false
      const uid = parentUidOf(child)
      return uid === undefined ? parentNameOf(child) === parent.metadata.name : uid === parent.metadata.uid
    }
    return {
      on: {
        Called: ({ call: { body, name, resource, to, verb } }) => {
          if (verb === "create" && resource === mirrordClusterSessions.plural) pending.add(`${to} ${name}`)
          if (verb !== "patch" || resource !== mirrordMultiClusterSessions.plural) return
          const { metadata } = body as {
            readonly metadata?: { readonly uid?: string; readonly finalizers?: ReadonlyArray<string> }
          }
          if (metadata?.finalizers?.includes(parentFinalizer) === false) released.add(metadata.uid ?? name)
        },
        Answered: ({ call: { name, to, verb }, outcome }) => {
          if (verb === "create" && outcome !== "Unreachable") pending.delete(`${to} ${name}`)
        },
        Committed: ({ at, commit }) => {
          const { after, before, ref } = commit
          if (ref.plural === configMaps.plural && after?.metadata.name === ledgerName) noteDebts(at)
          const parent = isParent(commit) && after === undefined ? before : undefined
          if (parent === undefined || !released.has(parent.metadata.uid ?? "")) return undefined
          const debts = debtsOf(world())
          const left = recordedChildren(parent).find(
            ([cluster, { sessionName }]) => !debts.has(sessionName) && isLeft(parent, cluster, sessionName)
          )
          return left === undefined
            ? undefined
            : `${parent.metadata.name} goes, its child in ${left[0]} does not, and the ledger does not name it.`
        }
      },
      atRest: () =>
        world().primary.host.isGone
          ? []
          : [...debtsOf(world())].flatMap(([child, cluster]) => {
              const since = owedSince.get(child) ?? 0
              return isOutOfReach(world(), cluster) || world().now - since < payment
                ? []
                : [`${child} is still owed in ${cluster}, which is there.`]
            })
    }
  }
}
