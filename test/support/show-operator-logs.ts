import { beforeEach } from "vitest"

/** The lines of an operator's log, and the words for whose they are. */
export type OperatorLog = readonly [operator: string, lines: ReadonlyArray<string>]

/** Prints the last lines of operators' logs when a test of the calling `describe` fails: they go with its processes. */
export const showOperatorLogs = (logs: () => Promise<ReadonlyArray<OperatorLog>>): void =>
  beforeEach(({ onTestFailed }) =>
    onTestFailed(async () => {
      for (const [operator, lines] of await logs())
        console.log([`Last lines of ${operator}:`, ...lines.slice(-100)].join("\n"))
    })
  )
