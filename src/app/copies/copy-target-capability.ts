/**
 * Copies of targets, as a capability of every operator. In a cluster with workloads it makes them, lists them, and says
 * which pod a session on a copy is for; a primary orders them from its clusters (fleet-copies.ts).
 */

import { type Context, Effect, Option, type Scope } from "effect"
import type { CopyImage } from "../../domain/copies/copied-pod.ts"
import { clusterSlug } from "../../domain/fleet/cluster-name.ts"
import type { FleetConfiguration } from "../../domain/fleet/configuration.ts"
import type { SessionBounds } from "../../domain/sessions/session-bounds.ts"
import type { ProtectedNamespaces } from "../../domain/targets/protected-namespaces.ts"
import type { KubeApi, KubeError } from "../../ports/kube-api.ts"
import type { Capability, CopyTargets, FurtherStatus } from "../api/capability.ts"
import { type ApiError, internalError } from "../api/status.ts"
import { makeInTurn } from "../kernel/in-turn.ts"
import { retryingApi } from "../kernel/retrying-api.ts"
import { sha256Hex } from "../kernel/sha256-hex.ts"
import { type CopiedPods, makeCopiedPods } from "./copied-pods.ts"
import { makeInPlace } from "./copy-places.ts"
import type { CreateCopyOptions } from "./create-copy.ts"
import { type FleetCopies, makeFleetCopies } from "./fleet-copies.ts"
import { findLeftovers } from "./leftovers.ts"
import { copiesHere, statusOf } from "./local-copies.ts"

/** How long a request waits for the copies to be read. */
const patience = "8 seconds"

/** The parts of the operator that this capability builds on. */
export interface CopyTargetGround {
  readonly api: KubeApi
  readonly fleet: FleetConfiguration | undefined
  readonly bounds: SessionBounds
  readonly protectedNamespaces: ProtectedNamespaces
  readonly copyImage: CopyImage | undefined
  /** Whether targets are copied; otherwise the operator may not change workloads, and nothing here runs. */
  readonly makesCopies: boolean
}

/** The copies that sessions use; nothing as long as their capabilities have not read them. */
const usedCopies = (capabilities: ReadonlyArray<Capability>): ReadonlySet<string> | undefined =>
  capabilities.some(({ problems }) => (problems?.() ?? []).length > 0)
    ? undefined
    : new Set(capabilities.flatMap(({ usedCopies: used }) => used?.() ?? []))

/** The same, read from the API server. */
const storedCopyUses = (capabilities: ReadonlyArray<Capability>): Effect.Effect<ReadonlySet<string>, KubeError> =>
  Effect.map(
    Effect.all(capabilities.flatMap(({ storedCopyUses: stored }) => stored ?? [])),
    (uses) => new Set(uses.flat())
  )

/** Refuses copies that a capability forbids. */
const permittedBy =
  (capabilities: ReadonlyArray<Capability>): CreateCopyOptions["permitted"] =>
  (copy) =>
    Effect.forEach(capabilities, ({ permitCopy }) => permitCopy?.(copy) ?? Effect.void, { discard: true })

/** Fails with a sentence if the copies cannot be read in time. */
const whenRead = (copies: CopiedPods): Effect.Effect<CopiedPods, ApiError> =>
  Effect.flatMap(Effect.timeoutOption(copies.started, patience), (read) =>
    Option.isSome(read)
      ? Effect.succeed(copies)
      : Effect.fail(internalError("The copies of targets have not been read yet. Try again in a moment."))
  )

/** The copies of a cluster with workloads, and what its description says of them. */
interface Here {
  readonly served: CopyTargets
  readonly status: (now: number) => NonNullable<FurtherStatus["copy_targets"]>
}

/**
 * The copies in this cluster. An operator without copies follows no pods: it begins with the first request, or when it
 * finds what another process has left. One that only manages sessions has no rights to look until it is a member of
 * another fleet too, whose primary asks it for copies; so it looks with the first request.
 */
const makeHere = (
  { api, bounds, copyImage, fleet, protectedNamespaces }: CopyTargetGround,
  earlier: ReadonlyArray<Capability>
): Effect.Effect<Here, never, Scope.Scope> =>
  Effect.gen(function* () {
    const ground = yield* Effect.context<Scope.Scope>()
    const awaited = retryingApi(api)
    let copies: CopiedPods | undefined
    const wake = yield* Effect.cached(
      makeCopiedPods({
        api,
        awaited,
        inUse: () => usedCopies(earlier),
        storedUses: storedCopyUses(earlier)
      }).pipe(
        Effect.tap((made) => Effect.sync(() => (copies = made))),
        Effect.tap(() => (fleet?.managementOnly === true ? leftovers : Effect.void)),
        Effect.uninterruptible,
        Effect.provideContext(ground)
      )
    )
    const leftovers: Effect.Effect<void, never, Scope.Scope> = Effect.suspend(() =>
      findLeftovers({
        api,
        isAwake: () => copies !== undefined,
        copies: Effect.asVoid(wake),
        workloads: (found) =>
          found.length === 0 ? Effect.void : Effect.map(wake, ({ workloads }) => found.forEach(workloads.look))
      })
    )
    if (fleet?.managementOnly !== true) yield* leftovers
    const permitted = permittedBy(earlier)
    const [inPlace, inTurn] = [makeInPlace(bounds), makeInTurn()]
    const served = copiesHere(Effect.flatMap(wake, whenRead), (made) => ({
      awaited,
      copies: made,
      protectedNamespaces,
      image: copyImage,
      inPlace,
      inTurn,
      permitted
    }))
    return { served, status: (now) => (copies === undefined ? [] : statusOf(copies, now)) }
  })

/** The clusters of the primary that this operator is. */
const clustersOf = (capabilities: ReadonlyArray<Capability>) =>
  capabilities.flatMap(({ clusters }) => clusters?.() ?? [])

/** The copies of a primary: those over many clusters for users, and this cluster's part for whoever orders it. */
const inFleet = (fleet: FleetCopies, { served }: Here): CopyTargets => ({
  ...fleet,
  createOrdered: served.createOrdered,
  list: (selection) => (selection.primary === undefined ? fleet.list(selection) : served.list(selection))
})

/** `earlier`: the capabilities whose sessions may use copies, and the one that knows the clusters of a primary. */
export const makeCopyTargetCapability = (
  ground: CopyTargetGround,
  earlier: ReadonlyArray<Capability>
): Effect.Effect<Capability, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { api, bounds, fleet } = ground
    if (!ground.makesCopies) return {}
    // Requests come with the host's clock, which may jump, and with scopes of their own.
    const context = yield* Effect.context<Scope.Scope>()
    const here = yield* makeHere(ground, earlier)
    const features = () => ["CopyTarget", "CopyTargetExcludeContainers"] as const
    if (fleet === undefined)
      return {
        features,
        status: (now: number) => ({ copy_targets: here.status(now) }),
        copyTargets: within(context, here.served)
      }
    const copies = yield* makeFleetCopies({
      awaited: retryingApi(api),
      clusters: () => clustersOf(earlier),
      inPlace: makeInPlace(bounds),
      inTurn: makeInTurn(),
      permitted: permittedBy(earlier),
      primary: clusterSlug(fleet.clusterName, sha256Hex),
      sessionStart: fleet.sessionStart
    })
    return {
      features,
      status: () => ({ copy_targets: copies.status() }),
      copyTargets: within(context, inFleet(copies, here))
    }
  })

/** The same copies with the ground's clock and scope for each request. */
const within = (context: Context.Context<Scope.Scope>, copies: CopyTargets): CopyTargets => {
  const here = <A, E>(request: Effect.Effect<A, E>): Effect.Effect<A, E> => Effect.provideContext(request, context)
  return {
    create: (request, owner) => here(copies.create(request, owner)),
    createOrdered: (request) => here(copies.createOrdered(request)),
    list: (selection) => here(copies.list(selection)),
    get: (namespace, name, caller) => here(copies.get(namespace, name, caller)),
    connect: (session) => here(copies.connect(session))
  }
}
