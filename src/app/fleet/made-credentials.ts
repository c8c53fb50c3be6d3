/**
 * The credentials for one cluster that stand in no Secret: keeps the last ones until their end, and makes the next.
 *
 * Not here: when they are made (domain/fleet/credentials/made-credentials.ts), how (ports/credential-maker.ts), and
 * using them (follow-credentials.ts).
 */

import { Clock, Effect, Equal, Result } from "effect"
import type { MemberConfiguration } from "../../domain/fleet/configuration.ts"
import type { MadeAuth } from "../../domain/fleet/credentials/cluster-auth.ts"
import { longestMakingPause, madeRenewal } from "../../domain/fleet/credentials/made-credentials.ts"
import { nextTry, renewalPause } from "../../domain/fleet/credentials/token-renewal.ts"
import { momentText } from "../../domain/fleet/credentials/validity.ts"
import type { MemberCredentials } from "../../ports/cluster-connector.ts"
import type { MakeCredentials, NewCredentials } from "../../ports/credential-maker.ts"

interface KnownCredentials extends NewCredentials {
  readonly madeAt: number
  readonly isRefused: boolean
  readonly auth: MadeAuth
}

/** The credentials of one cluster in this process. */
export interface MakingState {
  readonly make: MakeCredentials
  last: KnownCredentials | undefined
  /** The configuration of the last try. */
  tried: MadeAuth | undefined
  /** The reason why the last try made none; a clause. */
  problem: string | undefined
  /** Failed tries in a row. */
  failures: number
  /** When the next try may be, epoch ms. */
  notBefore: number
}

export const nothingMade = (make: MakeCredentials): MakingState => ({
  make,
  last: undefined,
  tried: undefined,
  problem: undefined,
  failures: 0,
  notBefore: -Infinity
})

/** The way to authenticate at a cluster whose credentials are made; undefined for every other. */
export const madeAuth = ({ auth }: MemberConfiguration): MadeAuth | undefined =>
  auth._tag === "Eks" || auth._tag === "Aks" || auth._tag === "ExecPlugin" ? auth : undefined

/** Forgets what was found out for a cluster that authenticates in another way now: by another cloud, or by a Secret. */
export const forgetOtherWay = (state: MakingState, auth: MadeAuth | undefined): void => {
  if (state.tried?._tag !== auth?._tag) Object.assign(state, nothingMade(state.make))
}

/** The last credentials, even if they have ended; the failure says why there are none. Nothing before the first try. */
export const lastMade = ({
  last,
  problem,
  tried
}: MakingState): Result.Result<MemberCredentials, string> | undefined => {
  if (last !== undefined) return Result.succeed(last.credentials)
  const none = tried?._tag === "ExecPlugin" ? "its plugin gives no credentials" : "no token can be made for it"
  return problem === undefined ? undefined : Result.fail(`${none}: ${problem}`)
}

/**
 * When the next ones by `auth` are made, epoch ms: without a pause, if the last try was made by another configuration.
 * `share` as in {@link madeRenewal}.
 */
export const nextMaking = (
  { last, notBefore, tried }: MakingState,
  auth: MadeAuth,
  share: number,
  now: number
): number => {
  const due = Equal.equals(last?.auth, auth) && last !== undefined ? madeRenewal(last, share, now) : now
  return Equal.equals(tried, auth) ? nextTry(due, notBefore, now, longestMakingPause) : due
}

/** Makes credentials. The failure is a clause; what was made before stays. `share` as in {@link madeRenewal}. */
export const makeAnew = (
  state: MakingState,
  { certificateAuthority, name, server }: MemberConfiguration,
  auth: MadeAuth,
  share: number
): Effect.Effect<void, string> =>
  Effect.gen(function* () {
    if (!Equal.equals(state.tried, auth)) state.failures = 0
    state.tried = auth
    const madeAt = yield* Clock.currentTimeMillis
    const made = yield* state.make({
      name,
      server,
      certificateAuthority,
      auth,
      isRefused: state.last?.isRefused === true
    })
    state.last = { ...made, auth, madeAt, isRefused: false }
    state.problem = undefined
    state.failures = 0
    state.notBefore = -Infinity
  }).pipe(
    Effect.tapError((problem) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        state.problem = problem
        state.notBefore = now + renewalPause(state.failures++, share, longestMakingPause)
      })
    )
  )

/** Notes that the cluster does not know the bearer of the last credentials. */
export const noteMadeRefused = (state: MakingState): void => {
  if (state.last !== undefined) state.last = { ...state.last, isRefused: true }
}

/** The cure for a cluster that does not know the operator's identity. */
const cureOf = (auth: MadeAuth | undefined, name: string): string => {
  if (auth?._tag === "ExecPlugin")
    return (
      `the cluster does not know the credentials that the plugin of access provider ${auth.provider} gives; look ` +
      "whether they are for this cluster and its API server trusts them"
    )
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

const wordOf = ({ _tag }: MemberCredentials): string => (_tag === "BearerToken" ? "token" : "client certificate")

/** Says why a cluster does not know this operator; a clause. `now`: epoch ms. */
export const whyMadeRefused = ({ last, problem }: MakingState, name: string, now: number): string =>
  last !== undefined && last.until <= now && problem !== undefined
    ? `the ${wordOf(last.credentials)} of this cluster ended at ${momentText(last.until)}, and no other can be made: ` +
      problem
    : cureOf(last?.auth, name)
