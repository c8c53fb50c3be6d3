/** Median and spread of a few repetitions. */

/** The median of a few repetitions; 0 of none. */
export const median = (all: ReadonlyArray<number>): number =>
  all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0

/** Median, least and most, with so many digits. */
export const spread = (all: ReadonlyArray<number>, digits = 0): string =>
  `${median(all).toFixed(digits)} (${Math.min(...all).toFixed(digits)}–${Math.max(...all).toFixed(digits)})`
