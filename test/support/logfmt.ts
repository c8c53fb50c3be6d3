/** Reads lines of an operator's log. */

export type LogFields = Readonly<Record<string, string>>

/** The fields of a line in logfmt. */
export const fieldsOf = (line: string): LogFields =>
  Object.fromEntries(
    [...line.matchAll(/([A-Za-z]+)=("(?:[^"\\]|\\.)*"|\S+)/gu)].map(([, key = "", value = ""]) => [
      key,
      value.startsWith('"') ? String(JSON.parse(value)) : value
    ])
  )
