/** Reads the target by which a branch finds its source: the template and none of its pods, since it may have none. */

import { Effect } from "effect"
import type { SourceTarget } from "../../domain/branches/source-environment.ts"
import { quoted } from "../../domain/clean-text.ts"
import { explainFailure } from "../../domain/resources/session-failure.ts"
import type { KubeResourceTarget } from "../../domain/resources/session-shapes.ts"
import { fromKubeTarget } from "../../domain/targets/kube-target.ts"
import { templateSource } from "../../domain/targets/pod-template.ts"
import { targetFailure } from "../../domain/targets/target-errors.ts"
import { formatTargetPath } from "../../domain/targets/target-path.ts"
import { kindAddress, type TargetKind } from "../../domain/targets/target.ts"
import { type KubeApi, KubeError, type KubeObject } from "../../ports/kube-api.ts"
import { BranchRefused } from "./branch-refused.ts"

interface LookUp {
  readonly api: KubeApi
  readonly namespace: string
  /** The target as its user names it. */
  readonly path: string
  readonly target: { readonly kind: TargetKind }
}

const get = (
  { api, namespace, path, target }: LookUp,
  kind: TargetKind,
  name: string
): Effect.Effect<KubeObject, KubeError | BranchRefused> =>
  Effect.mapError(api.get({ ...kindAddress(kind), scope: "Namespaced" }, name, namespace), (error) => {
    const { detail, reason } = error
    if (reason !== "NotFound" && reason !== "Forbidden") return error
    const failure = targetFailure(
      reason === "Forbidden"
        ? { _tag: "Forbidden", target: path, detail }
        : kind === target.kind
          ? { _tag: "NoSuchTarget", target: path, namespace }
          : { _tag: "NoSuchReference", target: path, reference: `${kind}/${name}`, namespace }
    )
    return new BranchRefused({ why: explainFailure(undefined, failure) })
  })

/** A target in a namespace. A target without a pod template, or that is not there, refuses the branch. */
export const sourceTarget = Effect.fnUntraced(function* (
  api: KubeApi,
  namespace: string,
  wanted: KubeResourceTarget
): Effect.fn.Return<SourceTarget, KubeError | BranchRefused> {
  const target = fromKubeTarget(wanted)
  if (target?._tag !== "Workload") {
    const found = quoted(`${wanted.kind} ${wanted.name}`)
    const why = `spec.target is ${found}; it must be a workload, such as a Deployment.`
    return yield* new BranchRefused({ why })
  }
  const { container } = target
  const path = formatTargetPath(target)
  const lookUp = { api, namespace, path, target }
  const noTemplate = new BranchRefused({
    why: `spec.target is ${path}, which has no pod template: name a workload that makes pods.`
  })
  const source = templateSource(target.kind, yield* get(lookUp, target.kind, target.name))
  if (source === undefined) return yield* noTemplate
  if (source._tag === "Template") return { template: source.template, container }
  const referred = templateSource(source.kind, yield* get(lookUp, source.kind, source.name))
  return referred?._tag === "Template" ? { template: referred.template, container } : yield* noTemplate
})
