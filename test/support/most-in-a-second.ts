/** The most moments that lie within one second. */

/** `moments`: ms, in order. */
export const maxInASecond = (moments: ReadonlyArray<number>): number => {
  let from = 0
  return moments.reduce((most, moment, i) => {
    while ((moments[from] ?? moment) <= moment - 1_000) from++
    return Math.max(most, i - from + 1)
  }, 0)
}
