/**
 * What ends or rewrites a line of a log or a terminal: control characters, line and paragraph separators, marks that
 * turn the direction of writing, and halves of surrogate pairs. A backslash too, so that what stands for them cannot be
 * faked.
 */
const harmful = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u200E\u200F\u202A-\u202E\u2066-\u2069\uFEFF\\]/gu

const escaped = (char: string): string =>
  char === "\\" ? "\\\\" : `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`

/**
 * Somebody else's text as one line that shows what it is: harmful characters are written as `\u000a`, and what is
 * longer than `most` UTF-16 code units ends in `…`.
 */
export const oneLine = (text: string, most: number): string => {
  // Before the escapes, so that none is cut in two; half a pair at the cut is escaped like any other.
  const line = text.slice(0, most).replace(harmful, escaped)
  return line.length <= most && text.length <= most ? line : `${cutBetweenCharacters(line, most - 1)}…`
}

/** At most so many code units, without the beginning of an escape or of a surrogate pair at the end. */
const cutBetweenCharacters = (line: string, most: number): string => {
  const cut = line.slice(0, Math.max(0, most))
  const parts = /^(?:\\u[0-9a-f]{4}|\\\\|[^\\\p{Cs}])*/u.exec(cut)
  return parts?.[0] ?? ""
}
