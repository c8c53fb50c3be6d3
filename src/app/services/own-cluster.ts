/**
 * The operator's own cluster and its place there, as every capability sees them. The operator provides it.
 *
 * Not here: settings of one capability alone, which have services in that capability's room.
 */

import { Context } from "effect"
import type { FleetConfiguration } from "../../domain/fleet/configuration.ts"
import type { SessionBounds } from "../../domain/sessions/session-bounds.ts"
import type { ProtectedNamespaces } from "../../domain/targets/protected-namespaces.ts"
import type { KubeApi } from "../../ports/kube-api.ts"

export class OwnCluster extends Context.Service<
  OwnCluster,
  {
    readonly api: KubeApi
    /** Namespace of the operator. */
    readonly namespace: string
    /** The fleet that this operator is the primary of, if it has one. */
    readonly fleet: FleetConfiguration | undefined
    readonly protectedNamespaces: ProtectedNamespaces
    readonly bounds: SessionBounds
  }
>()("braid/app/OwnCluster") {}
