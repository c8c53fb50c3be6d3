/**
 * Judges when certificates and tokens end, and prints times and time spans for people.
 *
 * Not here: reading a validity out of a certificate or a token.
 */

/** From when to when something is valid, epoch ms. `from` is undefined if unknown, `until` if it never ends. */
export interface Validity {
  readonly from: number | undefined
  readonly until: number | undefined
}

export type ValidityVerdict = "Valid" | "EndsSoon" | "Ended" | "NotYet"

const day = 86_400_000
/** Longest time before the end from which on it counts as soon, ms. */
const maxNotice = 30 * day

/**
 * Soon is the last fifth of the lifetime, but at most 30 days: 5 h for a token of one day, 18 days for a certificate of
 * 90 days.
 */
export const judgeValidity = ({ from, until }: Validity, now: number): ValidityVerdict => {
  if (from !== undefined && now < from) return "NotYet"
  if (until === undefined) return "Valid"
  if (now >= until) return "Ended"
  const notice = from === undefined ? maxNotice : Math.min(maxNotice, (until - from) / 5)
  return until - now < notice ? "EndsSoon" : "Valid"
}

const units: ReadonlyArray<readonly [string, number]> = [
  ["d", day],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000]
]

/** A time span such as `3d` or `2h5m`: the largest unit, and below ten of it the next smaller unit too. */
export const spanText = (milliseconds: number): string => {
  const span = Math.max(0, milliseconds)
  const index = units.findIndex(([, size]) => span >= size)
  const [unit, size] = units[index] ?? ["s", 1_000]
  const count = Math.floor(span / size)
  const [smaller, smallerSize] = units[index + 1] ?? ["", 0]
  const rest = smallerSize === 0 || count >= 10 || index < 0 ? 0 : Math.floor((span % size) / smallerSize)
  return rest === 0 ? `${count}${unit}` : `${count}${unit}${rest}${smaller}`
}

/** Epoch ms as text that is the same in every time zone: `2026-11-22 01:42 UTC`. */
export const momentText = (time: number): string =>
  Number.isFinite(time) && Math.abs(time) <= 8.64e15
    ? `${new Date(time).toISOString().slice(0, 16).replace("T", " ")} UTC`
    : "an unreadable time"
