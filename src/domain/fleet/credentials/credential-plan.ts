/**
 * Decides about one member's credentials. From an observation, and from the memory of this process, the plan says which
 * credentials are used, what people are to hear, and which token is kept, renewed or made. Each outcome leads to the
 * next memory. The same observation gives the same plan. A plan that was carried out, with the plans for what it has
 * brought, leaves nothing to do until `wakeAt` or until something changes.
 *
 *     observe → credentialPlan → perform → after… → observe → …
 *
 * Not here: carrying a plan out (app/fleet/follow-credentials.ts), the choice among the user's own credentials and
 * newer tokens (member-credentials.ts), and times of renewals (token-renewal.ts, made-credentials.ts). Times are epoch
 * ms.
 */

import * as Result from "effect/Result"
import { type ClusterAuth, kubeconfigTitle, type MadeAuth, madeAuth } from "./cluster-auth.ts"
import { type EndingCredentials, endingClause, endStep, invalidClause, nextEndStep } from "./credential-end.ts"
import {
  afterRefusedMade,
  afterTry,
  lastMade,
  type Making,
  nextMaking,
  nothingMade,
  ofThisWay,
  type Try,
  whyMadeRefused
} from "./made-credentials.ts"
import {
  type CredentialReading,
  isRenewed,
  isSameToken,
  type MemberCredentials,
  type MemberToken,
  type NewestCredentials,
  newestCredentials,
  sameCredentials,
  type UsedTokens
} from "./member-credentials.ts"
import {
  firstRenewal,
  maxRenewalPause,
  nextTry,
  renewalPause,
  tokenRenewal,
  type TokenRenewal
} from "./token-renewal.ts"
import { momentText } from "./validity.ts"

/** Tries of one thing, with growing pauses after failures. */
interface Tries {
  /** Failures in a row. */
  readonly failures: number
  /** When the next try may be. */
  readonly notBefore: number
}

const noFailures: Tries = { failures: 0, notBefore: 0 }

type Found = Result.Result<MemberCredentials, string>

interface GrantedToken {
  readonly token: MemberToken
  /** Whether its Secret holds it. */
  readonly isKept: boolean
  /** From when on a Secret that is not seen is one that was deleted: the watch shows a new Secret late. */
  readonly missedFrom: number
}

/** How long the watch may take to show a Secret that was written, ms. */
const maxUnseen = 300_000

/** The knowledge of one member's credentials in this process. */
export interface CredentialMemory {
  /** The credentials in use, or the reason why there are none; `undefined` before the first look. */
  readonly current: Found | undefined
  readonly tokens: UsedTokens | undefined
  /** The last token that this process got from the member or found kept. */
  readonly granted: GrantedToken | undefined
  /** Tokens whose bearer the member did not know; none again when it has refused all. */
  readonly refused: ReadonlyArray<MemberToken>
  /** The last token of the user's Secret with which the member has answered. */
  readonly good: MemberToken | undefined
  /** Since when the token of the user's Secret is the first in `tokens`. */
  readonly firstSince: number
  readonly ending: EndingCredentials | undefined
  readonly making: Making
  readonly renewing: Tries
  readonly keeping: Tries
  /** The last reports; `undefined` if the next one of the kind is news. */
  readonly reported: {
    readonly spoilt: string | undefined
    readonly end: string | undefined
    readonly refused: boolean
  }
}

/** `share`: from 0 up to 1, this member's place among the members that are renewed in the same hour. */
export const newMemory = (share: number, now: number): CredentialMemory => ({
  current: undefined,
  tokens: undefined,
  granted: undefined,
  refused: [],
  good: undefined,
  firstSince: now,
  ending: undefined,
  making: nothingMade,
  renewing: { failures: 0, notBefore: firstRenewal(share, now) },
  keeping: noFailures,
  reported: { spoilt: undefined, end: undefined, refused: false }
})

export interface CredentialObservation {
  readonly now: number
  /** As in {@link newMemory}. */
  readonly share: number
  readonly auth: ClusterAuth
  /** The Secrets and the kubeconfig; `undefined` until they are known. */
  readonly reading: CredentialReading | undefined
  /** When the last check was begun that the member has answered; `undefined` unless it answers now. */
  readonly answeredAt: number | undefined
  /** Whether this process gets new tokens and keeps them. Otherwise another process does, and this one reads them. */
  readonly renews: boolean
}

export type DueRenewal = Extract<TokenRenewal, { readonly _tag: "At" }>

export type CredentialAction =
  /** New credentials cannot be used, and the last ones stay in use. */
  | { readonly _tag: "ReportSpoilt"; readonly problem: string }
  /** The user's Secret holds another token that is older than the one in use: Helm writes the first one back. */
  | { readonly _tag: "ReportOlder" }
  /** The member refuses the token that was used, and another one is tried. */
  | { readonly _tag: "ReportRefused" }
  /** Credentials that are not renewed have come a step nearer to their end. */
  | { readonly _tag: "ReportEnd"; readonly clause: string }
  | { readonly _tag: "Use"; readonly credentials: MemberCredentials }
  | { readonly _tag: "Disengage"; readonly why: string }
  | { readonly _tag: "Keep"; readonly token: MemberToken }
  | { readonly _tag: "Renew"; readonly renewal: DueRenewal }
  | { readonly _tag: "Make"; readonly auth: MadeAuth }

export interface CredentialPlan {
  readonly memory: CredentialMemory
  /** To be carried out in this order. */
  readonly actions: ReadonlyArray<CredentialAction>
  /** When there is something to do without a change; `undefined` if never. */
  readonly wakeAt: number | undefined
}

export const credentialPlan = (before: CredentialMemory, observed: CredentialObservation): CredentialPlan => {
  const { found, memory, reports } = look(before, observed)
  const uses = use(before, found)
  const refused = uses.some(({ _tag }) => _tag === "ReportRefused")
  const end = endReport(memory, observed)
  const turns = turnsOf(memory, observed, found)
  const isDue = ({ at }: Turn): boolean => at <= observed.now
  const later = turns.filter((turn) => !isDue(turn)).map(({ at }) => at)
  return {
    memory: {
      ...memory,
      reported: { ...memory.reported, end: end?.key, refused: before.reported.refused || refused }
    },
    actions: [
      ...reports,
      ...uses,
      ...(end === undefined || end.key === before.reported.end ? [] : [end.action]),
      ...turns.filter(isDue).flatMap(({ action }) => action ?? [])
    ],
    wakeAt: later.length === 0 ? undefined : Math.min(observed.now + maxWait, ...later)
  }
}

/** Max wait for something that comes later, ms: a timer waits for 24 days at most. */
const maxWait = 86_400_000

interface Look {
  readonly memory: CredentialMemory
  /** The credentials to use now, or the reason why there are none; `undefined` while that is not known. */
  readonly found: Found | undefined
  readonly reports: ReadonlyArray<CredentialAction>
}

const look = (before: CredentialMemory, observed: CredentialObservation): Look => {
  const auth = madeAuth(observed.auth)
  const making = ofThisWay(before.making, auth)
  if (auth !== undefined) {
    const renewing = renewingOf(before, undefined)
    const memory = { ...before, making, renewing, tokens: undefined, good: undefined, ending: undefined }
    return { memory, found: lastMade(making), reports: [] }
  }
  const { reading } = observed
  return reading === undefined
    ? { memory: { ...before, making }, found: undefined, reports: [] }
    : lookAt(reading, { ...before, making, good: goodToken(before, observed) }, observed.now)
}

/** The token of the user's Secret is a good one if the member has answered since it came. */
const goodToken = ({ firstSince, good, tokens }: CredentialMemory, { answeredAt }: CredentialObservation) =>
  tokens !== undefined && answeredAt !== undefined && answeredAt > firstSince ? tokens.first : good

const lookAt = (reading: CredentialReading, before: CredentialMemory, now: number): Look => {
  const { current, good, granted, refused, reported } = before
  const newest = newestCredentials(reading, { granted: granted?.token, refused, good }, now)
  if (Result.isFailure(newest) && keepsCertificate(current, reading)) {
    const { failure } = newest
    return { memory: withSpoilt(before, failure), found: current, reports: spoiltReport(before, failure) }
  }
  const { ending, spoilt, tokens } = Result.isSuccess(newest) ? newest.success : noCredentials
  const isOther = isOtherFirst(before.tokens, tokens)
  const memory = {
    ...withSpoilt(before, Result.isSuccess(newest) ? spoilt : reported.spoilt),
    tokens,
    good: tokens && good,
    firstSince: tokens !== undefined && isOther ? now : before.firstSince,
    ending,
    renewing: renewingOf(before, tokens),
    granted: rememberedToken(granted, tokens, reading, now)
  }
  const isOlder = tokens !== undefined && before.tokens !== undefined && isOther
  const older = isOlder && !isSameToken(tokens.first, tokens.used)
  return {
    memory,
    found: Result.map(newest, ({ credentials }) => credentials),
    reports: [...spoiltReport(before, spoilt), ...(older ? [{ _tag: "ReportOlder" } as const] : [])]
  }
}

const noCredentials: Omit<NewestCredentials, "credentials"> = {
  tokens: undefined,
  ending: undefined,
  spoilt: undefined
}

/** A client certificate stays in use if the Secret holds a pair in its place that cannot be used: that is a slip. */
const keepsCertificate = (current: Found | undefined, { auth, isFilled }: CredentialReading): boolean =>
  current !== undefined &&
  Result.isSuccess(current) &&
  current.success._tag === "ClientCertificate" &&
  auth._tag === "Mtls" &&
  isFilled

const withSpoilt = (memory: CredentialMemory, spoilt: string | undefined): CredentialMemory => ({
  ...memory,
  reported: { ...memory.reported, spoilt }
})

const spoiltReport = ({ reported }: CredentialMemory, problem: string | undefined): ReadonlyArray<CredentialAction> =>
  problem === undefined || problem === reported.spoilt ? [] : [{ _tag: "ReportSpoilt", problem }]

const isOtherFirst = (before: UsedTokens | undefined, now: UsedTokens | undefined): boolean =>
  before === undefined || now === undefined || !isSameToken(before.first, now.first)

/** Failed renewals of a token say nothing of another one that its user has put in its place, or of a certificate. */
const renewingOf = ({ renewing, tokens }: CredentialMemory, now: UsedTokens | undefined): Tries =>
  tokens !== undefined && isOtherFirst(tokens, now) ? noFailures : renewing

/** A kept token that is used, as its Secret may be deleted; a Secret that is gone is to be made again. */
const rememberedToken = (
  granted: GrantedToken | undefined,
  tokens: UsedTokens | undefined,
  { hasKeptSecret }: CredentialReading,
  now: number
): GrantedToken | undefined => {
  if (tokens === undefined || isSameToken(tokens.first, tokens.used)) return granted
  if (granted === undefined) return { token: tokens.used, isKept: true, missedFrom: now }
  if (hasKeptSecret) return { ...granted, missedFrom: now }
  const isGone = isSameToken(granted.token, tokens.used) && now >= granted.missedFrom
  return isGone ? { ...granted, isKept: false } : granted
}

/** Takes up other credentials than those in use, or ends the engagement. */
const use = (before: CredentialMemory, found: Found | undefined): ReadonlyArray<CredentialAction> => {
  const { current, refused, reported, tokens } = before
  if (found === undefined || (current !== undefined && sameCredentials(current, found))) return []
  if (Result.isFailure(found)) return [{ _tag: "Disengage", why: found.failure }]
  const isAnother =
    current !== undefined &&
    Result.isSuccess(current) &&
    refused.some((token) => tokens !== undefined && isSameToken(token, tokens.used))
  const report = isAnother && !reported.refused ? [{ _tag: "ReportRefused" } as const] : []
  return [...report, { _tag: "Use", credentials: found.success }]
}

/** The report of the step towards their end that credentials without a renewal have reached. */
const endReport = ({ ending }: CredentialMemory, { now, renews }: CredentialObservation) => {
  const clause = ending === undefined || !renews ? undefined : endingClause(ending, now)
  if (ending === undefined || clause === undefined) return undefined
  const { validity } = ending
  return { key: `${validity.until} ${endStep(validity, now)}`, action: { _tag: "ReportEnd", clause } as const }
}

/** Something to do without a change of the Secrets; without an action it is time to look again. */
interface Turn {
  readonly at: number
  readonly action?: CredentialAction
}

const turnsOf = (
  { ending, granted, keeping, making, renewing, tokens }: CredentialMemory,
  { auth, now, renews, share }: CredentialObservation,
  found: Found | undefined
): ReadonlyArray<Turn> => {
  const made = madeAuth(auth)
  if (made !== undefined) return [{ at: nextMaking(making, made, share, now), action: { _tag: "Make", auth: made } }]
  if (!renews || found === undefined || Result.isFailure(found)) return []
  const turns: Array<Turn> = []
  const step = ending === undefined ? undefined : nextEndStep(ending.validity, now)
  if (step !== undefined) turns.push({ at: step })
  if (tokens === undefined) return turns
  if (granted?.isKept === false)
    turns.push({ at: nextTry(now, keeping.notBefore, now), action: { _tag: "Keep", token: granted.token } })
  else if (granted !== undefined && granted.missedFrom > now) turns.push({ at: granted.missedFrom })
  const renewal = tokenRenewal(tokens.used, tokens.first, share, now)
  if (renewal._tag === "At" && isRenewed(auth))
    turns.push({ at: nextTry(renewal.at, renewing.notBefore, now), action: { _tag: "Renew", renewal } })
  return turns
}

// Outcomes

/** The member is engaged with these credentials, or disengaged. */
export const afterUse = (memory: CredentialMemory, current: Found): CredentialMemory => ({ ...memory, current })

/** The member has granted a token. The failure says why it cannot be used. */
export const afterGrant = (
  memory: CredentialMemory,
  token: MemberToken,
  observed: CredentialObservation
): Result.Result<CredentialMemory, string> => {
  const granted = { ...memory, granted: { token, isKept: false, missedFrom: observed.now } }
  const { tokens } = look(granted, observed).memory
  if (tokens === undefined || !isSameToken(tokens.used, token))
    return Result.fail("the member's new token cannot stand in for that of its Secret, or is older")
  return Result.succeed({
    ...granted,
    renewing: noFailures,
    keeping: { ...memory.keeping, notBefore: 0 },
    reported: { ...memory.reported, refused: false }
  })
}

/** The Secret of the operator holds the token. */
export const afterKeeping = (memory: CredentialMemory, token: MemberToken, now: number): CredentialMemory => ({
  ...memory,
  granted: { token, isKept: true, missedFrom: now + maxUnseen },
  keeping: noFailures
})

/** A token was not renewed, or not kept: the next try comes after a pause. */
export const afterFailure = (
  memory: CredentialMemory,
  tried: "renewing" | "keeping",
  { now, share }: Pick<CredentialObservation, "now" | "share">
): CredentialMemory => {
  const { [tried]: tries, tokens } = memory
  const longest = tokens === undefined ? undefined : maxRenewalPause(tokens.used, now)
  const notBefore = now + renewalPause(tries.failures, share, longest)
  return { ...memory, [tried]: { failures: tries.failures + 1, notBefore } }
}

/** Credentials were made, or not. */
export const afterMaking = (memory: CredentialMemory, tried: Try): CredentialMemory => ({
  ...memory,
  making: afterTry(memory.making, tried),
  reported: Result.isSuccess(tried.made) ? { ...memory.reported, refused: false } : memory.reported
})

/** The member does not know the credentials in use: others that have not ended are tried, if there are any. */
export const afterRefusal = (memory: CredentialMemory, auth: ClusterAuth): CredentialMemory => {
  if (madeAuth(auth) !== undefined) return { ...memory, making: afterRefusedMade(memory.making) }
  const used = memory.tokens?.used
  if (used === undefined || (used.isRefused === true && memory.refused.length === 1)) return memory
  // All have been refused: from the newest on again.
  return { ...memory, refused: used.isRefused === true ? [used] : [...memory.refused, used] }
}

/** Says of a member that does not know the operator why that is, if its credentials have ended or are not valid yet. */
export const whyUnauthorized = (
  { ending, making, tokens }: CredentialMemory,
  { auth, name, secret }: { readonly auth: ClusterAuth; readonly name: string; readonly secret: string },
  now: number
): string | undefined => {
  if (madeAuth(auth) !== undefined) return whyMadeRefused(making, name, now)
  if (tokens === undefined) return ending === undefined ? undefined : invalidClause(ending, now)
  const { claims } = tokens.used
  const until = claims?.validity.until
  if (until === undefined || until > now) return undefined
  const place = auth._tag === "Kubeconfig" ? kubeconfigTitle(auth.place) : `key bearerToken of Secret ${secret}`
  const account = claims?.account ?? { name: "mirrord-operator-envoy", namespace: "<namespace>" }
  return (
    `the token of this cluster ended at ${momentText(until)}; run \`kubectl create token ${account.name} -n ` +
    `${account.namespace} --duration 24h\` there, and write the result to ${place} beside the operator`
  )
}
