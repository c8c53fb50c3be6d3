/**
 * The port by which this operator reaches clusters: its own and the members. When a cluster is connected, and with
 * which credentials, is decided in src/app/fleet.
 */

import { Context, type Effect, type Redacted, type Scope } from "effect"
import type { MemberConfiguration } from "../domain/fleet/configuration.ts"
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

/** The content of the Secret `mirrord-cluster-<name>`; the cluster's `authType` says which part is used. */
export type MemberCredentials =
  | { readonly _tag: "BearerToken"; readonly token: Redacted.Redacted<string> }
  | { readonly _tag: "ClientCertificate"; readonly certificatePem: string; readonly keyPem: Redacted.Redacted<string> }

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
