/**
 * The command `braid usage`: prints the report on use as a table, as JSON, or as a file for spreadsheets.
 *
 * Not here: reading it (read-usage.ts), the report (domain/usage) and its lines
 * (domain/commands/overview/usage-table.ts).
 */

import { writeFile } from "node:fs/promises"
import { Effect } from "effect"
import { usageLines } from "../../../domain/commands/overview/usage-table.ts"
import { type Estimate, readMinutes } from "../../../domain/usage/return-on-investment.ts"
import type { UsageReport } from "../../../domain/usage/usage-report.ts"
import { csvOf, usageSheets } from "../../../domain/usage/usage-sheets.ts"
import type { KubeConfigChoice } from "../user-kube-config.ts"
import type { Unanswered } from "./ask-cluster.ts"
import { makeUsageReader, type UsageWish } from "./read-usage.ts"
import { tell, tellUnanswered } from "./tell.ts"

export interface UsageChoice extends KubeConfigChoice, UsageWish {
  readonly userMinutes: string
  readonly ciMinutes: string
}

export type UsageFileFormat = "json" | "csv" | "xlsx"

export interface UsageOutput {
  readonly format: "table" | UsageFileFormat
  /** Where it goes; `undefined`: standard output. */
  readonly output: string | undefined
}

/** The report of the chosen cluster. */
export const readUsage = ({ by, from, to, ...choice }: UsageChoice): Effect.Effect<UsageReport, Unanswered> =>
  Effect.flatMap(makeUsageReader(choice), ({ report }) => report({ by, from, to })).pipe(Effect.scoped)

const estimateOf = ({ ciMinutes, userMinutes }: UsageChoice): Effect.Effect<Estimate, Unanswered> => {
  const minutes = (flag: string, text: string): Effect.Effect<number, Unanswered> => {
    const read = readMinutes(text)
    return read === undefined
      ? Effect.fail({ message: `${flag} is ${JSON.stringify(text)}.`, fix: "Give minutes, 0 or more, such as 15." })
      : Effect.succeed(read)
  }
  return Effect.all({
    userMinutes: minutes("--user-minutes", userMinutes),
    ciMinutes: minutes("--ci-minutes", ciMinutes)
  })
}

/** A report as a file. */
export const usageFile = (format: UsageFileFormat, report: UsageReport): Effect.Effect<string | Uint8Array> => {
  const sheets = usageSheets(report)
  if (format === "json") return Effect.succeed(`${JSON.stringify(report, null, 2)}\n`)
  return format === "csv"
    ? Effect.succeed(csvOf(sheets[1]))
    : Effect.flatMap(
        Effect.promise(() => import("../../../adapters/sheets/workbook.ts")),
        ({ workbook }) => workbook(sheets)
      )
}

const written = (output: string | undefined, content: string | Uint8Array): Effect.Effect<void, Unanswered> =>
  output === undefined
    ? Effect.sync(() => void process.stdout.write(content))
    : Effect.tryPromise({
        try: () => writeFile(output, content),
        catch: (cause) => ({
          message: `${output} cannot be written: ${cause instanceof Error ? cause.message : String(cause)}.`,
          fix: "Name another file with --output."
        })
      })

/** Runs the command. Exit code 1: there is no report, or it cannot be written. */
export const runUsage = (choice: UsageChoice & UsageOutput): Effect.Effect<number> => {
  const { format, output } = choice
  const reading = Effect.andThen(estimateOf(choice), (estimate) =>
    Effect.map(readUsage(choice), (report) => ({ value: report, lines: usageLines(report, estimate), notes: [] }))
  )
  if (format === "table" || (format === "json" && output === undefined)) return tell(format, reading)
  if (format === "xlsx" && output === undefined && process.stdout.isTTY === true) {
    tellUnanswered({ message: "A workbook is no text for a terminal.", fix: "Name a file with --output." })
    return Effect.succeed(1)
  }
  return reading.pipe(
    Effect.flatMap(({ value }) => usageFile(format, value)),
    Effect.flatMap((content) => written(output, content)),
    Effect.as(0),
    Effect.catch((why) =>
      Effect.as(
        Effect.sync(() => tellUnanswered(why)),
        1
      )
    )
  )
}
