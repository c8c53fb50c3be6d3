/** The time that sessions save, by a reader's estimate of minutes per session. */

/** Minutes saved per session, as the RFC proposes them. */
export const defaultMinutes = 15

/** A reader's estimate, in minutes per session. */
export interface Estimate {
  readonly userMinutes: number
  readonly ciMinutes: number
}

/** Minutes in a text; `undefined` for one that is empty, negative or no number. */
export const readMinutes = (text: string): number | undefined => {
  const minutes = text.trim() === "" ? NaN : Number(text)
  return Number.isFinite(minutes) && minutes >= 0 ? minutes : undefined
}

/** The hours saved, from exact counts. */
export const hoursSaved = (
  counts: { readonly userSessions: number; readonly ciSessions: number },
  { ciMinutes, userMinutes }: Estimate
): { readonly user: number; readonly ci: number; readonly total: number } => {
  const user = (counts.userSessions * userMinutes) / 60
  const ci = (counts.ciSessions * ciMinutes) / 60
  return { user, ci, total: user + ci }
}

/** A count for display alone: rounded up to tens up to 100, to hundreds above, thousands as `1.1K`. */
export const roundedCount = (count: number): string => {
  const step = count <= 100 ? 10 : 100
  const up = Math.ceil(count / step) * step
  return up < 1000 ? String(up) : `${up / 1000}K`
}

/** Hours for a person, to a tenth: `1,234.5 h`. */
export const hoursText = (hours: number): string => `${(Math.round(hours * 10) / 10).toLocaleString("en-US")} h`
