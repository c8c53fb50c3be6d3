/**
 * Which object describes the queues of a workload. A MirrordSplitConfig wins over a registry, which is the older kind.
 * Several of one kind are refused: each could split queues in its own way.
 *
 * Not here: the contents of the objects (split-config-reader.ts, queue-registry-reader.ts).
 */

import * as Result from "effect/Result"
import { quoted } from "../clean-text.ts"
import type { MirrordSplitConfig } from "../resources/queues/mirrord-split-config.ts"
import type { MirrordWorkloadQueueRegistry } from "../resources/queues/mirrord-workload-queue-registry.ts"
import { kindAddress, type TargetKind } from "../targets/target.ts"

/** A workload whose queues a session splits. */
export interface SplitWorkload {
  readonly namespace: string
  readonly kind: TargetKind
  readonly name: string
  /** The session's container, named by the user or chosen by the operator; empty if there is none. */
  readonly container: string
}

/** The objects of the workload's namespace. */
export interface SplitObjects {
  readonly splitConfigs: ReadonlyArray<MirrordSplitConfig>
  readonly registries: ReadonlyArray<MirrordWorkloadQueueRegistry>
}

/** The object that counts. */
export type ChosenConfiguration =
  | { readonly _tag: "SplitConfig"; readonly object: MirrordSplitConfig }
  | { readonly _tag: "Registry"; readonly object: MirrordWorkloadQueueRegistry }

/** Why no object counts. `why`: a sentence that names what was found instead. */
export interface ConfigurationProblem {
  readonly _tag: "None" | "Several"
  readonly why: string
}

/** Whether a split config is for the workload. The version of the kind's API does not matter. */
const isForWorkload = ({ kind, name }: SplitWorkload, { spec: { targetRef } }: MirrordSplitConfig): boolean => {
  const address = kindAddress(kind)
  const [group] = targetRef.apiVersion.includes("/") ? targetRef.apiVersion.split("/", 1) : [""]
  return targetRef.kind === address.kind && targetRef.name === name && group === address.group
}

/** Whether a registry is for the session: one without a container is for all of them. */
const isForSession = (
  { container, kind, name }: SplitWorkload,
  { spec: { consumer } }: MirrordWorkloadQueueRegistry
): boolean =>
  consumer.workloadType === kindAddress(kind).kind &&
  consumer.name === name &&
  (consumer.container ?? container) === container

const named = (objects: ReadonlyArray<{ readonly metadata: { readonly name: string } }>): ReadonlyArray<string> =>
  objects.map(({ metadata }) => quoted(metadata.name)).toSorted()

/** `kind`: in the plural. */
const tooMany = (
  kind: string,
  objects: Parameters<typeof named>[0],
  { name, namespace }: SplitWorkload
): Result.Result<never, ConfigurationProblem> =>
  Result.fail({
    _tag: "Several",
    why:
      `The ${kind} ${named(objects).join(" and ")} in the namespace ${namespace} are all for the workload ` +
      `${quoted(name)}: keep one of them.`
  })

/** The longest list of objects in a sentence. */
const maxListed = 20

const none = (
  { container, kind, name, namespace }: SplitWorkload,
  { registries, splitConfigs }: SplitObjects
): Result.Result<never, ConfigurationProblem> => {
  const all = [
    ...splitConfigs.map(({ metadata, spec }) => `${metadata.name} (${spec.targetRef.kind} ${spec.targetRef.name})`),
    ...registries.map(({ metadata, spec: { consumer } }) => {
      const part = (consumer.container ?? "") === "" ? "" : `, container ${consumer.container}`
      return `${metadata.name} (${consumer.workloadType} ${consumer.name}${part})`
    })
  ].toSorted()
  const more = all.length > maxListed ? ` and ${all.length - maxListed} more` : ""
  const own = container === "" ? "" : `, container ${quoted(container)}`
  const found = all.length === 0 ? "none at all" : `${all.slice(0, maxListed).map(quoted).join(", ")}${more}`
  return Result.fail({
    _tag: "None",
    why:
      `No MirrordSplitConfig or MirrordWorkloadQueueRegistry in the namespace ${namespace} is for the ` +
      `${kindAddress(kind).kind} ${quoted(name)}${own}; there is ${found}. Create one, or ` +
      "take feature.split_queues out."
  })
}

/** The object for a session's workload. */
export const chooseConfiguration = (
  workload: SplitWorkload,
  objects: SplitObjects
): Result.Result<ChosenConfiguration, ConfigurationProblem> => {
  const splitConfigs = objects.splitConfigs.filter((one) => isForWorkload(workload, one))
  const registries = objects.registries.filter((one) => isForSession(workload, one))
  const [splitConfig, otherConfig] = splitConfigs
  const [registry, otherRegistry] = registries
  if (otherConfig !== undefined) return tooMany("MirrordSplitConfigs", splitConfigs, workload)
  if (splitConfig !== undefined) return Result.succeed({ _tag: "SplitConfig", object: splitConfig })
  if (otherRegistry !== undefined) return tooMany("MirrordWorkloadQueueRegistries", registries, workload)
  return registry === undefined ? none(workload, objects) : Result.succeed({ _tag: "Registry", object: registry })
}
