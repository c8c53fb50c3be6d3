/**
 * Decides when the authority for tunnels is exchanged, and in which order, so that each side can verify the other at
 * every moment. The next authority is trusted beside the present one, until the members have it; then it signs, and the
 * former one is trusted for as long as a certificate lasts that it has signed.
 *
 * Not here: making authorities and keeping them (app/outbound/authority.ts). Times are epoch ms.
 */

import { maxLife } from "./certificate-plan.ts"

/** The annotation of the authority's Secret that asks for an exchange, whatever its value. */
export const exchangeAnnotation = "operator.metalbear.co/exchange-authority"

/** How long before its end an authority is exchanged without being asked for, ms: a year. */
const notice = 365 * 24 * 3_600_000

/** The authorities that are kept. At most one of `nextSince` and `formerSince` is there. */
export interface KeptAuthorities {
  /** When the authority ends that signs. */
  readonly until: number
  /** When the next authority was made; `undefined` if there is none. */
  readonly nextSince: number | undefined
  /** When the former authority signed for the last time; `undefined` if there is none. */
  readonly formerSince: number | undefined
  /** Whether people ask for an exchange. */
  readonly isAsked: boolean
}

/**
 * - `Prepare`: make the next authority, which is trusted beside the present one.
 * - `Promote`: sign with the next one from now on.
 * - `Retire`: trust the former one no more.
 */
export type ExchangeStep = "Keep" | "Prepare" | "Promote" | "Retire"

/** The next step at `now`. `isKnown`: whether each member that has joined says that it has the next authority. */
export const exchangeStep = (
  { formerSince, isAsked, nextSince, until }: KeptAuthorities,
  isKnown: boolean,
  now: number
): ExchangeStep => {
  if (formerSince !== undefined) return now >= formerSince + maxLife ? "Retire" : "Keep"
  // A member that was away for so long has no certificate any more, and gets all authorities with its next one.
  if (nextSince !== undefined) return isKnown || now >= nextSince + maxLife ? "Promote" : "Keep"
  return isAsked || now >= until - notice ? "Prepare" : "Keep"
}
