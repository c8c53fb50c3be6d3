/**
 * Writes the regular expressions of policies and of branches, which have the syntax of Rust's `regex` crate as the
 * published operator compiles them with it, as patterns for RE2. Syntax that RE2 would read in another way is an error:
 * a pattern that is guessed would let something pass.
 *
 * Not here: syntax that both read alike, and its mistakes; matching (regex.ts).
 */

import { quoted } from "../clean-text.ts"

/** A pattern that cannot be used; the message completes "… is no regular expression that can be used: …". */
export class PatternProblem extends Error {}

/** A pattern for RE2. */
export interface Re2Pattern {
  readonly text: string
  /** Whether it asks for boundaries of words, which RE2 finds in ASCII alone. */
  readonly isAscii: boolean
  /** The groups that capture, in the order of their numbers, by their names. */
  readonly groups: ReadonlyArray<string | undefined>
}

/** A pattern while it is read. */
interface Source {
  readonly pattern: string
  at: number
  isAscii: boolean
  readonly groups: Array<string | undefined>
}

const hexadecimal = (codePoint: number): string => `\\x{${codePoint.toString(16)}}`

/** All characters that are in none of the ranges. The ranges are in order. */
const outside = (ranges: ReadonlyArray<readonly [number, number]>): string => {
  let next = 0
  let text = ""
  for (const [first, last] of ranges) {
    text += `${hexadecimal(next)}-${hexadecimal(first - 1)}`
    next = last + 1
  }
  return `${text}${hexadecimal(next)}-\\x{10ffff}`
}

/** White space in Unicode. */
const blanks: ReadonlyArray<readonly [number, number]> = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0x85, 0x85],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000]
]

/** Classes are of Unicode in Rust and of ASCII in RE2. Written as they stand inside of brackets. */
const classes: Readonly<Record<string, string>> = {
  d: "\\p{Nd}",
  D: "\\P{Nd}",
  s: blanks.map(([first, last]) => `${hexadecimal(first)}-${hexadecimal(last)}`).join(""),
  S: outside(blanks),
  w: "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200c}\\x{200d}"
}

const fail = (problem: string): never => {
  throw new PatternProblem(problem)
}

/** The match of an expression with flag `y` at the next place, which is taken. */
const takeIf = (source: Source, expression: RegExp): RegExpExecArray | undefined => {
  expression.lastIndex = source.at
  const match = expression.exec(source.pattern)
  if (match === null) return undefined
  source.at += match[0].length
  return match
}

/** The names of characters by their number; in braces, or with as many digits as the letter says. */
const numbered = /x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|[xuU]\{([0-9A-Fa-f]{1,6})\}/y
/** Characters of control, and signs, which mean themselves. Not `<` and `>`, which mean boundaries. */
const plain = /[aftnrv\\.+*?()|[\]{}^$#&\-~/!"'%,:;=@_` ]/y

/** An escape that stands for a character, without its backslash. */
const takeCharacter = (source: Source): string => {
  const number = takeIf(source, numbered)
  if (number !== undefined) {
    const [, two, four, eight, braced] = number
    const codePoint = Number.parseInt(two ?? four ?? eight ?? braced ?? "", 16)
    return codePoint <= 0x10_ffff ? hexadecimal(codePoint) : fail(`${quoted(number[0])} is no character`)
  }
  const sign = takeIf(source, plain)
  if (sign !== undefined) return `\\${sign[0]}`
  const [unknown = ""] = source.pattern.slice(source.at)
  return unknown === "" ? fail("it ends too early") : fail(`\\${unknown} is not known`)
}

const takeClassName = (source: Source): string | undefined => takeIf(source, /[dDsSwW]/y)?.[0]

/** An escape outside of brackets, behind its backslash. */
const takeEscape = (source: Source): string => {
  const name = takeClassName(source)
  if (name === "W") return `[^${classes["w"] ?? ""}]`
  if (name !== undefined) return `[${classes[name] ?? ""}]`
  const edge = takeIf(source, /[AzbB]/y)?.[0]
  if (edge === undefined) return takeCharacter(source)
  if (takeIf(source, /\{/y) !== undefined) return fail("boundaries in braces are not known")
  source.isAscii ||= edge === "b" || edge === "B"
  return `\\${edge}`
}

const takeBracketEscape = (source: Source): string => {
  const name = takeClassName(source)
  if (name === undefined) return takeCharacter(source)
  return classes[name] ?? fail(`\\${name} in brackets is not known`)
}

/** The part of a class that was read last. `Range`: the hyphen of a range, whose second character has to follow. */
type LastInBrackets = "Nothing" | "Character" | "Class" | "Range"

/** The place of a sign. Behind a class, or behind a first closing bracket, RE2 and Rust read a hyphen differently. */
const lastWith = (last: LastInBrackets, sign: string, { at, pattern }: Source): LastInBrackets => {
  const next = pattern[at] ?? ""
  if (sign === "\\" && /[dDsSwW]/u.test(next)) return last === "Range" ? fail("a class cannot end a range") : "Class"
  if (last === "Range") return "Nothing"
  if (sign !== "-" || next === "]" || last === "Nothing") return "Character"
  return last === "Class" ? fail("a hyphen behind a class, or behind a first ], is not known: write \\-") : "Range"
}

/** A class in brackets, behind its opening bracket. A closing bracket in the first place is a character. */
const takeBrackets = (source: Source): string => {
  let text = `[${takeIf(source, /\^?\]?/y)?.[0] ?? ""}`
  let last: LastInBrackets = text.endsWith("]") ? "Class" : "Nothing"
  for (;;) {
    const [sign] = takeIf(source, /[^]/uy) ?? fail("it ends too early")
    if (sign === "]") return `${text}]`
    if (sign === "[") return fail("classes inside of classes are not known")
    if ("&~-".includes(sign) && source.pattern[source.at] === sign) return fail("operations on classes are not known")
    last = lastWith(last, sign, source)
    text += sign === "\\" ? takeBracketEscape(source) : sign
  }
}

/** The beginning of a group that captures, behind its parenthesis; `undefined` if it is of another sort. */
const takeCapture = (source: Source): string | undefined => {
  const isPlain = source.pattern[source.at] !== "?"
  const name = isPlain ? undefined : takeIf(source, /\?P?<([A-Za-z_][\w.[\]]*)>/y)?.[1]
  if (!isPlain && name === undefined) return undefined
  source.groups.push(name)
  return "("
}

/** The beginning of a group, behind its parenthesis. Names are kept apart; the flag of Unicode is none. */
const takeGroup = (source: Source): string => {
  const capture = takeCapture(source)
  if (capture !== undefined) return capture
  takeIf(source, /\?/y)
  const [, flags = "", end] =
    takeIf(source, /([imsuU-]*)([:)])/y) ?? fail(`${quoted(`(?${source.pattern.slice(source.at)}`)} is not known`)
  if (flags === "" && end === ")") return fail("(?) is not known")
  if (end === ")" && takeIf(source, /[*+?{]/y) !== undefined) return fail("flags cannot be repeated")
  if (flags.includes("-") && flags.indexOf("u") > flags.indexOf("-")) return fail("the flag -u is not known")
  const kept = flags.replaceAll("u", "")
  return kept === "" && end === ")" ? "" : `(?${kept}${end ?? ""}`
}

/** A number of repetitions, behind its brace. RE2 takes another brace for a character. */
const takeCount = (source: Source): string => {
  const count = takeIf(source, /\d{1,4}(?:,\d{0,4})?\}/y)
  return count === undefined ? fail("{ begins no number of repetitions") : `{${count[0]}`
}

/** Throws a {@link PatternProblem} for what would mean something else to RE2. */
export const re2Pattern = (pattern: string): Re2Pattern => {
  const source: Source = { pattern, at: 0, isAscii: false, groups: [] }
  let text = ""
  for (let sign = takeIf(source, /[^]/uy)?.[0]; sign !== undefined; sign = takeIf(source, /[^]/uy)?.[0]) {
    switch (sign) {
      case "\\":
        text += takeEscape(source)
        break
      case "[":
        text += takeBrackets(source)
        break
      case "(":
        text += takeGroup(source)
        break
      case "{":
        text += takeCount(source)
        break
      default:
        text += sign
    }
  }
  return { text, isAscii: source.isAscii, groups: source.groups }
}
