/**
 * The virtual object Target: a target of sessions as clients read it (operator-api.md §6.4, §6.5). Nothing stores it.
 *
 * Not here: a target as sessions hold it (domain/target/kube-target.ts).
 */

import { targetJson } from "../target/target-json.ts"
import type { Target } from "../target/target.ts"
import { operatorGroup, operatorGroupVersion } from "./operator-api.ts"

/** Where targets are asked for, as a primary does in its default cluster. */
export const targets = {
  group: operatorGroup,
  version: "v1",
  plural: "targets",
  scope: "Namespaced",
  kind: "Target"
} as const

/** `name`: the target as a request names it. `more`: further fields of the spec. */
export const targetObject = (namespace: string, name: string, target: Target, more: object = {}): object => ({
  apiVersion: operatorGroupVersion,
  kind: targets.kind,
  metadata: { name, namespace },
  spec: { target: targetJson(target), ...more }
})
