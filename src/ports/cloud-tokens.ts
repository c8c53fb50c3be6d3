/**
 * The port by which tokens for clusters of a cloud are made, with the identity that this operator has there.
 *
 * Not here: when a token is made (domain/credentials/cloud-token.ts), and using it (app/fleet).
 */

import { Context, Effect, type Redacted } from "effect"
import type { CloudAuth } from "../domain/credentials/cluster-auth.ts"
import type { MemberConfiguration } from "../domain/fleet/configuration.ts"

/** A token for a cluster. */
export interface CloudToken {
  readonly token: Redacted.Redacted
  /** When its use ends, epoch ms of this operator's clock. */
  readonly until: number
}

/** A cluster of a cloud. `isRefused`: it did not know the bearer of the last token. */
export interface CloudCluster extends Pick<MemberConfiguration, "name" | "server" | "certificateAuthority"> {
  readonly auth: CloudAuth
  readonly isRefused?: boolean
}

/** Makes a token. The failure is a clause with cause and cure, and holds no secret. */
export type MakeCloudToken<Auth = CloudAuth> = (
  cluster: CloudCluster & { readonly auth: Auth }
) => Effect.Effect<CloudToken, string>

/** A program that provides nothing has no identity in a cloud. */
export const CloudTokens = Context.Reference<MakeCloudToken>("braid/ports/CloudTokens", {
  defaultValue: () => () => Effect.fail("this program has no identity in a cloud; use authType bearerToken or mtls")
})
