/**
 * The label on the leader's pod, by which the Service sends requests to the leader.
 *
 * Not here: when it is put on and taken off (app/leadership).
 */

/** The label by which the Service selects the leader's pod (operator-api.md §1.2). */
export const leaderLabel = "mirrord-operator-leader"

/** Selects the operators' pods that have the label. */
export const labelledPods = `app=mirrord-operator,${leaderLabel}=true`

/** The merge patch that puts the label on a pod, or takes it off. `uid`: only on this very pod. */
export const labelPatch = (isLeader: boolean, uid: string | undefined): object => ({
  metadata: { ...(uid === undefined ? {} : { uid }), labels: { [leaderLabel]: isLeader ? "true" : null } }
})
