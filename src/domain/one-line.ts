/**
 * Text of others on one line, for logs, terminals and Events.
 *
 * Not here: which texts are secret, and texts that are stored (clean-text.ts).
 */

/**
 * Characters that end or rewrite a line of a log or a terminal: control characters, line and paragraph separators,
 * marks that turn the direction of writing, and halves of surrogate pairs. The backslash is among them, so that an
 * escape cannot be faked.
 */
const harmful = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Bidi_Control}\uFEFF\\]/gu

const escaped = (char: string): string =>
  char === "\\" ? "\\\\" : `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`

/**
 * A text as one line. Harmful characters are written as `\u000a`, and a line longer than `most` UTF-16 code units is
 * cut and ends in `…`.
 */
export const oneLine = (text: string, most: number): string => {
  // The text is cut before it is escaped, so that no escape is cut in two. Half a pair at the cut is escaped too.
  const line = text.slice(0, most).replace(harmful, escaped)
  return line.length <= most && text.length <= most ? line : `${cutBetweenCharacters(line, most - 1)}…`
}

/** At most `most` code units, without the beginning of an escape or of a surrogate pair at the end. */
const cutBetweenCharacters = (line: string, most: number): string => {
  const cut = line.slice(0, Math.max(0, most))
  const parts = /^(?:\\u[0-9a-f]{4}|\\\\|[^\\\p{Cs}])*/u.exec(cut)
  return parts?.[0] ?? ""
}
