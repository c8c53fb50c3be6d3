/**
 * The command `braid doctor`: prints the report, as text or JSON, and gives the exit code.
 *
 * Not here: the examination (doctor.ts) and the form of the report (domain/commands/doctor/report.ts).
 */

import { Effect } from "effect"
import { cleanTexts } from "../../../domain/clean-text.ts"
import { exitCodeOf, reportJson, reportLines } from "../../../domain/commands/doctor/report.ts"
import { type DoctorOptions, examine } from "./doctor.ts"

export interface DoctorCommandOptions extends DoctorOptions {
  readonly output: "text" | "json"
}

/** Runs the doctor. Exit code 0: no failure; 1: failures; 2: no cluster could be examined. */
export const runDoctor = ({ output, ...options }: DoctorCommandOptions): Effect.Effect<number> =>
  Effect.map(examine(options), (report) => {
    console.log(
      output === "json" ? JSON.stringify(cleanTexts(reportJson(report)), null, 2) : reportLines(report).join("\n")
    )
    return exitCodeOf(report)
  })
