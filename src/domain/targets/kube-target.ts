/**
 * A target as session resources hold it. The published kind requires apiVersion, kind and name of every target, so a
 * label target is one of kind `LabelSelector` whose name is the selector. An API server with the published definition
 * keeps all of it, and an operator that does not know the kind refuses it.
 *
 * Not here: the text forms that users write (target-path.ts).
 */

import * as Result from "effect/Result"
import type { KubeResourceTarget } from "../resources/session-shapes.ts"
import { labelSelectorText } from "./pod-selector.ts"
import { parseTargetPath } from "./target-path.ts"
import { kindAddress, type Target, targetKinds } from "./target.ts"

const labelKind = { apiVersion: "meta/v1", kind: "LabelSelector" } as const

/** Whether two session resources are for the same target. */
export const isSameTarget = (
  a: KubeResourceTarget | null | undefined,
  b: KubeResourceTarget | null | undefined
): boolean =>
  a === undefined || a === null || b === undefined || b === null
    ? (a ?? undefined) === (b ?? undefined)
    : a.apiVersion === b.apiVersion &&
      a.kind === b.kind &&
      a.name === b.name &&
      (a.container ?? undefined) === (b.container ?? undefined)

/** The target as session resources hold it; undefined for targetless. */
export const toKubeTarget = (target: Target): KubeResourceTarget | undefined => {
  if (target._tag === "Targetless") return undefined
  const container = target.container ?? ""
  if (target._tag === "Label") return { ...labelKind, name: labelSelectorText(target.labels), container }
  const { group, version, kind } = kindAddress(target.kind)
  return { apiVersion: group === "" ? version : `${group}/${version}`, kind, name: target.name, container }
}

/** Reads labels by the rules for users: a selector of another writer must not reach a request unchecked. */
const labelTarget = ({ container, name }: KubeResourceTarget): Target | undefined => {
  const target = parseTargetPath(`label/${name}${container === "" ? "" : `/container/${container}`}`)
  return Result.isSuccess(target) ? target.success : undefined
}

/** Reads a session resource's target; an absent target is targetless. Undefined for one that is no target. */
export const fromKubeTarget = (target: KubeResourceTarget | null | undefined): Target | undefined => {
  if (target === null || target === undefined) return { _tag: "Targetless" }
  if (target.kind === labelKind.kind) return labelTarget(target)
  const kind = targetKinds.find((known) => kindAddress(known).kind === target.kind)
  if (kind === undefined) return undefined
  return {
    _tag: "Workload",
    kind,
    name: target.name,
    container: target.container === "" ? undefined : target.container
  }
}
