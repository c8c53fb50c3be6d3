/**
 * N23 (failures.md §3.24, §4.30). The Lease of a member says at every moment whose it is: reports on it and tokens for
 * it come from this replica alone.
 */

import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { clusterName, refreshedSecretName } from "../../../src/domain/fleet/cluster-name.ts"
import { reportName } from "../../../src/domain/fleet/sharding/report-names.ts"
import { configMaps, secrets } from "../../../src/domain/resources/core-kinds.ts"
import { isOfKind } from "../story/call-kind.ts"
import type { PortCall } from "../world/world-event.ts"
import type { World } from "../world/world.ts"
import type { Invariant } from "./invariant.ts"
import { isSharded, membersOf, namedOwner } from "./shards.ts"

const isReportOn = (call: PortCall, member: string): boolean =>
  call.resource === configMaps.plural && call.name === reportName(clusterName(member), sha256Hex)

/** The member for which only its owner may make a call. */
const ownedMember = (world: World, call: PortCall): string | undefined => {
  if (call.operator !== world.plan.primary || !isSharded(world)) return undefined
  if (call.to !== world.plan.primary) return isOfKind(call, "tokens") ? call.to : undefined
  if (call.verb !== "create" && call.verb !== "patch") return undefined
  return membersOf(world).find(
    (member) =>
      isReportOn(call, member) ||
      (call.resource === secrets.plural && call.name === refreshedSecretName(clusterName(member), sha256Hex))
  )
}

export const oneOwnerActs: Invariant = {
  id: "N23",
  sentence: "Where members are shared among replicas, only a member's owner reports on it and renews its token.",
  begin: (world) => ({
    on: {
      Called: ({ call, process }) => {
        const member = isSharded(world()) ? ownedMember(world(), call) : undefined
        if (member === undefined) return undefined
        const caller = world().primary.host.replicas.find((replica) => replica.process?.name === process)
        const owner = namedOwner(world(), member)
        return caller?.pod !== undefined && caller.pod.name === owner
          ? undefined
          : `${process} calls ${call.verb} ${call.resource} for ${member}, which ${owner ?? "nobody"} owns.`
      }
    }
  })
}
