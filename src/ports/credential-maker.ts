/**
 * The port by which credentials are made that stand in no Secret: with the identity that this operator has in a cloud,
 * or by a plugin.
 *
 * Not here: when they are made (domain/fleet/credentials/made-credentials.ts), and using them (app/fleet).
 */

import { Context, Effect } from "effect"
import type { MemberConfiguration } from "../domain/fleet/configuration.ts"
import type { MadeAuth } from "../domain/fleet/credentials/cluster-auth.ts"
import type { MemberCredentials } from "../domain/fleet/credentials/member-credentials.ts"

/** Credentials for a cluster. */
export interface NewCredentials {
  readonly credentials: MemberCredentials
  /** When their use ends, epoch ms of this operator's clock; Infinity: when the cluster refuses them. */
  readonly until: number
}

/** A cluster that needs them. `isRefused`: it did not know the bearer of the last ones. */
export interface CredentialCluster extends Pick<MemberConfiguration, "name" | "server" | "certificateAuthority"> {
  readonly auth: MadeAuth
  readonly isRefused?: boolean
}

/** Makes credentials. The failure is a clause with cause and cure, and holds no secret. */
export type MakeCredentials = (cluster: CredentialCluster) => Effect.Effect<NewCredentials, string>

/** A program that provides nothing has no identity in a cloud, and runs no plugins. */
export const CredentialMaker = Context.Reference<MakeCredentials>("braid/ports/CredentialMaker", {
  defaultValue: () => () => Effect.fail("this program has no identity in a cloud; use authType bearerToken or mtls")
})
