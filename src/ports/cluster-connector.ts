/**
 * The port by which this operator reaches clusters: its own and the members. When a cluster is connected, and with
 * which credentials, is decided in src/app/fleet.
 */

import { Context, type Effect, type Scope } from "effect"
import type { MemberConfiguration } from "../domain/fleet/configuration.ts"
import type { MemberCredentials } from "../domain/fleet/credentials/member-credentials.ts"
import type { FrameChannel } from "./frame-channel.ts"
import type { KubeApi } from "./kube-api.ts"
import type { LinkRefused, LinkRequest } from "./member-link.ts"

/** One cluster as this operator may use it. */
export interface ClusterAccess {
  readonly api: KubeApi
  /** Opens a link to the cluster's operator, through its API server (docs/concepts/member-link.md). */
  readonly link: (request: LinkRequest) => Effect.Effect<FrameChannel, LinkRefused>
}

/** A member as this operator may use it. */
export interface MemberAccess extends ClusterAccess {
  /** New requests and links carry these credentials. Watches, links and requests that have begun go on. */
  readonly reauthenticate: (credentials: MemberCredentials) => void
}

/** Makes accesses to clusters. An access lives as long as its scope. */
export class ClusterConnector extends Context.Service<
  ClusterConnector,
  {
    /** The operator's own cluster, with its own identity. */
    readonly own: ClusterAccess
    readonly member: (
      configuration: MemberConfiguration,
      credentials: MemberCredentials
    ) => Effect.Effect<MemberAccess, never, Scope.Scope>
  }
>()("braid/ports/ClusterConnector") {}
