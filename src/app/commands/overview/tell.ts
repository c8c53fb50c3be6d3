import { Effect } from "effect"
import { stringify } from "yaml"
import type { Unanswered } from "./ask-cluster.ts"

/** How a command tells what it found: lines for people, or the same for programs. */
export type Output = "table" | "json" | "yaml"

/** What a command has to tell, in both forms. */
export interface Told {
  readonly value: object
  readonly lines: ReadonlyArray<string>
  /** What is missing from it, for standard error. */
  readonly notes: ReadonlyArray<string>
}

export const toldText = (output: Output, { lines, value }: Told): string => {
  switch (output) {
    case "table":
      return lines.join("\n")
    case "json":
      return JSON.stringify(value, null, 2)
    case "yaml":
      return stringify(value, { lineWidth: 0 }).trimEnd()
  }
}

/** Prints what was found; exit code 1, with a sentence and a fix on standard error, when nothing was. */
export const tell = (output: Output, found: Effect.Effect<Told, Unanswered>): Effect.Effect<number> =>
  found.pipe(
    Effect.map((told) => {
      for (const note of told.notes) console.error(`braid: ${note}`)
      console.log(toldText(output, told))
      return 0
    }),
    Effect.catch(({ fix, message }) =>
      Effect.sync(() => {
        console.error(`braid: ${message}\nfix: ${fix}`)
        return 1
      })
    )
  )
