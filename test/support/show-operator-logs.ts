import { afterAll, beforeEach, type RunnerTestSuite } from "vitest"

/** The lines of an operator's log, and the words for whose they are. */
export type OperatorLog = readonly [operator: string, lines: ReadonlyArray<string>]

const print = async (logs: () => Promise<ReadonlyArray<OperatorLog>>): Promise<void> => {
  for (const [operator, lines] of await logs())
    console.log([`Last lines of ${operator}:`, ...lines.slice(-100)].join("\n"))
}

/** Whether what is done before the tests of a `describe`, or of one inside it, has failed: its tests do not run. */
const isUnready = ({ result, tasks }: RunnerTestSuite): boolean =>
  result?.state === "fail" || tasks.some((task) => task.type === "suite" && isUnready(task))

/**
 * Prints the last lines of operators' logs when a test of the calling `describe` fails, or what is done before its
 * tests: they go with its processes. Call it after the `afterAll` that ends these.
 */
export const showOperatorLogs = (logs: () => Promise<ReadonlyArray<OperatorLog>>): void => {
  beforeEach(({ onTestFailed }) => onTestFailed(() => print(logs)))
  // The last one comes first, while the processes are there.
  // oxlint-disable-next-line no-empty-pattern -- vitest takes nothing but a pattern there.
  afterAll(({}, suite) => (isUnready(suite) ? print(logs) : undefined))
}
