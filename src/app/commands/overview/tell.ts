/**
 * Prints what an overview command found: a table for people, JSON or YAML for programs; problems on standard error.
 *
 * Not here: finding it.
 */

import { Effect, Result } from "effect"
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

/** Pause between two looks of a command that watches, in ms. */
const lookEvery = 2_000

/** One look of many: programs get a line or a document for each, people a new screen where there is one. */
const changedText = (output: Output, told: Told): string => {
  switch (output) {
    case "table":
      return process.stdout.isTTY ? `\u001b[H\u001b[2J${toldText(output, told)}` : `${toldText(output, told)}\n`
    case "json":
      return JSON.stringify(printedValue(told))
    case "yaml":
      return `---\n${toldText(output, told)}`
  }
}

/** The part of a finding by whose change it is shown again. An age alone is worth a new screen, and no other table. */
const changesBy = (output: Output, told: Told): unknown =>
  output === "table" && process.stdout.isTTY ? told.lines : printedValue(told)

/**
 * Prints the finding whenever it has changed, until the program is interrupted. Without a first finding it ends as
 * {@link tell} does; later problems are told once, because a cluster may come back.
 */
const tellChanges = Effect.fnUntraced(function* (
  output: Output,
  found: Effect.Effect<Told, Unanswered>
): Effect.fn.Return<number> {
  let told: { readonly shown: string; readonly problem?: string } | undefined
  for (;;) {
    const finding = yield* Effect.result(found)
    if (Result.isFailure(finding)) {
      const { failure } = finding
      if (failure.message !== told?.problem) tellUnanswered(failure)
      if (told === undefined) return 1
      told = { ...told, problem: failure.message }
    } else {
      const { success } = finding
      const text = changedText(output, success)
      const shown = JSON.stringify([changesBy(output, success), success.notes])
      if (shown !== told?.shown || told.problem !== undefined) {
        console.log(text)
        // Last, since a new screen takes away what stood there.
        for (const note of success.notes) tellNote(note)
      }
      told = { shown }
    }
    yield* Effect.sleep(lookEvery)
  }
})

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

/** The same, or with `watch` again whenever the finding has changed. */
export const tellOrWatch = (
  { output, watch }: { readonly output: Output; readonly watch: boolean },
  found: Effect.Effect<Told, Unanswered>
): Effect.Effect<number> => (watch ? tellChanges(output, found) : tell(output, found))
