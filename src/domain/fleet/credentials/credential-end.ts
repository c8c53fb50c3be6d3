/**
 * Decides when administrators are warned of credentials that end and are not renewed, and in which words.
 *
 * Not here: the warning itself (app/fleet/follow-credentials.ts). Times are epoch ms.
 */

import { judgeValidity, momentText, spanText, type Validity } from "./validity.ts"

const day = 86_400_000
/** Warnings come so long before the end, ms, and at the end. */
const notices = [30 * day, 7 * day, day]
/** A notice is left out if it is more than this part of a lifetime: new credentials of a day are no news. */
const maxOfLife = 1 / 3
/** The one notice of credentials that live too short for the others, as a part of their lifetime. */
const ofShortLife = 1 / 5

/** Credentials that are not renewed. Both texts are clauses. */
export interface EndingCredentials {
  /** Such as `the client certificate in Secret mirrord-cluster-a`. */
  readonly what: string
  readonly validity: Validity
  readonly cure: string
}

/** The moments of the warnings, in order; the last is the end. None without an end. */
const momentsOf = ({ from, until }: Validity): ReadonlyArray<number> => {
  if (until === undefined) return []
  const life = from === undefined ? Infinity : Math.max(0, until - from)
  const fitting = notices.filter((notice) => notice <= life * maxOfLife)
  return [...(fitting.length > 0 ? fitting : [life * ofShortLife]).map((notice) => until - notice), until]
}

/** How many of the moments are over. */
export const endStep = (validity: Validity, now: number): number =>
  momentsOf(validity).filter((moment) => moment <= now).length

/** The moment of the next warning; `undefined` if there is none. */
export const nextEndStep = (validity: Validity, now: number): number | undefined =>
  momentsOf(validity).find((moment) => moment > now)

/** The moment of the first warning; `undefined` if it has not come. */
export const endingSince = (validity: Validity, now: number): number | undefined =>
  momentsOf(validity).find((moment) => moment <= now)

/** The clause for credentials that have ended, or of whose end people were warned; `undefined` for all others. */
export const endingClause = ({ cure, validity, what }: EndingCredentials, now: number): string | undefined => {
  const { until } = validity
  if (until === undefined || endStep(validity, now) === 0) return undefined
  return until <= now
    ? `${what} ended at ${momentText(until)}; ${cure}`
    : `${what} ends in ${spanText(until - now)}, at ${momentText(until)}; ${cure}`
}

/** The clause for credentials that are not valid now; undefined for all others. */
export const invalidClause = (credentials: EndingCredentials, now: number): string | undefined => {
  const { cure, validity, what } = credentials
  switch (judgeValidity(validity, now)) {
    case "Ended":
      return endingClause(credentials, now)
    case "NotYet":
      return `${what} is valid from ${momentText(validity.from ?? now)} only; wait until then, or ${cure}`
    case "EndsSoon":
    case "Valid":
      return undefined
  }
}
