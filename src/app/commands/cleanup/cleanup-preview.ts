/**
 * Says what `braid cleanup --apply` would end, and changes nothing.
 *
 * Not here: ending it (cleanup.ts).
 */

import { Effect } from "effect"
import { branchKinds } from "../../../domain/branches/branch-kinds.ts"
import { copyLabel } from "../../../domain/copies/copy-record.ts"
import { scaledDownFrom } from "../../../domain/copies/scaled-down.ts"
import { queueRecords } from "../../../domain/queues/stored-queue.ts"
import { splitPatches } from "../../../domain/queues/stored-split.ts"
import { branchEngines } from "../../../domain/resources/chart-switches.ts"
import { pods } from "../../../domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../domain/resources/mirrord-multi-cluster-session.ts"
import type { KubeApi, KubeError } from "../../../ports/kube-api.ts"
import { labelled } from "../../copies/leftovers.ts"
import { scalableKinds } from "../../copies/scaled-down-workloads.ts"
import { listed } from "./cleanup-objects.ts"
import { ownQueues, ownSplits } from "./cleanup-splits.ts"
import { type CleanupOptions, telling } from "./cleanup.ts"

type Wanted = Pick<CleanupOptions, "branches" | "copies" | "splitSecs">

interface Named {
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined }
}

/** One kind of object that would be ended. */
interface Part {
  /** Before and after the name of an object. */
  readonly words: readonly [before: string, after: string]
  readonly plural: string
  readonly found: Effect.Effect<ReadonlyArray<Named>, KubeError>
}

/** Splits by their workloads, and queues by their URLs. */
const splitParts = (api: KubeApi): ReadonlyArray<Part> => [
  {
    words: ["ending the split of queues of workload ", ""],
    plural: splitPatches.plural,
    found: Effect.map(ownSplits(api), (splits) => splits.map(([, { place }]) => ({ metadata: place })))
  },
  {
    words: ["ending temporary queue ", ""],
    plural: queueRecords.plural,
    found: Effect.map(ownQueues(api), (queues) => queues.map(([, { url }]) => ({ metadata: { name: url } })))
  }
]

const parts = (api: KubeApi, { branches, copies, splitSecs }: Wanted): ReadonlyArray<Part> => {
  const ofKind = (one: string, kind: Parameters<typeof listed>[1]): Part => ({
    words: [`ending ${one} `, ""],
    plural: kind.plural,
    found: listed(api, kind)
  })
  const copied = Object.values(scalableKinds).map((kind): Part => ({
    words: [`giving ${kind.kind} `, " its pods back"],
    plural: kind.plural,
    found: labelled(api, kind, scaledDownFrom)
  }))
  return [
    ofKind("multi-cluster session", mirrordMultiClusterSessions),
    ofKind("session", mirrordClusterSessions),
    ...(branches === true ? branchKinds(branchEngines).map(({ resource }) => ofKind("branch", resource)) : []),
    ...(copies === true
      ? [{ words: ["ending copy ", ""], plural: "pods", found: labelled(api, pods, copyLabel) } as const, ...copied]
      : []),
    ...(splitSecs === undefined ? [] : splitParts(api))
  ]
}

/** A line for each thing that would be done, and a sentence for each thing that cannot be seen. */
export const previewCleanup = Effect.fnUntraced(function* (
  api: KubeApi,
  options: Wanted
): Effect.fn.Return<{ readonly planned: ReadonlyArray<string>; readonly problems: ReadonlyArray<string> }> {
  const problems: Array<string> = []
  const tell = telling(problems)
  const planned = yield* Effect.forEach(parts(api, options), ({ found, plural, words: [before, after] }) =>
    Effect.map(tell(`listing the ${plural}`, found, []), (objects) =>
      objects.map(({ metadata: { name, namespace } }) => {
        const place = namespace === undefined ? name : `${name} in namespace ${namespace}`
        return `${before}${place}${after}`
      })
    )
  )
  return { planned: planned.flat(), problems }
})
