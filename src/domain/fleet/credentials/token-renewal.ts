/**
 * Which of a member's tokens is used, and when the next one is asked for. A member's first token comes from its Secret;
 * the operator asks the member for the further ones (TokenRequest), and keeps the last of them in a Secret of its own.
 *
 * Not here: asking and keeping (app/fleet/member-token.ts). Without another word times are epoch ms of this operator's
 * clock; claims are of the member's, and the two may differ.
 */

import type { ServiceAccount, TokenClaims } from "./token-claims.ts"

/** A token that could be used, without the token itself. */
export interface TokenCandidate {
  readonly claims: TokenClaims | undefined
  /**
   * When this process got it from the member; missing for a token from a Secret, whose age is known by its claims
   * alone.
   */
  readonly grantedAt?: number | undefined
  /** Whether the member did not know its bearer. */
  readonly isRefused?: boolean
}

/** API servers grant no shorter lifetime (`kube-apiserver` refuses `expirationSeconds` below 600). */
const minLifetime = 600_000
/** Lifetime that is asked for where the first token does not state its own: that of `kubectl create token`. */
const defaultLifetime = 3_600_000
/** Part of its lifetime after which a token is renewed at the latest. */
const latest = 0.8
/** Part of the lifetime over which the renewals of many members are spread. */
const spread = 0.1
/** Overdue renewals are spread over so many ms, when an operator starts with many members. */
const overdueSpread = 10_000
/** A token that this process got is renewed after so many ms at the earliest, whatever its claims are. */
const earliest = 10_000
/** Clocks that differ by less are taken for equal, ms. */
const clockTolerance = 60_000
/**
 * A token whose age is known by its claims alone is renewed so much earlier, ms: the member's clock may be ahead.
 * Otherwise a token of ten minutes would end before its renewal by a clock that is three minutes ahead.
 */
const clockMargin = 600_000

/** The time from issue to end, if the claims have one. */
const lifetimeOf = (claims: TokenClaims | undefined): number | undefined => {
  const { issuedAt, validity } = claims ?? { issuedAt: undefined, validity: undefined }
  const until = validity?.until
  if (issuedAt === undefined || until === undefined) return undefined
  return until > issuedAt ? until - issuedAt : undefined
}

export type TokenRenewal =
  /** `why`: a clause about the token. */
  | { readonly _tag: "Never"; readonly why: string }
  | {
      readonly _tag: "At"
      readonly at: number
      readonly account: ServiceAccount
      /** The lifetime to ask for, in s. */
      readonly expirationSeconds: number
    }

/** When a token's renewal is due, by what this process knows of its age. `share`: this member's place in the spread. */
const dueAt = ({ claims, grantedAt }: TokenCandidate, share: number, now: number): number => {
  const lifetime = lifetimeOf(claims)
  const issuedAt = claims?.issuedAt
  // Another one would have the same claims. A grant in the future gives no age: this clock was set back.
  if (grantedAt !== undefined && grantedAt <= now + clockTolerance)
    return Math.max(now, grantedAt + Math.max(earliest, (lifetime ?? minLifetime) * (latest - spread * share)))
  // A token that is issued in the future has an unknown age: the clocks differ.
  if (lifetime === undefined || issuedAt === undefined || issuedAt > now + clockTolerance) return now
  return Math.max(now, issuedAt + lifetime * (latest - spread * share) - clockMargin)
}

/** When an operator that starts now renews this member's token at the earliest: many may be overdue. */
export const firstRenewal = (share: number, now: number): number => now + overdueSpread * share

/**
 * When the used token is renewed. `first`: the token from the user's Secret, whose lifetime all further tokens are to
 * have. `share`: from 0 up to 1, random for each member, so that members of one hour are not renewed in one second.
 */
export const tokenRenewal = (used: TokenCandidate, first: TokenCandidate, share: number, now: number): TokenRenewal => {
  const { claims } = used
  if (claims === undefined) return { _tag: "Never", why: "it is no JWT" }
  if (claims.validity.until === undefined) return { _tag: "Never", why: "it has no end" }
  if (claims.account === undefined) return { _tag: "Never", why: "it is no service account's" }
  const wanted = lifetimeOf(first.claims) ?? lifetimeOf(claims) ?? defaultLifetime
  return {
    _tag: "At",
    at: dueAt(used, share, now),
    account: claims.account,
    expirationSeconds: Math.round(Math.max(wanted, minLifetime) / 1_000)
  }
}

/**
 * Whether a token may stand in for the first: it has an end, as the first has, and is the same account's. An account of
 * the same name in another cluster, or one that was deleted and made again, has another uid.
 */
const mayReplace = ({ claims: other }: TokenCandidate, { claims: first }: TokenCandidate): boolean =>
  first?.validity.until !== undefined &&
  other?.validity.until !== undefined &&
  first.subject !== undefined &&
  other.subject === first.subject &&
  (other.uid ?? first.uid) === (first.uid ?? other.uid)

/** A token without a time of issue counts as the oldest: any token got with it has to replace it. */
const isNewer = ({ claims: one }: TokenCandidate, { claims: other }: TokenCandidate): boolean => {
  const [a, b] = [one?.issuedAt ?? -Infinity, other?.issuedAt ?? -Infinity]
  return a === b ? (one?.validity.until ?? 0) > (other?.validity.until ?? 0) : a > b
}

/**
 * The newest token that has not ended, and that the member has not refused; failing that the newest that has not ended,
 * and then the newest. Helm writes the first token into its Secret again with each upgrade, so the first is not always
 * the newest. A first token without an end is used as it is, and so is one of another account: an administrator has set
 * it on purpose.
 */
export const usedToken = <T extends TokenCandidate>(first: T, others: ReadonlyArray<T>, now: number): T => {
  const candidates = [first, ...others.filter((other) => mayReplace(other, first))]
  const lasting = candidates.filter(({ claims }) => (claims?.validity.until ?? Infinity) > now)
  const unrefused = lasting.filter(({ isRefused }) => isRefused !== true)
  const [start = first, ...rest] = [unrefused, lasting, candidates].find(({ length }) => length > 0) ?? []
  return rest.reduce((best, other) => (isNewer(other, best) ? other : best), start)
}

/** Longest pause between two tries to renew a token, ms. */
const maxPause = 300_000
/** Shortest pause after a token's end, ms. */
const minPause = 2_000
/** Part of the rest of a token's life that a pause may take: a member that was slow is asked again in time. */
const pauseOfRest = 1 / 4

/**
 * The longest pause between two tries to renew a token that is in use, ms. A member whose clock is behind takes a token
 * for some time after its end, so tries become rarer behind the end as they became more frequent before it.
 */
export const maxRenewalPause = ({ claims }: TokenCandidate, now: number): number => {
  const rest = (claims?.validity.until ?? Infinity) - now
  const pause = rest > 0 ? rest * pauseOfRest : Math.max(minPause, -rest * pauseOfRest)
  return Math.min(maxPause, pause)
}

/** By so much of the longest pause a pause may differ from what its number of failures says. */
const pauseSpread = 0.2

/** The pause after so many failed tries in a row, ms. `share` as in {@link tokenRenewal}. */
export const renewalPause = (failures: number, share: number, longest = maxPause): number =>
  Math.min(longest, 2_000 * 2 ** Math.min(failures, 10)) * (1 - pauseSpread + 2 * pauseSpread * share)

/**
 * When something that is due is tried: not before a pause is over. A pause that is longer than any was begun before
 * this clock was set back, and counts for nothing.
 */
export const nextTry = (due: number, notBefore: number, now: number, longest = maxPause): number =>
  notBefore - now > (1 + pauseSpread) * longest ? due : Math.max(due, notBefore)
