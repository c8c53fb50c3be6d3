/**
 * Copies of targets (operator-api.md §9) for users' requests and connects, and which copies the sessions of this
 * cluster use.
 */

import { Context, Effect } from "effect"
import type { Caller } from "../../domain/fleet/credentials/front-proxy.ts"
import type { SessionOwner } from "../../domain/resources/session-shapes.ts"
import type { ConnectParams } from "../../domain/sessions/connect-request.ts"
import type { Target } from "../../domain/targets/target.ts"
import type { KubeError } from "../../ports/kube-api.ts"
import type { CopySelection, CopyTargetRequest } from "../api/operator-facade.ts"
import { type ApiError, notFound } from "../api/status.ts"

/** A session on a copy, for which its user asks to be connected. */
export interface CopyConnect {
  readonly namespace: string
  /** Name of the copy target. */
  readonly name: string
  readonly owner: SessionOwner
  readonly caller: Caller
  /** The session of its id, if there is one already. `target`: as a connect URL names it. */
  readonly begun: { readonly target: string | undefined } | undefined
}

/** The target of a session on a copy. */
export interface ConnectedCopy {
  /** The copied pod, as a connect URL names targets. */
  readonly target: string
  /** Whether the copy replaces its workload. */
  readonly scaledown: boolean
  /** The copied target, where the copy's pod need not be in this cluster; missing while the pod's cluster is away. */
  readonly of?: Target | undefined
  /**
   * The copied target with the container that sessions use, and the connect parameters that ask for splits of its
   * queues; missing while the copy is not known.
   */
  readonly splits?: { readonly of: Target; readonly params: ConnectParams } | undefined
  /** Why clusters have no copy, by cluster. */
  readonly leftOut: ReadonlyMap<string, string>
}

/** The copies that an operator makes, or has made in its clusters. */
export interface ServedCopies {
  readonly create: (request: CopyTargetRequest, owner: SessionOwner) => Effect.Effect<object, ApiError>
  /** Makes a copy that a primary orders here, for the user whom its order names. */
  readonly createOrdered: (request: CopyTargetRequest) => Effect.Effect<object, ApiError>
  readonly list: (selection: CopySelection) => Effect.Effect<ReadonlyArray<object>, ApiError>
  readonly get: (namespace: string, name: string, caller: Caller) => Effect.Effect<object, ApiError>
  readonly connect: (session: CopyConnect) => Effect.Effect<ConnectedCopy, ApiError>
}

export class CopyTargets extends Context.Service<
  CopyTargets,
  ServedCopies & {
    /** Whether targets are copied. Otherwise no request has to wait until the operator has started. */
    readonly areMade: boolean
  }
>()("braid/app/CopyTargets") {}

/** The answer to a user who asks for a copy where targets are not copied. */
const refused = Effect.suspend(() =>
  Effect.fail(
    notFound(
      "This operator makes no copies of targets: its administrator has switched them off " +
        "(operator.copyTarget.enabled); leave feature.copy_target out, or ask for the value."
    )
  )
)

/** The copies of an operator that makes none. */
export const noCopies: CopyTargets["Service"] = {
  areMade: false,
  create: () => refused,
  createOrdered: () => refused,
  list: () => Effect.succeed([]),
  get: (_namespace, name) =>
    Effect.fail(
      notFound(
        `There is no copy target ${name}: this operator makes none (operator.copyTarget.enabled); leave ` +
          "feature.copy_target out, or ask its administrator for the value."
      )
    ),
  connect: () => refused
}

/** The pods of copies that sessions of this cluster run on, as `namespace/name`. The sessions provide them. */
export class CopyUses extends Context.Service<
  CopyUses,
  {
    /** As the cache has them; `undefined` until the sessions have been read. */
    readonly cached: () => ReadonlySet<string> | undefined
    /** As the API server has them now: a watch may be late. */
    readonly stored: Effect.Effect<ReadonlySet<string>, KubeError>
  }
>()("braid/app/CopyUses") {}
