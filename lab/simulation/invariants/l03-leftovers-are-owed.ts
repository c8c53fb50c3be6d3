/**
 * L3 (failures.md §2.3, §4.17). When a parent goes before its children, the primary's ledger of debts names the
 * children, and pays once their cluster is back. How the ledger is read is in `debts.ts`.
 */

import { configMaps } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { parentNameOf } from "../../../src/domain/sessions/child-owner.ts"
import { parentFinalizer } from "../../../src/domain/sessions/names.ts"
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
    /** Creates whose answer nobody has heard, by cluster and name. */
    const pending = new Set<string>()
    return {
      on: (event) => {
        if (event._tag === "Answered" && event.call.verb === "create" && event.outcome !== "Unreachable")
          pending.delete(`${event.call.to} ${event.call.name}`)
        if (event._tag === "Called") {
          const { body, name, resource, to, verb } = event.call
          if (verb === "create" && resource === mirrordClusterSessions.plural) pending.add(`${to} ${name}`)
          if (verb !== "patch" || resource !== mirrordMultiClusterSessions.plural) return undefined
          const { metadata } = body as {
            readonly metadata?: { readonly uid?: string; readonly finalizers?: ReadonlyArray<string> }
          }
          if (metadata?.finalizers?.includes(parentFinalizer) === false) released.add(metadata.uid ?? name)
          return undefined
        }
        if (event._tag !== "Committed") return undefined
        const { after, before, ref } = event.commit
        if (ref.plural === configMaps.plural && after?.metadata.name === ledgerName) {
          const owed = debtsOf(world())
          for (const child of owedSince.keys()) if (!owed.has(child)) owedSince.delete(child)
          for (const child of owed.keys()) if (!owedSince.has(child)) owedSince.set(child, event.at)
          return undefined
        }
        if (
          !isParent(event.commit) ||
          after !== undefined ||
          before === undefined ||
          !released.has(before.metadata.uid ?? "")
        )
          return undefined
        const debts = debtsOf(world())
        for (const [cluster, { sessionName }] of recordedChildren(before)) {
          const child = world().clusters.get(cluster)?.server.objects.peek(mirrordClusterSessions, sessionName)
          if (child === undefined || isLeaving(child) || debts.has(sessionName)) continue
          // A create whose answer was given up may be carried out later; the member ends such a child.
          if (pending.has(`${cluster} ${sessionName}`) && world().clusters.get(cluster)?.host.isGone === false) continue
          const uid = parentUidOf(child)
          if (uid === undefined ? parentNameOf(child) !== before.metadata.name : uid !== before.metadata.uid) continue
          return `${before.metadata.name} goes, its child in ${cluster} does not, and the ledger does not name it.`
        }
        return undefined
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
