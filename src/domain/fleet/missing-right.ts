/**
 * The sentence about a right that this operator lacks in a cluster: a mistake of its configuration, and no loss of the
 * cluster.
 *
 * Not here: which rights an operator needs (commands/doctor/needed-rights.ts).
 */

/** A clause with the cure, as the chart's roles have every right. `detail`: the API server's words, with the verb. */
export const missingRight = (detail: string): string =>
  `${detail}; upgrade the chart there, whose roles have this right`
