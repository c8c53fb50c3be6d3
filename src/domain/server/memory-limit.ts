/** Whether a container has memory enough for an operator. Not here: reading its limit (app/commands). */

const mebibyte = 1_048_576
/** With less the program ends at its start, or with its first sessions: docs/operating/performance.md. */
const minMiB = 128

/** Why an operator does not start with a limit of `limit` bytes; `undefined` if it does, as without a limit. */
export const memoryProblem = (limit: number | undefined): string | undefined =>
  limit === undefined || limit >= minMiB * mebibyte
    ? undefined
    : `the memory limit of this container is ${Math.floor(limit / mebibyte)} MiB, and an operator needs ` +
      `${minMiB} MiB at least, more with sessions; raise operator.limits.memory, 512Mi unless set`
