/**
 * The workload clusters of a primary, for capabilities that have parts in them. The sessions over many clusters provide
 * it; the fleet itself is theirs.
 */

import { Context } from "effect"
import type { ClusterName } from "../../domain/fleet/cluster-name.ts"
import type { ClusterReadiness, ServedCluster } from "../../domain/fleet/cluster-object.ts"
import type { Feature } from "../../domain/resources/mirrord-operator.ts"
import type { KubeApi, KubeObject } from "../../ports/kube-api.ts"

/** A workload cluster that a primary reaches. */
export interface ReachedCluster {
  readonly name: ClusterName
  readonly isDefault: boolean
  /** Missing while the cluster cannot be asked. */
  readonly api: () => KubeApi | undefined
  /** Why the cluster counts as lost, if it does; one sentence. */
  readonly lost: () => string | undefined
  /** The sessions there as they were seen last, for lists. */
  readonly sessions?: (() => ReadonlyArray<KubeObject>) | undefined
  /** The features of branches that its operator has reported last; `undefined` if it has not answered yet. */
  readonly branchFeatures?: (() => ReadonlyArray<Feature> | undefined) | undefined
}

export class FleetView extends Context.Service<
  FleetView,
  {
    /** As people see them. `now`: epoch ms. */
    readonly objects: (now: number) => ReadonlyArray<ServedCluster>
    /** Whether new sessions take each of them in; cheap enough for each second. */
    readonly readiness: (now: number) => ReadonlyMap<ClusterName, ClusterReadiness>
    /** As the operator uses them. */
    readonly clusters: () => ReadonlyArray<ReachedCluster>
  }
>()("braid/app/FleetView") {}

/** The view of an operator without a fleet. */
export const noFleet: FleetView["Service"] = { objects: () => [], readiness: () => new Map(), clusters: () => [] }
