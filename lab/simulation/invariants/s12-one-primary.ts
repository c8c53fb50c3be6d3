/**
 * S12. A member serves the primary that its Lease names: two primaries would take each other's ports, and each would
 * count only its own sessions.
 */

import { identityNamespace } from "../../../src/domain/fleet/cluster-identity.ts"
import { at } from "../../../src/domain/json.ts"
import { findCondition } from "../../../src/domain/resources/condition.ts"
import { leases, namespaces } from "../../../src/domain/resources/core-kinds.ts"
import { readyCondition } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { childAnnotations } from "../../../src/domain/sessions/names.ts"
import { primaryLeaseName } from "../../../src/domain/sessions/primary-claim.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"
import type { Commit } from "../../memory/memory-objects.ts"
import type { Invariant } from "./invariant.ts"
import { conditionsOf, isChild } from "./session-objects.ts"

const isReady = (child: KubeObject | undefined): boolean =>
  child !== undefined && findCondition(conditionsOf(child), readyCondition)?.status === "True"

export const onePrimary: Invariant = {
  id: "S12",
  sentence: "No child becomes ready in a cluster that serves another primary.",
  begin: () => {
    /** By cluster: the primary that its Lease names, and its own UID. */
    const holders = new Map<string, unknown>()
    const uids = new Map<string, string | undefined>()
    const note = (cluster: string, { after, before, ref }: Commit): void => {
      const { name, uid } = (after ?? before)?.metadata ?? {}
      if (ref.plural === namespaces.plural && name === identityNamespace) uids.set(cluster, uid)
      if (ref.plural === leases.plural && name === primaryLeaseName)
        holders.set(cluster, at(after, "spec", "holderIdentity"))
    }
    return {
      on: {
        Committed: ({ cluster, commit }) => {
          note(cluster, commit)
          const { after, before } = commit
          if (!isChild(commit) || after === undefined || !isReady(after) || isReady(before)) return undefined
          const primary = after.metadata.annotations?.[childAnnotations.primaryUid]
          const holder = holders.get(cluster)
          if (primary === undefined || holder === undefined) return undefined
          return primary === holder || primary === uids.get(cluster)
            ? undefined
            : `${after.metadata.name} of the primary ${primary} is ready in ${cluster}, which serves ${String(holder)}.`
        }
      }
    }
  }
}
