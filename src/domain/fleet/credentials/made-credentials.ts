/**
 * Credentials that stand in no Secret, which the operator makes again before they end: tokens for clusters of a cloud,
 * and what plugins give. Which are in use, when the next ones are made, and why a cluster refuses them.
 *
 * Not here: how long they are used (eks-token.ts, Entra's answer, exec-credential.ts), and making them
 * (ports/credential-maker.ts). Times are epoch ms of this operator's clock.
 */

import * as Equal from "effect/Equal"
import * as Result from "effect/Result"
import type { MadeAuth } from "./cluster-auth.ts"
import type { MemberCredentials } from "./member-credentials.ts"
import { nextTry, renewalPause } from "./token-renewal.ts"
import { momentText } from "./validity.ts"

const minute = 60_000
/** Credentials are renewed at least so early before their end: a fixed time in ms or a share of the lifetime. */
const notice = { least: 4 * minute, part: 0.2 }
/** The time over which those of many clusters are spread, in the same way. */
const spread = { least: minute, part: 0.05 }
/** They are made again so long after they were made at the earliest, ms, even if the cluster refuses them. */
const earliest = 30_000
/** Max pause between two tries to make them, ms: several fit before the end of the last ones. */
export const maxMakingPause = minute

/** Credentials that were made, without the credentials themselves. */
export interface MadeCredentials {
  readonly madeAt: number
  /** When their use ends; Infinity: when the cluster refuses them. */
  readonly until: number
  /** Whether the cluster did not know their bearer. */
  readonly isRefused: boolean
}

/** When the next ones are made. `share`: from 0 up to 1, this cluster's place in the spread. */
export const madeRenewal = ({ isRefused, madeAt, until }: MadeCredentials, share: number, now: number): number => {
  // This clock was set back, so the age of the credentials is not known.
  if (madeAt > now) return now
  if (until === Infinity && !isRefused) return Infinity
  const longer = ({ least, part }: typeof notice): number => Math.max(least, (until - madeAt) * part)
  return Math.max(madeAt + earliest, isRefused ? now : until - longer(notice) - longer(spread) * share)
}

/** The credentials of one cluster in this process. */
export interface Making {
  /** The last ones; a try that fails leaves them. */
  readonly last: (MadeCredentials & { readonly credentials: MemberCredentials; readonly auth: MadeAuth }) | undefined
  /** The configuration of the last try. */
  readonly tried: MadeAuth | undefined
  /** The reason why the last try made none; a clause. */
  readonly problem: string | undefined
  /** Failed tries in a row. */
  readonly failures: number
  /** When the next try may be. */
  readonly notBefore: number
}

export const nothingMade: Making = {
  last: undefined,
  tried: undefined,
  problem: undefined,
  failures: 0,
  notBefore: -Infinity
}

/** Forgets what was found out for a cluster that authenticates in another way now: by another cloud, or by a Secret. */
export const ofThisWay = (making: Making, auth: MadeAuth | undefined): Making =>
  making.tried?._tag === auth?._tag ? making : nothingMade

/** The last credentials, even if they have ended; the failure says why there are none. `undefined` before a try. */
export const lastMade = ({ last, problem, tried }: Making): Result.Result<MemberCredentials, string> | undefined => {
  if (last !== undefined) return Result.succeed(last.credentials)
  const none = tried?._tag === "ExecPlugin" ? "its plugin gives no credentials" : "no token can be made for it"
  return problem === undefined ? undefined : Result.fail(`${none}: ${problem}`)
}

/**
 * When the next ones by `auth` are made: without a pause, if the last try was made by another configuration. `share` as
 * in {@link madeRenewal}.
 */
export const nextMaking = ({ last, notBefore, tried }: Making, auth: MadeAuth, share: number, now: number): number => {
  const due = last !== undefined && Equal.equals(last.auth, auth) ? madeRenewal(last, share, now) : now
  return Equal.equals(tried, auth) ? nextTry(due, notBefore, now, maxMakingPause) : due
}

/** One try to make credentials. `share` as in {@link madeRenewal}. */
export interface Try {
  readonly auth: MadeAuth
  readonly begunAt: number
  readonly endedAt: number
  readonly share: number
  /** The failure is a clause. */
  readonly made: Result.Result<{ readonly credentials: MemberCredentials; readonly until: number }, string>
}

export const afterTry = (making: Making, { auth, begunAt, endedAt, made, share }: Try): Making => {
  if (Result.isSuccess(made)) {
    const { credentials, until } = made.success
    return { ...nothingMade, tried: auth, last: { credentials, until, auth, madeAt: begunAt, isRefused: false } }
  }
  const failures = Equal.equals(making.tried, auth) ? making.failures : 0
  return {
    last: making.last,
    tried: auth,
    problem: made.failure,
    failures: failures + 1,
    notBefore: endedAt + renewalPause(failures, share, maxMakingPause)
  }
}

/** Notes that the cluster does not know the bearer of the last credentials. */
export const afterRefusedMade = (making: Making): Making =>
  making.last === undefined ? making : { ...making, last: { ...making.last, isRefused: true } }

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

/** Says why a cluster does not know this operator; a clause. */
export const whyMadeRefused = ({ last, problem }: Making, name: string, now: number): string =>
  last !== undefined && last.until <= now && problem !== undefined
    ? `the ${wordOf(last.credentials)} of this cluster ended at ${momentText(last.until)}, and no other can be made: ` +
      problem
    : cureOf(last?.auth, name)
