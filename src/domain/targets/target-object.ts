/**
 * The virtual object Target: a target of sessions as clients read it (operator-api.md §6.4, §6.5). Nothing stores it.
 *
 * Not here: a target as sessions hold it (kube-target.ts).
 */

import { operatorGroupVersion } from "../resources/operator-api.ts"
import { targets } from "../resources/target.ts"
import { targetJson } from "./target-json.ts"
import type { Target } from "./target.ts"

/** `name`: the target as a request names it. `more`: further fields of the spec. */
export const targetObject = (namespace: string, name: string, target: Target, more: object = {}): object => ({
  apiVersion: operatorGroupVersion,
  kind: targets.kind,
  metadata: { name, namespace },
  spec: { target: targetJson(target), ...more }
})
