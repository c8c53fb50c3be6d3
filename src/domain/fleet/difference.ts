/**
 * The difference between two configurations of a running fleet: which members come, go, or are reached in another way,
 * and which changes only a restart brings.
 *
 * Not here: carrying it out (app/fleet).
 */

import * as Equal from "effect/Equal"
import * as Order from "effect/Order"
import type { ClusterName } from "./cluster-name.ts"
import type { ConfigurationMistake, FleetConfiguration, MemberConfiguration } from "./configuration.ts"
import type { ClusterAuth } from "./credentials/cluster-auth.ts"
import { MistakeList } from "./mistakes.ts"
import { multiClusterFile } from "./parse-configuration.ts"

/** The changes of the members, each list sorted by name. A cluster is in one list at most. */
export interface FleetDifference {
  /** Members that are new. */
  readonly engage: ReadonlyArray<MemberConfiguration>
  /** Members of which only the way to authenticate is another: their watches and links go on. */
  readonly reauthenticate: ReadonlyArray<MemberConfiguration>
  /** Members that may be another cluster now: they are connected to again. */
  readonly reengage: ReadonlyArray<MemberConfiguration>
  /** Members that are no longer configured. */
  readonly disengage: ReadonlyArray<ClusterName>
}

type Members = Pick<FleetConfiguration, "members">

/** Whether the credentials are in the kubeconfig that the cluster was found by. */
const isFound = ({ _tag }: ClusterAuth): boolean => _tag === "Kubeconfig"
const memberName = ({ name }: MemberConfiguration): ClusterName => name

/** The changes that lead from one configuration's members to another's, whatever their order. */
export const difference = (before: Members, after: Members): FleetDifference => {
  const known = new Map(before.members.map((member) => [member.name, member]))
  const wanted = new Set(after.members.map(memberName))
  const changed = after.members.filter((member) => !Equal.equals(known.get(member.name), member))
  const isNew = ({ name }: MemberConfiguration): boolean => !known.has(name)
  /** Whether it differs from what it was in nothing but `auth`, and has its credentials where it had them. */
  const hasOtherAuth = (member: MemberConfiguration): boolean => {
    const was = known.get(member.name)
    return (
      Equal.equals({ ...was, auth: member.auth }, { ...member }) &&
      isFound(was?.auth ?? member.auth) === isFound(member.auth)
    )
  }
  const stays = changed.filter((member) => !isNew(member))
  const sorted = (members: ReadonlyArray<MemberConfiguration>) =>
    members.toSorted(Order.mapInput(Order.String, memberName))
  return {
    engage: sorted(changed.filter(isNew)),
    reauthenticate: sorted(stays.filter(hasOtherAuth)),
    reengage: sorted(stays.filter((member) => !hasOtherAuth(member))),
    disengage: [...known.keys()].filter((name) => !wanted.has(name)).toSorted(Order.String)
  }
}

/** Settings that sessions and capabilities have read for good. */
const fixed = [
  "clusterName",
  "managementOnly",
  "defaultCluster",
  "sessionStart",
  "remoteSessionTimeoutSecs",
  "sessionTtlSecs"
] as const satisfies ReadonlyArray<Exclude<keyof FleetConfiguration, "members">>

/** The differences that a running operator cannot take up, as mistakes of the new configuration. */
export const needsRestart = (
  running: FleetConfiguration,
  found: FleetConfiguration
): ReadonlyArray<ConfigurationMistake> => {
  const list = new MistakeList(multiClusterFile)
  for (const field of fixed) {
    if (running[field] === found[field]) continue
    const was = JSON.stringify(running[field]) ?? "nothing"
    list.add(field, found[field], `the operator runs with ${was}`, "restart the operator, or set the former value back")
  }
  return list.mistakes
}
