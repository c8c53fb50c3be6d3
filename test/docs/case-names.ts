/** The names of the test cases in a file, by the layout that oxfmt gives to all of them. */

/** A text as the first argument of a call that has more; `before` ends with the call's parenthesis. */
const firstArgument = /\(\s*("(?:[^"\\\n]|\\.)*"|`[^`]*`)\s*,/gu

const indentOf = (line: string): number => line.length - line.trimStart().length

/**
 * The line with which the call at this line begins. `it.each([` … `])("name",` closes where it began, so a line that
 * begins with a bracket belongs to the nearest line above with the same indent.
 */
const headOf = (lines: ReadonlyArray<string>, at: number): string => {
  const line = lines[at] ?? ""
  if (!/^\s*[\])}]/u.test(line)) return line
  const isHead = (above: string): boolean => indentOf(above) === indentOf(line) && !/^\s*[\])}]|^\s*$/u.test(above)
  return lines.slice(0, at).findLast(isHead) ?? ""
}

const textOf = (literal: string): string =>
  literal.startsWith('"') ? String(JSON.parse(literal)) : literal.slice(1, -1)

/**
 * Names of all cases, as they are written: with the placeholders of `each`, with `${…}` in templates. Not those of
 * `describe`, of cases that are skipped, and of names that are put together from several texts.
 */
export const caseNames = (source: string): ReadonlyArray<string> => {
  const lines = source.split("\n")
  return [...source.matchAll(firstArgument)].flatMap(({ index, 1: literal = "" }) => {
    const head = headOf(lines, source.slice(0, index).split("\n").length - 1)
    return /^\s*(?:it|test)\b/u.test(head) && !/^\s*\w+\.(?:skip|todo|fails)\b/u.test(head) ? [textOf(literal)] : []
  })
}
