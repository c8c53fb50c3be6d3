/**
 * Mistakes of configuration files as sentences: where, what was found, what to do.
 *
 * Not here: what a mistake is, which the parsers decide.
 */

import type { ConfigurationMistake } from "./configuration.ts"

/** A value as a person would write it, short enough for one line. */
const shown = (value: unknown): string => {
  if (value === undefined) return "nothing"
  const text = JSON.stringify(value) ?? typeof value
  return text.length <= 80 ? text : `${text.slice(0, 77)}…`
}

/** Collects mistakes while a file is read, so that all of them can be reported at once. */
export class MistakeList {
  readonly mistakes: Array<ConfigurationMistake> = []
  readonly file: string

  constructor(file: string) {
    this.file = file
  }

  /** A mistake in a field, or in the file as a whole where `field` is empty. */
  add(field: string, value: unknown, problem: string, cure: string): void {
    const { file } = this
    const found = shown(value)
    const place = field === "" ? file : `${file}, ${field}`
    const message = `${place}: ${problem} (found ${found}); ${cure}.`
    this.mistakes.push({ file, field, value: found, cure, message })
  }
}
