/**
 * Copies of targets, as a capability of an operator that serves one cluster: makes them, lists them, and says which pod
 * a session on a copy is for. Primaries make none, since a request does not say in which cluster.
 */

import { Clock, Effect, Option, Result, type Scope } from "effect"
import type { CopyImage } from "../../domain/copy-target/copied-pod.ts"
import { copyTarget } from "../../domain/copy-target/copy-info.ts"
import type { FleetConfiguration } from "../../domain/fleet/configuration.ts"
import type { CopyTarget } from "../../domain/resources/copy-target.ts"
import type { SessionBounds } from "../../domain/session/session-bounds.ts"
import type { ProtectedNamespaces } from "../../domain/target/protected-namespaces.ts"
import { parseTargetJson } from "../../domain/target/target-json.ts"
import { formatTargetName, formatTargetPath } from "../../domain/target/target-path.ts"
import type { Target } from "../../domain/target/target.ts"
import type { KubeApi } from "../../ports/kube-api.ts"
import type { Capability, CopyTargets, FurtherStatus } from "../api/capability.ts"
import { askLimits } from "../api/session-limits.ts"
import { type ApiError, forbidden, internalError, notFound } from "../api/status.ts"
import { retryingApi } from "../kernel/retrying-api.ts"
import { type CopiedPods, type Copy, makeCopiedPods } from "./copied-pods.ts"
import { createCopy, type CreateCopyOptions } from "./create-copy.ts"
import { findLeftovers } from "./leftovers.ts"

/** How long a request waits for the copies to be read. */
const patience = "8 seconds"

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

const statusOf = (copies: CopiedPods, now: number): NonNullable<FurtherStatus["copy_targets"]> =>
  copies.all().map((copy) => ({ pod_name: copy.pod.metadata.name, copy_target: infoOf(copies, now)(copy) }))

/** The copies that sessions use; nothing as long as their capabilities have not read them. */
const usedCopies = (capabilities: ReadonlyArray<Capability>): ReadonlySet<string> | undefined =>
  capabilities.some(({ problems }) => (problems?.() ?? []).length > 0)
    ? undefined
    : new Set(
        capabilities.flatMap(({ sessions }) => sessions?.all().flatMap(({ copyTarget: used }) => used ?? []) ?? [])
      )

const absent = (namespace: string, name: string) =>
  notFound(
    `There is no copy target ${name} in namespace ${namespace}. A copy ends some seconds after its last session; ` +
      "start the program again to get a new one."
  )

/** A copy that a client asks for, which counts as a use of it. */
const asked = (copies: CopiedPods, namespace: string, name: string) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const copy = copies.find(namespace, name)
    if (copy === undefined) return Effect.fail(absent(namespace, name))
    copies.use(copy, now)
    return Effect.succeed({ copy, now })
  })

/** `awake`: the copies when they have been read. */
const copyTargets = (
  awake: Effect.Effect<CopiedPods, ApiError>,
  create: (copies: CopiedPods) => CopyTargets["create"],
  permitted: CreateCopyOptions["permitted"]
): CopyTargets => ({
  create: (request, owner) => Effect.flatMap(awake, (copies) => create(copies)(request, owner)),
  list: (namespace) =>
    Effect.gen(function* () {
      const copies = yield* awake
      const wanted = copies.all().filter(({ pod }) => namespace === undefined || pod.metadata.namespace === namespace)
      return wanted.map(infoOf(copies, yield* Clock.currentTimeMillis))
    }),
  // The client asks again and again while it waits, and asks no more when it has gone.
  get: (namespace, name) =>
    Effect.gen(function* () {
      const copies = yield* awake
      const { copy, now } = yield* asked(copies, namespace, name)
      return infoOf(copies, now)(copy)
    }),
  connect: (namespace, name, { userId }) =>
    Effect.gen(function* () {
      const { copy } = yield* asked(yield* awake, namespace, name)
      const { container, owner, replaces } = copy.record
      if (owner.userId !== userId) return yield* forbidden(`The copy target ${name} belongs to another user.`)
      const copied = parseTargetJson(copy.record.spec["target"])
      if (Result.isSuccess(copied)) yield* permitted(namespace, copied.success)
      const target = formatTargetName({ _tag: "Workload", kind: "pod", name, container })
      return { target, scaledown: replaces !== undefined }
    })
})

/** Refuses copies of targets that policies hold for: the relay does not know that the pod of a copy is their target. */
const permittedBy =
  (capabilities: ReadonlyArray<Capability>) =>
  (namespace: string, target: Target): Effect.Effect<void, ApiError> => {
    const asked = askLimits(capabilities)({ namespace, target, containers: undefined, profile: undefined })
    return Effect.flatMap(asked, (limits) => {
      const names = (limits?.policies.policies ?? []).map(({ name }) => `"${name}"`).join(", ")
      return names === ""
        ? Effect.void
        : Effect.fail(
            forbidden(
              `mirrord policies hold for ${formatTargetPath(target)} (${names}), and this operator does not apply ` +
                "policies to copies of targets yet. Take feature.copy_target out, or ask an administrator."
            )
          )
    })
  }

/** Fails with a sentence if the copies cannot be read in time. */
const whenRead = (copies: CopiedPods): Effect.Effect<CopiedPods, ApiError> =>
  Effect.flatMap(Effect.timeoutOption(copies.started, patience), (read) =>
    Option.isSome(read)
      ? Effect.succeed(copies)
      : Effect.fail(internalError("The copies of targets have not been read yet. Try again in a moment."))
  )

/**
 * `earlier`: the capabilities whose sessions may use copies. An operator without copies follows no pods: it begins with
 * the first request, or when it finds what another process has left.
 */
export const makeCopyTargetCapability = (
  { api, bounds, copyImage, fleet, protectedNamespaces }: CopyTargetGround,
  earlier: ReadonlyArray<Capability>
): Effect.Effect<Capability, never, Scope.Scope> =>
  Effect.gen(function* () {
    if (fleet !== undefined) return {}
    // Requests come with the host's clock, which may jump, and with scopes of their own.
    const ground = yield* Effect.context<Scope.Scope>()
    const awaited = retryingApi(api)
    const permitted = permittedBy(earlier)
    let copies: CopiedPods | undefined
    const wake = yield* Effect.cached(
      makeCopiedPods({ api, awaited, inUse: () => usedCopies(earlier) }).pipe(
        Effect.tap((made) => Effect.sync(() => (copies = made))),
        Effect.uninterruptible,
        Effect.provideContext(ground)
      )
    )
    yield* findLeftovers({
      api,
      isAwake: () => copies !== undefined,
      copies: Effect.asVoid(wake),
      workloads: (found) =>
        found.length === 0 ? Effect.void : Effect.map(wake, ({ workloads }) => found.forEach(workloads.look))
    })
    const served = copyTargets(
      Effect.flatMap(wake, whenRead),
      (made) => (request, owner) =>
        createCopy({ awaited, copies: made, bounds, protectedNamespaces, image: copyImage, permitted }, request, owner),
      permitted
    )
    const here = <A, E>(request: Effect.Effect<A, E>): Effect.Effect<A, E> => Effect.provideContext(request, ground)
    return {
      features: ["CopyTarget", "CopyTargetExcludeContainers"],
      status: (now) => ({ copy_targets: copies === undefined ? [] : statusOf(copies, now) }),
      copyTargets: {
        create: (request, owner) => here(served.create(request, owner)),
        list: (namespace) => here(served.list(namespace)),
        get: (namespace, name) => here(served.get(namespace, name)),
        connect: (namespace, name, owner) => here(served.connect(namespace, name, owner))
      }
    }
  })
