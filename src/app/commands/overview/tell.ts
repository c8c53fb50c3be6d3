/**
 * Prints what an overview command found: a table for people, JSON or YAML for programs; problems on standard error.
 *
 * Not here: finding it.
 */

import { Effect } from "effect"
import { stringify } from "yaml"
import { cleanText, cleanTexts, textLimits } from "../../../domain/clean-text.ts"
import { asObject } from "../../../domain/json.ts"
import type { Unanswered } from "./ask-cluster.ts"

/** The form of the output: a table for people, JSON or YAML for programs. */
export type Output = "table" | "json" | "yaml"

/** The finding of a command in both forms: `value` for programs, `lines` for people. */
export interface Told {
  readonly value: object
  /** More fields of `value`, which are a person's own: they are printed whole. */
  readonly own?: object
  readonly lines: ReadonlyArray<string>
  /** Problems that `value` and `lines` leave out, for standard error. */
  readonly notes: ReadonlyArray<string>
}

/** All that a program gets. Texts of others are made harmless. */
const printedValue = ({ own, value }: Told): unknown => {
  const clean = cleanTexts(value)
  return own === undefined ? clean : { ...asObject(clean), ...own }
}

export const toldText = (output: Output, told: Told): string => {
  switch (output) {
    case "table":
      return told.lines.join("\n")
    case "json":
      return JSON.stringify(printedValue(told), null, 2)
    case "yaml":
      return stringify(printedValue(told), { lineWidth: 0 }).trimEnd()
  }
}

/** A sentence beside the output, on standard error. */
export const tellNote = (note: string): void => console.error(`braid: ${cleanText(note, textLimits.message)}`)

/** Prints why there is nothing to show, and what to do. */
export const tellUnanswered = ({ fix, message }: Unanswered): void => {
  tellNote(message)
  console.error(`fix: ${fix}`)
}

/** Prints the finding. If there is none: exit code 1, and a sentence and a fix on standard error. */
export const tell = (output: Output, found: Effect.Effect<Told, Unanswered>): Effect.Effect<number> =>
  found.pipe(
    Effect.map((finding) => {
      for (const note of finding.notes) tellNote(note)
      console.log(toldText(output, finding))
      return 0
    }),
    Effect.catch((unanswered) =>
      Effect.sync(() => {
        tellUnanswered(unanswered)
        return 1
      })
    )
  )
