/**
 * The virtual object BranchCredentials, which clients create to bring values for a database branch (operator-api.md
 * §1.8), and a primary in its default cluster. Its body has fields of its own and no metadata.
 */

import { operatorGroup } from "./operator-api.ts"

export const branchCredentials = {
  group: operatorGroup,
  version: "v1",
  plural: "branchcredentials",
  scope: "Cluster",
  kind: "BranchCredentials"
} as const
