/**
 * The token for one cluster of a cloud: keeps the last one until its end, and makes the next. There is no Secret for
 * it.
 *
 * Not here: when a token is made (domain/credentials/cloud-token.ts), how (ports/cloud-tokens.ts), and using it
 * (follow-credentials.ts).
 */

import { Clock, Effect, Equal, Redacted, Result } from "effect"
import { cloudRenewal, longestCloudPause, type MadeCloudToken } from "../../domain/credentials/cloud-token.ts"
import type { CloudAuth } from "../../domain/credentials/cluster-auth.ts"
import { nextTry, renewalPause } from "../../domain/credentials/token-renewal.ts"
import { momentText } from "../../domain/credentials/validity.ts"
import type { MemberConfiguration } from "../../domain/fleet/configuration.ts"
import type { MakeCloudToken } from "../../ports/cloud-tokens.ts"
import type { MemberCredentials } from "../../ports/cluster-connector.ts"

interface KnownToken extends MadeCloudToken {
  readonly token: Redacted.Redacted
  readonly auth: CloudAuth
}

/** The tokens of one cluster in this process. */
export interface CloudCredentials {
  readonly make: MakeCloudToken
  last: KnownToken | undefined
  /** The configuration of the last try. */
  tried: CloudAuth | undefined
  /** The reason why the last try made no token; a clause. */
  problem: string | undefined
  /** Failed tries in a row. */
  failures: number
  /** When the next try may be, epoch ms. */
  notBefore: number
}

export const noCloudCredentials = (make: MakeCloudToken): CloudCredentials => ({
  make,
  last: undefined,
  tried: undefined,
  problem: undefined,
  failures: 0,
  notBefore: -Infinity
})

/** The way to authenticate at a cluster that is known by an identity in a cloud; undefined for every other. */
export const cloudAuth = ({ auth }: MemberConfiguration): CloudAuth | undefined =>
  auth._tag === "Eks" || auth._tag === "Aks" ? auth : undefined

/** Forgets what was found out for a cluster that authenticates in another way now: by another cloud, or by none. */
export const forgetOtherCloud = (state: CloudCredentials, auth: CloudAuth | undefined): void => {
  if (state.tried?._tag !== auth?._tag) Object.assign(state, noCloudCredentials(state.make))
}

/** The last token, even if it has ended; the failure says why there is none. Nothing before the first try. */
export const cloudCredentials = ({
  last,
  problem
}: CloudCredentials): Result.Result<MemberCredentials, string> | undefined => {
  if (last !== undefined) return Result.succeed({ _tag: "BearerToken", token: last.token })
  return problem === undefined ? undefined : Result.fail(`no token can be made for it: ${problem}`)
}

/**
 * When the next token by `auth` is made, epoch ms: without a pause, if the last try was made by another configuration.
 * `share` as in {@link cloudRenewal}.
 */
export const nextCloudToken = (
  { last, notBefore, tried }: CloudCredentials,
  auth: CloudAuth,
  share: number,
  now: number
): number => {
  const due = Equal.equals(last?.auth, auth) && last !== undefined ? cloudRenewal(last, share, now) : now
  return Equal.equals(tried, auth) ? nextTry(due, notBefore, now, longestCloudPause) : due
}

/** Makes a token. The failure is a clause; what was made before stays. `share` as in {@link cloudRenewal}. */
export const makeCloudToken = (
  state: CloudCredentials,
  { certificateAuthority, name, server }: MemberConfiguration,
  auth: CloudAuth,
  share: number
): Effect.Effect<void, string> =>
  Effect.gen(function* () {
    if (!Equal.equals(state.tried, auth)) state.failures = 0
    state.tried = auth
    const madeAt = yield* Clock.currentTimeMillis
    const { token, until } = yield* state.make({
      name,
      server,
      certificateAuthority,
      auth,
      isRefused: state.last?.isRefused === true
    })
    state.last = { token, auth, madeAt, until, isRefused: false }
    state.problem = undefined
    state.failures = 0
    state.notBefore = -Infinity
  }).pipe(
    Effect.tapError((problem) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        state.problem = problem
        state.notBefore = now + renewalPause(state.failures++, share, longestCloudPause)
      })
    )
  )

/** Notes that the cluster does not know the bearer of the last token. */
export const noteCloudRefusal = (state: CloudCredentials): void => {
  if (state.last !== undefined) state.last = { ...state.last, isRefused: true }
}

/** The cure for a cluster that does not know the operator's identity. */
const cureOf = (auth: CloudAuth | undefined, name: string): string => {
  if (auth?._tag === "Aks")
    return (
      "the cluster takes no token of this Azure tenant; turn on its Microsoft Entra integration (az aks update " +
      "--enable-aad), and look whether tenantId is the tenant of its aadProfile"
    )
  return (
    "EKS does not know the AWS identity of this operator; make an access entry for its role in the EKS cluster, " +
    `whose name in AWS must be ${JSON.stringify(name)}, and look whether ${auth?.region ?? "its region"} is its region`
  )
}

/** Says why a cluster does not know this operator; a clause. `now`: epoch ms. */
export const whyCloudRefused = ({ last, problem }: CloudCredentials, name: string, now: number): string =>
  last !== undefined && last.until <= now && problem !== undefined
    ? `the token of this cluster ended at ${momentText(last.until)}, and no other can be made: ${problem}`
    : cureOf(last?.auth, name)
