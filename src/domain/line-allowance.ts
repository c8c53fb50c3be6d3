/**
 * How many lines of one kind a log takes: a burst, then one each second. A repeated line cannot push all others out of
 * a log that keeps its last megabytes only.
 *
 * Not here: writing lines, and the sums of those that are not written (app/kernel).
 */

/** Lines of one kind that may be written at once. */
export const lineBurst = 50
/** Time in which one more line may be written, in ms. */
export const lineEvery = 1_000

/** The lines of one kind that may still be written, as of a time; a kind that was never seen has none of these. */
export interface LineAllowance {
  readonly lines: number
  /** Epoch ms. */
  readonly at: number
}

/** The allowance at a later time. A clock that was set back gives nothing and takes nothing. */
const grown = (allowance: LineAllowance | undefined, now: number): LineAllowance => {
  if (allowance === undefined) return { lines: lineBurst, at: now }
  const more = Math.max(0, now - allowance.at) / lineEvery
  return { lines: Math.min(lineBurst, allowance.lines + more), at: now }
}

/** Takes one line from an allowance, if it has one; `left` is the allowance afterwards. */
export const takeLine = (
  allowance: LineAllowance | undefined,
  now: number
): { readonly isAllowed: boolean; readonly left: LineAllowance } => {
  const { at, lines } = grown(allowance, now)
  return lines < 1 ? { isAllowed: false, left: { lines, at } } : { isAllowed: true, left: { lines: lines - 1, at } }
}

/** Whether nothing of an allowance is in use, so that it may be forgotten. */
export const isWholeAllowance = (allowance: LineAllowance, now: number): boolean =>
  grown(allowance, now).lines >= lineBurst
