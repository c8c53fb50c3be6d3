/**
 * The rights of a primary whose default cluster is another one: at itself, for branches that users order there, and in
 * the default cluster, where these are made.
 */

import type { RightCard } from "../../catalogue/right.ts"
import { operatorGroup } from "../../resources/operator-api.ts"
import { followingBranches, onBranchKinds } from "../rights.ts"

const noOrders = "no branch of a database is made for sessions over many clusters"

export const orderedBranchRights: RightCard = {
  operator: followingBranches("orderedBranches", noOrders),
  member: [
    ...onBranchKinds({
      verbs: ["get", "list", "watch", "create", "patch", "delete"],
      when: ["branching"],
      without: noOrders
    }),
    {
      scope: "cluster",
      group: operatorGroup,
      resource: "branchcredentials",
      verbs: ["create"],
      when: ["branching"],
      without: "no branch is made for sessions over many clusters whose connection has values of the client's own"
    }
  ]
}
