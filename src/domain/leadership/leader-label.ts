/** The label by which the Service selects the leader's pod (operator-api.md §1.2). */
export const leaderLabel = "mirrord-operator-leader"

/** Selects every operator's pod that has the label. */
export const labelledPods = `app=mirrord-operator,${leaderLabel}=true`

/** What a patch of a pod's labels holds, to put the label on or to take it off. */
export const labelPatch = (isLeader: boolean, uid: string | undefined): object => ({
  metadata: { ...(uid === undefined ? {} : { uid }), labels: { [leaderLabel]: isLeader ? "true" : null } }
})
