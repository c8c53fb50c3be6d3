import type { ConfigurationMistake } from "./configuration.ts"

/** A value as a person would write it, short enough for one line. */
const shown = (value: unknown): string => {
  if (value === undefined) return "nothing"
  const text = JSON.stringify(value) ?? typeof value
  return text.length <= 80 ? text : `${text.slice(0, 77)}…`
}

const mistake = (file: string, field: string, value: unknown, problem: string, cure: string): ConfigurationMistake => {
  const found = shown(value)
  const place = field === "" ? file : `${file}, ${field}`
  return { file, field, value: found, cure, message: `${place}: ${problem} (found ${found}); ${cure}.` }
}

/** Collects mistakes while a file is read, so that all of them can be told at once. */
export class MistakeList {
  readonly mistakes: Array<ConfigurationMistake> = []
  readonly file: string

  constructor(file: string) {
    this.file = file
  }

  add(field: string, value: unknown, problem: string, cure: string): void {
    this.mistakes.push(mistake(this.file, field, value, problem, cure))
  }
}
