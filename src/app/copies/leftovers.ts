/**
 * Looks for what another process has left: copies, and workloads that are scaled down for copies. An operator without
 * any of these follows no pods and no workloads, and asks for nothing more.
 */

import { Effect, type Scope } from "effect"
import { copyLabel } from "../../domain/copies/copy-record.ts"
import { scaledDownFrom } from "../../domain/copies/scaled-down.ts"
import { pods } from "../../domain/resources/core-kinds.ts"
import type { KubeApi, KubeError, KubeObject, ResourceRef } from "../../ports/kube-api.ts"
import { makeController } from "../kernel/controller.ts"
import { orIf } from "../kernel/or-if.ts"
import { isScalable, type PlacedWorkload, scalableKinds } from "./scaled-down-workloads.ts"

/** Milliseconds between two looks of a process that makes copies. An operator before it may have written late. */
const lookEvery = 600_000

export interface LeftoversOptions {
  readonly api: KubeApi
  /** Whether this process makes copies, and so looks again. */
  readonly isAwake: () => boolean
  /** There are copies. */
  readonly copies: Effect.Effect<void>
  /** These workloads are scaled down for copies. */
  readonly workloads: (found: ReadonlyArray<PlacedWorkload>) => Effect.Effect<void>
}

/** Objects with a label; a kind that the cluster does not know has none. */
export const labelled = (
  api: KubeApi,
  kind: ResourceRef,
  label: string
): Effect.Effect<ReadonlyArray<KubeObject>, KubeError> =>
  api.list(kind, { labelSelector: label }).pipe(
    Effect.map(({ items }) => items),
    orIf("NotFound", Effect.succeed([]))
  )

const look = ({ api, copies, workloads }: LeftoversOptions, kind: string): Effect.Effect<void, KubeError> =>
  isScalable(kind)
    ? Effect.flatMap(labelled(api, scalableKinds[kind], scaledDownFrom), (found) =>
        workloads(found.map(({ metadata }) => ({ kind, name: metadata.name, namespace: metadata.namespace ?? "" })))
      )
    : Effect.flatMap(labelled(api, pods, copyLabel), (found) => (found.length === 0 ? Effect.void : copies))

/** Looks for leftovers at once, and as long as the scope lives. A look that fails is repeated. */
export const findLeftovers = (options: LeftoversOptions): Effect.Effect<void, never, Scope.Scope> =>
  Effect.map(
    makeController({
      name: "CopyTargetLeftovers",
      reconcile: (kind) => Effect.map(look(options, kind), () => (options.isAwake() ? { after: lookEvery } : undefined))
    }),
    ({ enqueue }) => ["pod", ...Object.keys(scalableKinds)].forEach(enqueue)
  )
