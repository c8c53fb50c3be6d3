/**
 * The actions by which a primary carries a session on, as plain data.
 *
 * Not here: which action is next (session-plan.ts), and performing it (app/sessions/primary).
 */

import type { ClusterName } from "../fleet/cluster-name.ts"
import type { MergePatch } from "../resources/merge-patch.ts"
import type { MirrordClusterSessionSpec } from "../resources/mirrord-cluster-session.ts"
import type { Precondition } from "../resources/object-meta.ts"

/** A child to be created with POST as it stands. */
export interface NewChild {
  readonly metadata: {
    readonly name: string
    readonly labels: Readonly<Record<string, string>>
    readonly annotations: Readonly<Record<string, string>>
  }
  readonly spec: MirrordClusterSessionSpec
}

/**
 * An action of a primary for one session. At most one action of a plan writes the parent. Actions may be executed in
 * any order, and any of them may fail or be skipped: the next plan starts from what is then observed.
 */
export type SessionAction =
  | { readonly _tag: "AddFinalizer"; readonly finalizer: string; readonly precondition: Precondition }
  /** Write the clusters that the session runs in into the parent's spec: new ones have joined the fleet. */
  | {
      readonly _tag: "JoinClusters"
      readonly clusters: ReadonlyArray<ClusterName>
      readonly precondition: Precondition
    }
  /** Write children's names into the parent's status (merge patch of `status`); they are created by a later plan. */
  | {
      readonly _tag: "RecordChild"
      readonly children: ReadonlyArray<{ readonly cluster: ClusterName; readonly childName: string }>
      readonly patch: MergePatch
      readonly precondition: Precondition
    }
  /** POST; 409 AlreadyExists is success, the watch will tell what is there. */
  | { readonly _tag: "CreateChild"; readonly cluster: ClusterName; readonly child: NewChild }
  /** DELETE with background propagation; 404 is success and confirms absence. `uid`: precondition where known. */
  | {
      readonly _tag: "DeleteChild"
      readonly cluster: ClusterName
      readonly childName: string
      readonly uid: string | undefined
    }
  /** Merge patch of the parent's `status` through the status subresource. */
  | { readonly _tag: "PatchStatus"; readonly patch: MergePatch; readonly precondition: Precondition }
  /**
   * Write a child that could not be deleted in time into the ledger, which outlives the parent. The debt is paid when
   * the cluster returns.
   */
  | {
      readonly _tag: "RecordDebt"
      readonly cluster: ClusterName
      readonly childName: string
      readonly parentUid: string
    }
  | { readonly _tag: "RemoveFinalizer"; readonly finalizer: string; readonly precondition: Precondition }
  /**
   * Delete the parent; `why` is for log and Event. `staysStopped`: its client must get no other session under this id.
   */
  | {
      readonly _tag: "DeleteParent"
      readonly why: string
      readonly precondition: Precondition
      readonly staysStopped?: true
    }
  /** Plan again at this time (epoch ms, in the future) if nothing happens before. */
  | { readonly _tag: "RequeueAt"; readonly at: number }
