/**
 * Tokens of Microsoft Entra, by the Azure SDK. Loaded only when a cluster is `aks` (aks-tokens.ts): the SDK takes
 * memory.
 *
 * Not here: when a token is made.
 */

import { ClientAssertionCredential, type ClientAssertionCredentialOptions } from "@azure/identity"
import { type AksIdentity, aksScope } from "../../domain/fleet/credentials/aks-identity.ts"

type AdditionalPolicyConfig = NonNullable<ClientAssertionCredentialOptions["additionalPolicies"]>[number]

export interface EntraOptions extends Pick<AksIdentity, "authorityHost" | "clientId" | "tenantId"> {
  /** The token of the pod's service account. */
  readonly assertion: string
  /** PEM of the authority that Entra's certificate is from; undefined: the public ones. */
  readonly certificateAuthority: string | undefined
}

export interface EntraToken {
  readonly token: string
  /** Epoch ms by this machine's clock: Entra gives a duration, no moment. */
  readonly until: number
}

/** A new token at each call: else the SDK gives the last one until 5 min before its end. Rejects with its error. */
export const entraToken = async (
  { assertion, authorityHost, certificateAuthority, clientId, tenantId }: EntraOptions,
  abortSignal: AbortSignal
): Promise<EntraToken> => {
  let unreachable: unknown
  // The SDK passes on neither the reason for a missing answer nor the caller's interruption.
  const passOn: AdditionalPolicyConfig = {
    position: "perRetry",
    policy: {
      name: "passOn",
      sendRequest: (request, next) => {
        request.abortSignal = abortSignal
        return next(request).catch((cause: unknown) => {
          throw (unreachable = cause)
        })
      }
    }
  }
  const credential = new ClientAssertionCredential(tenantId, clientId, () => Promise.resolve(assertion), {
    authorityHost,
    // Otherwise the public cloud is asked whether a sovereign cloud's authority is one.
    disableInstanceDiscovery: true,
    // The caller tries again. The SDK would wait for whatever time an answer names, and hide that answer.
    retryOptions: { maxRetries: 0 },
    additionalPolicies: [passOn],
    ...(certificateAuthority === undefined ? {} : { tlsOptions: { ca: certificateAuthority } })
  })
  const { expiresOnTimestamp: until, token } = await credential
    .getToken(aksScope, { abortSignal })
    .catch((cause: unknown) => {
      throw unreachable ?? cause
    })
  return { token, until }
}
