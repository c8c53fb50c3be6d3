/**
 * Copies of targets, as a capability of an operator that serves one cluster: makes them, lists them, and says which pod
 * a session on a copy is for. Primaries make none, since a request does not say in which cluster.
 */

import { Clock, Effect, type Scope } from "effect"
import type { CopyImage } from "../../domain/copy-target/copied-pod.ts"
import { copyTarget } from "../../domain/copy-target/copy-info.ts"
import type { FleetConfiguration } from "../../domain/fleet/configuration.ts"
import type { CopyTarget } from "../../domain/resources/copy-target.ts"
import type { SessionBounds } from "../../domain/session/session-bounds.ts"
import type { ProtectedNamespaces } from "../../domain/target/protected-namespaces.ts"
import { formatTargetName } from "../../domain/target/target-path.ts"
import type { KubeApi } from "../../ports/kube-api.ts"
import type { Capability, CopyTargets } from "../api/capability.ts"
import { forbidden, notFound } from "../api/status.ts"
import { retryingApi } from "../kernel/retrying-api.ts"
import { type CopiedPods, type Copy, makeCopiedPods } from "./copied-pods.ts"
import { createCopy } from "./create-copy.ts"

/** The parts of the operator that this capability builds on. */
export interface CopyTargetGround {
  readonly api: KubeApi
  readonly fleet: FleetConfiguration | undefined
  readonly bounds: SessionBounds
  readonly protectedNamespaces: ProtectedNamespaces
  readonly copyImage: CopyImage | undefined
}

const infoOf =
  (copies: CopiedPods, now: number) =>
  (copy: Copy): CopyTarget =>
    copyTarget(copy.pod.metadata, copy.record, copies.state(copy, now), now)

/** The copies that sessions use; nothing as long as their capabilities have not read them. */
const usedCopies = (capabilities: ReadonlyArray<Capability>): ReadonlySet<string> | undefined =>
  capabilities.some(({ problems }) => (problems?.() ?? []).length > 0)
    ? undefined
    : new Set(
        capabilities.flatMap(({ sessions }) => sessions?.all().flatMap(({ copyTarget: used }) => used ?? []) ?? [])
      )

const absent = (namespace: string, name: string) =>
  notFound(
    `There is no copy target ${name} in namespace ${namespace}. A copy ends some seconds after its last session; start ` +
      "the program again to get a new one."
  )

const copyTargets = (copies: CopiedPods, create: CopyTargets["create"]): CopyTargets => ({
  create,
  list: (namespace) =>
    Effect.map(Clock.currentTimeMillis, (now) =>
      copies
        .all()
        .filter(({ pod }) => namespace === undefined || pod.metadata.namespace === namespace)
        .map(infoOf(copies, now))
    ),
  get: (namespace, name) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const copy = copies.find(namespace, name)
      if (copy === undefined) return Effect.fail(absent(namespace, name))
      // The client asks again and again while it waits, and asks no more when it has gone.
      copies.use(copy, now)
      return Effect.succeed(infoOf(copies, now)(copy))
    }),
  connect: (namespace, name, { userId }) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const copy = copies.find(namespace, name)
      if (copy === undefined) return Effect.fail(absent(namespace, name))
      const { container, owner, replaces } = copy.record
      if (owner.userId !== userId) return Effect.fail(forbidden(`The copy target ${name} belongs to another user.`))
      copies.use(copy, now)
      const target = formatTargetName({ _tag: "Workload", kind: "pod", name, container })
      return Effect.succeed({ target, scaledown: replaces !== undefined })
    })
})

/** `earlier`: the capabilities whose sessions may use copies. */
export const makeCopyTargetCapability = (
  { api, bounds, copyImage, fleet, protectedNamespaces }: CopyTargetGround,
  earlier: ReadonlyArray<Capability>
): Effect.Effect<Capability, never, Scope.Scope> =>
  Effect.gen(function* () {
    if (fleet !== undefined) return {}
    const awaited = retryingApi(api)
    const copies = yield* makeCopiedPods({ api, awaited, inUse: () => usedCopies(earlier) })
    const options = { awaited, copies, bounds, protectedNamespaces, image: copyImage }
    return {
      features: ["CopyTarget", "CopyTargetExcludeContainers"],
      started: copies.started,
      status: (now) => ({
        copy_targets: copies.all().map((copy) => ({
          pod_name: copy.pod.metadata.name,
          copy_target: infoOf(copies, now)(copy)
        }))
      }),
      copyTargets: copyTargets(copies, (request, owner) => createCopy(options, request, owner))
    }
  })
