/**
 * Copies of targets, as a capability of every operator. In a cluster with workloads it makes them, lists them, and says
 * which pod a session on a copy is for; a primary orders them from its clusters (fleet-copies.ts).
 */

import { Context, Effect, Layer, Option, type Scope } from "effect"
import type { CopyImage } from "../../domain/copies/copied-pod.ts"
import { clusterSlug } from "../../domain/fleet/cluster-name.ts"
import { type ApiError, internalError } from "../api/status.ts"
import { makeInTurn } from "../kernel/keyed-mutex.ts"
import { retryingApi } from "../kernel/retrying-api.ts"
import { sha256Hex } from "../kernel/sha256-hex.ts"
import { QueueSplits } from "../queues/queue-splits.ts"
import { type FurtherStatus, withCapability } from "../services/capability.ts"
import { CopyTargets, CopyUses, noCopies, type ServedCopies } from "../services/copy-targets.ts"
import { FleetView } from "../services/fleet-view.ts"
import { OwnCluster } from "../services/own-cluster.ts"
import { SessionLimits } from "../services/session-limits.ts"
import { type CopiedPods, makeCopiedPods } from "./copied-pods.ts"
import { makeInPlace } from "./copy-places.ts"
import { type FleetCopies, makeFleetCopies } from "./fleet-copies.ts"
import { findLeftovers } from "./leftovers.ts"
import { copiesHere, statusOf } from "./local-copies.ts"

/** How long a request waits for the copies to be read. */
const patience = "8 seconds"

/** How targets are copied. The operator provides it. */
export class CopySettings extends Context.Service<
  CopySettings,
  {
    /** Whether targets are copied; otherwise the operator may not change workloads, and nothing here runs. */
    readonly makesCopies: boolean
    /** The image of copied containers; `undefined` if they keep their own. */
    readonly image: CopyImage | undefined
  }
>()("braid/app/CopySettings") {}

/** Fails with a sentence if the copies cannot be read in time. */
const whenRead = (copies: CopiedPods): Effect.Effect<CopiedPods, ApiError> =>
  Effect.flatMap(Effect.timeoutOption(copies.started, patience), (read) =>
    Option.isSome(read)
      ? Effect.succeed(copies)
      : Effect.fail(internalError("The copies of targets have not been read yet. Try again in a moment."))
  )

/** The copies of a cluster with workloads, and what its description says of them. */
interface Here {
  readonly served: ServedCopies
  readonly status: (now: number) => NonNullable<FurtherStatus["copy_targets"]>
}

/**
 * The copies in this cluster. An operator without copies follows no pods: it begins with the first request, or when it
 * finds what another process has left. One that only manages sessions has no rights to look until it is a member of
 * another fleet too, whose primary asks it for copies; so it looks with the first request.
 */
const makeHere = Effect.gen(function* () {
  const { api, bounds, fleet, protectedNamespaces } = yield* OwnCluster
  const { image } = yield* CopySettings
  const { permitCopy } = yield* SessionLimits
  const uses = yield* CopyUses
  const splits = yield* QueueSplits
  const services = yield* Effect.context<Scope.Scope>()
  const awaited = retryingApi(api)
  let copies: CopiedPods | undefined
  const wake = yield* Effect.cached(
    makeCopiedPods({ api, awaited, inUse: uses.cached, storedUses: uses.stored }).pipe(
      Effect.tap((made) => Effect.sync(() => (copies = made))),
      Effect.tap(() => (fleet?.managementOnly === true ? leftovers : Effect.void)),
      Effect.uninterruptible,
      Effect.provideContext(services)
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
  const [inPlace, inTurn] = [makeInPlace(bounds), makeInTurn()]
  const served = copiesHere(Effect.flatMap(wake, whenRead), (made) => ({
    awaited,
    copies: made,
    protectedNamespaces,
    image,
    inPlace,
    inTurn,
    permitted: permitCopy,
    splits
  }))
  const here: Here = { served, status: (now) => (copies === undefined ? [] : statusOf(copies, now)) }
  return here
})

/** The copies of a primary: those over many clusters for users, and this cluster's part for whoever orders it. */
const inFleet = (fleet: FleetCopies, { served }: Here): ServedCopies => ({
  ...fleet,
  createOrdered: served.createOrdered,
  list: (selection) => (selection.primary === undefined ? fleet.list(selection) : served.list(selection))
})

/** The copies that users and primaries ask this operator for, and what its description says of them. */
const makeServed = Effect.gen(function* () {
  const { api, bounds, fleet } = yield* OwnCluster
  const here = yield* makeHere
  if (fleet === undefined) return here
  const copies = yield* makeFleetCopies({
    awaited: retryingApi(api),
    clusters: (yield* FleetView).clusters,
    inPlace: makeInPlace(bounds),
    inTurn: makeInTurn(),
    permitted: (yield* SessionLimits).permitCopy,
    primary: clusterSlug(fleet.clusterName, sha256Hex),
    sessionStart: fleet.sessionStart,
    splits: yield* QueueSplits
  })
  return { served: inFleet(copies, here), status: copies.status }
})

/** Copies of targets, if they are switched on. */
export const copyLayer = Layer.effectContext(
  Effect.gen(function* () {
    const { makesCopies } = yield* CopySettings
    if (!makesCopies) return Context.add(yield* withCapability({}), CopyTargets, noCopies)
    // Requests come with the host's clock, which may jump, and with scopes of their own.
    const context = yield* Effect.context<Scope.Scope>()
    const { served, status } = yield* makeServed
    const capability = yield* withCapability({
      features: () => ["CopyTarget", "CopyTargetExcludeContainers"],
      status: (now) => ({ copy_targets: status(now) })
    })
    return Context.add(capability, CopyTargets, { areMade: true, ...within(context, served) })
  })
)

/** The same copies with the clock and the scope of the services for each request. */
const within = (context: Context.Context<Scope.Scope>, copies: ServedCopies): ServedCopies => {
  const here = <A, E>(request: Effect.Effect<A, E>): Effect.Effect<A, E> => Effect.provideContext(request, context)
  return {
    create: (request, owner) => here(copies.create(request, owner)),
    createOrdered: (request) => here(copies.createOrdered(request)),
    list: (selection) => here(copies.list(selection)),
    get: (namespace, name, caller) => here(copies.get(namespace, name, caller)),
    connect: (session) => here(copies.connect(session))
  }
}
