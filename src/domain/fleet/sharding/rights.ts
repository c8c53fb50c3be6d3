/** The rights for replicas of a primary that share its members. Their objects are named after clusters and pods. */

import type { RightCard } from "../../catalogue/right.ts"
import { fleetSettings } from "../settings.ts"

export const shardingRights: RightCard = {
  operator: [
    {
      scope: "operator-namespace",
      group: "coordination.k8s.io",
      resource: "leases",
      verbs: ["get", "list", "watch", "patch", "delete"],
      when: ["primary"],
      whileOn: fleetSettings.sharding,
      without: "no replica owns a cluster, and no cluster is used"
    },
    {
      scope: "operator-namespace",
      group: "",
      resource: "configmaps",
      verbs: ["get", "patch", "delete"],
      when: ["primary"],
      whileOn: fleetSettings.sharding,
      without: "the leader does not hear of the clusters that other replicas watch"
    }
  ]
}
