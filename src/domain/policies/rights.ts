/** The rights for policies, which say what sessions may not do, and for the profiles that clients read. */

import type { Right, RightCard } from "../catalogue/right.ts"

const profiles = "profiles.mirrord.metalbear.co"

export const policyRights: RightCard = {
  operator: ["mirrordpolicies", "mirrordclusterpolicies"].map((resource): Right => ({
    scope: "cluster",
    group: "policies.mirrord.metalbear.co",
    resource,
    verbs: ["list", "watch"],
    without: "it is not known what sessions may not do, and none is served"
  })),
  developer: [
    {
      scope: "cluster",
      group: profiles,
      resource: "mirrordclusterprofiles",
      verbs: ["get", "list"],
      without: "no session can name a profile of the cluster"
    },
    {
      scope: "target-namespace",
      group: profiles,
      resource: "mirrordprofiles",
      verbs: ["get", "list"],
      without: "no session can name a profile of its namespace"
    }
  ]
}
