/** Adds up the outcomes of stories, for progress and summary. */

import type { Outcome } from "./work.ts"

/** The sums over all stories so far. */
export interface Tally {
  readonly passed: number
  readonly failed: number
  readonly virtualMs: number
  /** Faults that were injected, by kind. */
  readonly faults: Readonly<Record<string, number>>
}

export const emptyTally: Tally = { passed: 0, failed: 0, virtualMs: 0, faults: {} }

export const counted = (tally: Tally, { faults, violation, virtualMs }: Outcome): Tally => {
  const sum: Record<string, number> = { ...tally.faults }
  for (const [kind, count] of Object.entries(faults)) sum[kind] = (sum[kind] ?? 0) + count
  return {
    passed: tally.passed + (violation === undefined ? 1 : 0),
    failed: tally.failed + (violation === undefined ? 0 : 1),
    virtualMs: tally.virtualMs + virtualMs,
    faults: sum
  }
}

export const virtualHours = ({ virtualMs }: Tally): string => (virtualMs / 3_600_000).toFixed(1)

/**
 * The faults in words, such as `cut 12, crash 3`: the most frequent kinds first, and if there are more than `most`
 * kinds the rest as one sum.
 */
export const faultsText = ({ faults }: Tally, most = Infinity): string => {
  const kinds = Object.entries(faults).toSorted(([a, n], [b, m]) => m - n || (a < b ? -1 : 1))
  const rest = kinds.slice(most).reduce((sum, [, count]) => sum + count, 0)
  const shown = kinds.slice(0, most).map(([kind, count]) => `${kind} ${count}`)
  return kinds.length === 0 ? "none" : [...shown, ...(rest > 0 ? [`others ${rest}`] : [])].join(", ")
}
