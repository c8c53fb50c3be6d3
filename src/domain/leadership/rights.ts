/** The rights for the election of the leader, and for the label by which requests find its pod. */

import type { Right, RightCard } from "../catalogue/right.ts"

const leases = { scope: "operator-namespace", group: "coordination.k8s.io", resource: "leases" } as const
const noLeader = "no leader is elected, and nothing is served"

const operator: ReadonlyArray<Right> = [
  // A create names no object to which a rule could be limited.
  { ...leases, verbs: ["create"], without: noLeader },
  { ...leases, name: "mirrord-operator", verbs: ["get", "patch"], without: noLeader },
  {
    ...leases,
    name: "mirrord-operator",
    verbs: ["watch"],
    without: "who stands by leads up to seconds later than it could"
  },
  {
    // The names of pods, whose label comes and goes with the lead, are not known before.
    scope: "operator-namespace",
    group: "",
    resource: "pods",
    verbs: ["list", "patch"],
    without: "the leader's pod gets no label, and no request finds it"
  }
]

export const leadershipRights: RightCard = { operator }
