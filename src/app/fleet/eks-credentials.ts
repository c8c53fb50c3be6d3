/**
 * The token for one EKS cluster: keeps the last one until its end, and makes the next. There is no Secret for it.
 *
 * Not here: when a token is made (domain/credentials/eks-token.ts), how (ports/eks-tokens.ts), and using it
 * (follow-credentials.ts).
 */

import { Clock, Effect, Redacted, Result } from "effect"
import { eksRenewal, eksTokenEnd, longestEksPause, type MadeEksToken } from "../../domain/credentials/eks-token.ts"
import { nextTry, renewalPause } from "../../domain/credentials/token-renewal.ts"
import { momentText } from "../../domain/credentials/validity.ts"
import type { MemberConfiguration } from "../../domain/fleet/configuration.ts"
import type { MemberCredentials } from "../../ports/cluster-connector.ts"
import type { MakeEksToken } from "../../ports/eks-tokens.ts"

interface KnownToken extends MadeEksToken {
  readonly token: Redacted.Redacted
  readonly region: string
}

/** The tokens of one cluster in this process. */
export interface EksCredentials {
  readonly make: MakeEksToken
  last: KnownToken | undefined
  /** The reason why the last try made no token; a clause. */
  problem: string | undefined
  /** Failed tries in a row. */
  failures: number
  /** When the next try may be, epoch ms. */
  notBefore: number
}

export const noEksCredentials = (make: MakeEksToken): EksCredentials => ({
  make,
  last: undefined,
  problem: undefined,
  failures: 0,
  notBefore: -Infinity
})

/** The region of a cluster that is known by a token of AWS; undefined for every other. */
export const eksRegion = ({ auth }: MemberConfiguration): string | undefined =>
  auth._tag === "Eks" ? (auth.region ?? "") : undefined

/** The last token, even if it has ended; the failure says why there is none. Nothing before the first try. */
export const eksCredentials = ({
  last,
  problem
}: EksCredentials): Result.Result<MemberCredentials, string> | undefined => {
  if (last !== undefined) return Result.succeed({ _tag: "BearerToken", token: last.token })
  return problem === undefined ? undefined : Result.fail(`no token can be made for it: ${problem}`)
}

/** When the next token for a cluster in `region` is made, epoch ms. `share` as in {@link eksRenewal}. */
export const nextEksToken = (
  { last, notBefore }: EksCredentials,
  region: string,
  share: number,
  now: number
): number => {
  const due = last?.region === region ? eksRenewal(last, share, now) : now
  return nextTry(due, notBefore, now, longestEksPause)
}

/** Makes a token. The failure is a clause; what was made before stays. `share` as in {@link eksRenewal}. */
export const makeEksToken = (
  state: EksCredentials,
  { certificateAuthority, name, server }: MemberConfiguration,
  region: string,
  share: number
): Effect.Effect<void, string> =>
  Effect.gen(function* () {
    const madeAt = yield* Clock.currentTimeMillis
    const { identityEnds, token } = yield* state.make({
      name,
      server,
      certificateAuthority,
      region,
      isRefused: state.last?.isRefused === true
    })
    state.last = { token, region, madeAt, until: eksTokenEnd(madeAt, identityEnds), isRefused: false }
    state.problem = undefined
    state.failures = 0
    state.notBefore = -Infinity
  }).pipe(
    Effect.tapError((problem) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        state.problem = problem
        state.notBefore = now + renewalPause(state.failures++, share, longestEksPause)
      })
    )
  )

/** Notes that the cluster does not know the bearer of the last token. */
export const noteEksRefusal = (state: EksCredentials): void => {
  if (state.last !== undefined) state.last = { ...state.last, isRefused: true }
}

/** Says why a cluster does not know this operator; a clause. `now`: epoch ms. */
export const whyEksRefused = ({ last, problem }: EksCredentials, name: string, now: number): string => {
  if (last !== undefined && last.until <= now && problem !== undefined)
    return `the token of this cluster ended at ${momentText(last.until)}, and no other can be made: ${problem}`
  return (
    `EKS does not know the AWS identity of this operator; make an access entry for its role in the EKS cluster, ` +
    `whose name in AWS must be ${JSON.stringify(name)}, and look whether ${last?.region ?? "its region"} is its region`
  )
}
