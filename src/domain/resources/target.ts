/** Where targets are asked for, as a primary does in its default cluster. Their shape: target/target-object.ts. */

import { operatorGroup } from "./operator-api.ts"

export const targets = {
  group: operatorGroup,
  version: "v1",
  plural: "targets",
  scope: "Namespaced",
  kind: "Target"
} as const
