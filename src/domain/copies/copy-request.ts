/**
 * Reads the request for a copy of a target, and refuses what no copy can be made of. In a session over many clusters
 * the client checks nothing, so each wish that is not served is refused here (operator-api.md §9.3).
 *
 * Not here: whether the target exists (copy-source.ts), who may ask, and which splits of queues are served
 * (app/copies).
 */

import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { at, isObject, type JsonObject } from "../json.ts"
import { CopyTargetSpec } from "../resources/copy-target.ts"
import { fieldProblems } from "../resources/resource-descriptor.ts"
import type { ConnectParams } from "../sessions/connect-request.ts"
import { parseTargetJson } from "../targets/target-json.ts"
import { formatTargetPath } from "../targets/target-path.ts"
import type { Target, TargetKind } from "../targets/target.ts"
import { copySplits } from "./copy-splits.ts"

/** A target of which a copy can be made. */
export type CopiedTarget = Extract<Target, { readonly _tag: "Workload" }>

/** A request for a copy that could be read. */
export interface CopyRequest {
  readonly target: CopiedTarget
  /** The target's path form, for sentences. */
  readonly path: string
  /** `spec` as it came. */
  readonly sent: JsonObject
  readonly spec: CopyTargetSpec
  readonly scaleDown: boolean
  /** The connect parameters that ask for the splits of queues that the copy is for. */
  readonly splits: ConnectParams
}

/** Longest time that an unused copy may be kept for, in seconds. The real client asks for 30. */
const maxIdleTtl = 3_600

/** Kinds whose pods a copy can replace, since their number can be set (operator-api.md §9.5). */
const scalable: ReadonlySet<TargetKind> = new Set(["deployment", "statefulset", "replicaset", "rollout"])

const copied = (target: Target): Result.Result<CopiedTarget, string> => {
  if (target._tag === "Workload" && target.kind !== "service") return Result.succeed(target)
  const found = formatTargetPath(target)
  const what =
    target._tag === "Targetless" ? "Without a target there is nothing to copy" : `${found} has no pod template`
  return Result.fail(
    `${what}: a copy is made of a deployment, rollout, statefulset, replicaset, job, cronjob or pod. Name one of ` +
      "these, or take feature.copy_target out."
  )
}

/** The wish of a readable spec that is not served, as a sentence. */
const unserved = (target: CopiedTarget, spec: CopyTargetSpec): string | undefined => {
  const path = formatTargetPath(target)
  if (spec.scale_down === true && !scalable.has(target.kind))
    return (
      `${path} cannot be scaled down: only a deployment, rollout, statefulset or replicaset can. Take ` +
      "feature.copy_target.scale_down out."
    )
  if ((spec.idle_ttl ?? 0) > maxIdleTtl)
    return `spec.idle_ttl is ${spec.idle_ttl} s; an unused copy is kept for at most ${maxIdleTtl} s.`
  if (target.container !== undefined && spec.exclude_containers?.includes(target.container) === true)
    return (
      `spec.exclude_containers excludes ${target.container}, the container that ${path} names; take it out of ` +
      "feature.copy_target.exclude_containers, or name another container."
    )
  return undefined
}

/** Reads the body of a request for a copy; fails with a sentence for the client. */
export const readCopyRequest = (body: unknown): Result.Result<CopyRequest, string> =>
  Result.gen(function* () {
    const sent = at(body, "spec")
    if (!isObject(sent)) return yield* Result.fail("spec: found none; a copy target has a spec.")
    const spec = yield* Result.mapError(
      Schema.decodeUnknownResult(CopyTargetSpec, { errors: "all" })(sent),
      (error) =>
        `${fieldProblems(error)
          .map(({ message, path }) => `spec.${path}: ${message}`)
          .join("; ")}.`
    )
    const named = yield* Result.mapError(parseTargetJson(spec.target), (problem) => `spec.target: ${problem}.`)
    const target = yield* copied(named)
    const problem = unserved(target, spec)
    if (problem !== undefined) return yield* Result.fail(problem)
    const splits = yield* copySplits(spec)
    return { target, path: formatTargetPath(target), sent, spec, scaleDown: spec.scale_down === true, splits }
  })
