/**
 * The port by which tokens for clusters of a cloud are made, with the identity that this operator has there.
 *
 * Not here: the other credentials that are made (credential-maker.ts).
 */

import type { Effect, Redacted } from "effect"
import type { CloudAuth } from "../domain/fleet/credentials/cluster-auth.ts"
import type { CredentialCluster } from "./credential-maker.ts"

/** A token for a cluster. */
export interface CloudToken {
  readonly token: Redacted.Redacted
  /** When its use ends, epoch ms of this operator's clock. */
  readonly until: number
}

/** A cluster of a cloud. */
export interface CloudCluster extends CredentialCluster {
  readonly auth: CloudAuth
}

/** Makes a token. The failure is a clause with cause and cure, and holds no secret. */
export type MakeCloudToken<Auth extends CloudAuth> = (
  cluster: CloudCluster & { readonly auth: Auth }
) => Effect.Effect<CloudToken, string>
