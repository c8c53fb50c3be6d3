/**
 * The Leases of sharding: one for each replica, which says that it lives, and one for each thing that the replicas
 * share, which says whose it is. Their labels and times.
 *
 * Not here: what a Lease means for a candidate (leadership/lease.ts), and the names of the Leases of shared things.
 */

import type { OperatorPod } from "../leadership/identity.ts"
import type { LeaseTimes } from "../leadership/lease-times.ts"
import { ownerLabel } from "../sessions/names.ts"

/**
 * The times of these Leases, ms. They are longer than those of the leader, since there are hundreds of them: a Lease is
 * written every 5 s. With a replica that is lost, what it owned is free after 20 s.
 */
export const shardLeaseTimes: LeaseTimes = { leaseDuration: 20_000, renewDeadline: 14_000, retryPeriod: 5_000 }

/** Label on each Lease of sharding; its value says which sort it is. */
const leaseLabel = "operator.metalbear.co/shard-lease"

/** Selects the Leases of sharding. */
export const shardLeases = leaseLabel

/** Annotation on the Lease of a replica: its weight, a number. */
const weightAnnotation = "operator.metalbear.co/shard-weight"

export const replicaLeaseName = ({ name }: OperatorPod): string => `mirrord-operator-replica-${name}`

/** The labels on the Lease of a shared thing. `sort`: of the things. */
export const shardLeaseLabels = (sort: "cluster" | "queue") => ({ ...ownerLabel, [leaseLabel]: sort })

/** Kubernetes deletes the Lease with the pod. */
export const replicaLeaseMetadata = ({ name, uid }: OperatorPod, weight: number) => ({
  labels: { ...ownerLabel, [leaseLabel]: "replica" },
  annotations: { [weightAnnotation]: String(weight) },
  ownerReferences: [{ apiVersion: "v1", kind: "Pod", name, uid }]
})

/** The weight in the metadata of a replica's Lease; `undefined` if the Lease is no replica's. */
export const weightOf = (metadata: {
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly annotations?: Readonly<Record<string, string>> | undefined
}): number | undefined => {
  if (metadata.labels?.[leaseLabel] !== "replica") return undefined
  const weight = Number(metadata.annotations?.[weightAnnotation])
  return Number.isFinite(weight) && weight > 0 ? weight : 1
}
