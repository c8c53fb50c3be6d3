/**
 * The port by which tokens for EKS clusters are made, with the AWS identity of this operator.
 *
 * Not here: when a token is made (domain/credentials/eks-token.ts), and using it (app/fleet).
 */

import { Context, Effect, type Redacted } from "effect"
import type { MemberConfiguration } from "../domain/fleet/configuration.ts"

/** A token for an EKS cluster. */
export interface EksToken {
  readonly token: Redacted.Redacted
  /** When the AWS credentials end with which it was made, epoch ms of this operator's clock; undefined: never. */
  readonly identityEnds: number | undefined
}

/** An EKS cluster. `region`: its AWS region. `isRefused`: it did not know the bearer of the last token. */
export interface EksCluster extends Pick<MemberConfiguration, "name" | "server" | "certificateAuthority"> {
  readonly region: string
  readonly isRefused?: boolean
}

/** Makes a token. The failure is a clause with cause and cure, and holds no secret. */
export type MakeEksToken = (cluster: EksCluster) => Effect.Effect<EksToken, string>

/** A program that provides nothing has no AWS identity. */
export const EksTokens = Context.Reference<MakeEksToken>("braid/ports/EksTokens", {
  defaultValue: () => () => Effect.fail("this program has no AWS identity; use authType bearerToken or mtls")
})
