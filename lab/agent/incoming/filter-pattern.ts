/**
 * Translates regular expressions of filters, as far as JavaScript can match what Rust's `fancy-regex` means.
 */

import { Result } from "effect"

/** POSIX classes inside brackets, ASCII as in Rust's regex crate. */
const posixClasses: ReadonlyMap<string, string> = new Map([
  ["alnum", "0-9A-Za-z"],
  ["alpha", "A-Za-z"],
  ["ascii", "\\x00-\\x7F"],
  ["blank", "\\t "],
  ["cntrl", "\\x00-\\x1F\\x7F"],
  ["digit", "0-9"],
  ["graph", "!-~"],
  ["lower", "a-z"],
  ["print", " -~"],
  ["punct", "!-\\/:-@\\[-`{-~"],
  ["space", "\\t\\n\\v\\f\\r "],
  ["upper", "A-Z"],
  ["word", "0-9A-Za-z_"],
  ["xdigit", "0-9A-Fa-f"]
])

/** Escapes of Rust's crate that mean something else in JavaScript. */
const escapes: ReadonlyMap<string, string> = new Map([
  ["A", "^"],
  ["z", "$"],
  ["h", "[0-9A-Fa-f]"],
  ["a", "\\x07"]
])

/** Rust's spelling → JavaScript's, where both engines have the construct. */
const translate = (pattern: string): string =>
  pattern
    .replaceAll(/\[:(\w+):\]/g, (whole, name: string) => posixClasses.get(name) ?? whole)
    .replaceAll(/\(\?P<(\w+)>/g, "(?<$1>")
    .replaceAll(/\(\?P=(\w+)\)/g, "\\k<$1>")
    .replaceAll(/\\(.)/gs, (whole, char: string) => escapes.get(char) ?? whole)

const notRegular = (pattern: string): string => `${JSON.stringify(pattern)} is not a valid regular expression`

const leadingFlags = /^\(\?([a-z]+)\)/

/**
 * A pattern that is searched anywhere, as the agent compiles it: without regard to case (upstream puts `(?i)` in front;
 * wire.md §3.4). Leading inline flags `i`, `m`, `s`, `u` are honoured.
 *
 * Patterns are written for Rust's `fancy-regex`. Constructs without an equal in JavaScript (flag `x`, atomic groups,
 * possessive quantifiers, flags in the middle) are refused like invalid patterns, never matched differently.
 */
export const compilePattern = (pattern: string): Result.Result<RegExp, string> => {
  let rest = pattern
  const flags = new Set(["i"])
  for (let found = leadingFlags.exec(rest); found !== null; found = leadingFlags.exec(rest)) {
    for (const flag of found[1] ?? "") {
      if (!"imsu".includes(flag)) return Result.fail(`flag ${flag} is not supported in ${JSON.stringify(pattern)}`)
      if (flag !== "u") flags.add(flag)
    }
    rest = rest.slice(found[0].length)
  }
  const source = translate(rest)
  try {
    return Result.succeed(new RegExp(source, `${[...flags].join("")}u`))
  } catch {
    // Unicode mode refuses harmless escapes that Rust accepts, such as `\-` and `\ `. Without Unicode mode `\p` and
    // `\x{…}` mean something else, so patterns with them stay refused.
    if (/\\[pPxu]\{?/.test(source)) return Result.fail(notRegular(pattern))
  }
  try {
    return Result.succeed(new RegExp(source, [...flags].join("")))
  } catch (error) {
    return Result.fail(error instanceof Error ? error.message : notRegular(pattern))
  }
}
