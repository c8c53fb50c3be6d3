/** The rights for configurations of stolen TLS, which say where the certificates of targets are. */

import type { Right, RightCard } from "../../catalogue/right.ts"

export const tlsRights: RightCard = {
  operator: ["mirrordtlsstealconfigs", "mirrordclustertlsstealconfigs"].map((resource): Right => ({
    scope: "cluster",
    group: "mirrord.metalbear.co",
    resource,
    verbs: ["list", "watch"],
    when: ["workloads"],
    without: "it is not known which ports of targets serve TLS, and no session is served"
  }))
}
