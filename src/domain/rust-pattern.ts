/**
 * Writes the regular expressions of users and administrators as patterns for RE2. They have the syntax of Rust's crates
 * `regex` and, around it, `fancy-regex`, with which mirrord compiles them. Syntax that RE2 would read in another way is
 * rewritten or is an error: a pattern that is guessed would let something pass.
 *
 * Not here: syntax that both read alike, and its mistakes; matching (regex.ts).
 */

import { quoted } from "./clean-text.ts"

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
  /** Whether blanks and comments between the signs mean nothing, here and in each group around. */
  readonly isSpaced: Array<boolean>
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
  w: "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200c}\\x{200d}",
  h: "0-9A-Fa-f"
}

/** Long names of general categories, for RE2, which knows the short ones. */
const categories: Readonly<Record<string, string>> = {
  Letter: "L",
  Lowercase_Letter: "Ll",
  Uppercase_Letter: "Lu",
  Titlecase_Letter: "Lt",
  Mark: "M",
  Number: "N",
  Decimal_Number: "Nd",
  Punctuation: "P",
  Symbol: "S",
  Separator: "Z",
  Space_Separator: "Zs",
  Other: "C",
  Control: "Cc",
  Format: "Cf"
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

/** Parts of patterns for which an engine has to try one way after the other, by their beginnings. */
const backtracking: ReadonlyArray<readonly [RegExp, string]> = [
  [/\(\?[=!]/y, "look-ahead"],
  [/\(\?<[=!]/y, "look-behind"],
  [/\(\?>/y, "an atomic group"],
  [/\(\?\(/y, "a condition"],
  [/\(\?P=|\\[1-9]|\\k/y, "a back reference"],
  [/\(\?P>|\\g/y, "a call of a group"],
  [/\\K/y, "a reset of the match's start"],
  [/\\G/y, "the end of the match before"],
  [/\\Z/y, "the end before line breaks"],
  [/(?:[*+?]|\{[\d,]+\})\??\+/y, "a possessive repetition"]
]

/** Throws for a part that begins here and that no search in linear time has. */
const refuseBacktracking = (source: Source): void => {
  for (const [beginning, name] of backtracking) {
    const found = takeIf(source, beginning)?.[0]
    if (found !== undefined) fail(`it has ${name}, ${quoted(found)}, which is not searched in linear time`)
  }
}

/** Blanks where they mean nothing, and comments. */
const takeBlanks = (source: Source): void => {
  for (;;) {
    const blank = source.isSpaced.at(-1) === true ? takeIf(source, /[ \t\r\n]+|#[^\n]*/y) : undefined
    if (blank === undefined && takeIf(source, /\(\?#[^)\\]*\)/y) === undefined) return
  }
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
  if (takeIf(source, /e/y) !== undefined) return hexadecimal(0x1b)
  const sign = takeIf(source, plain)
  if (sign !== undefined) return `\\${sign[0]}`
  const [unknown = ""] = source.pattern.slice(source.at)
  return unknown === "" ? fail("it ends too early") : fail(`\\${unknown} is not known`)
}

const takeClassName = (source: Source): string | undefined => takeIf(source, /[dDsSwWhH]/y)?.[0]

/** The name of a script, category or property as RE2 writes it: `Old_Italic`. */
const capitalised = (name: string): string =>
  name
    .split(/[\s_-]+/u)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1).toLowerCase())
    .join("_")

/** A property of characters in Unicode, behind its backslash. */
const takeProperty = (source: Source): string | undefined => {
  const property = takeIf(source, /([pP])(?:([A-Za-z])|\{(\^?)(?:([\w -]+)(!=|[=:]))?([\w -]+)\})/y)
  if (property === undefined) return undefined
  const [, sign = "", letter, caret = "", kind = "Script", relation = "=", value = ""] = property
  const knows = ["Script", "Sc", "General_Category", "Gc"].includes(capitalised(kind))
  if (!knows) return fail(`the property ${quoted(kind)} is not known`)
  const name = capitalised(letter ?? value)
  const isOutside = ((sign === "P") !== (caret !== "")) !== (relation === "!=")
  return `\\${isOutside ? "P" : "p"}{${categories[name] ?? name}}`
}

/** An escape outside of brackets, behind its backslash. */
const takeEscape = (source: Source): string => {
  const name = takeClassName(source)
  if (name === "W" || name === "H") return `[^${classes[name.toLowerCase()] ?? ""}]`
  if (name !== undefined) return `[${classes[name] ?? ""}]`
  const property = takeProperty(source)
  if (property !== undefined) return property
  if (takeIf(source, /O/y) !== undefined) return "(?s:.)"
  const edge = takeIf(source, /[AzbB]/y)?.[0]
  if (edge === undefined) return takeCharacter(source)
  if (takeIf(source, /\{/y) !== undefined) return fail("boundaries in braces are not known")
  source.isAscii ||= edge === "b" || edge === "B"
  return `\\${edge}`
}

const takeBracketEscape = (source: Source): string => {
  const name = takeClassName(source)
  if (name === undefined) return takeProperty(source) ?? takeCharacter(source)
  return classes[name] ?? fail(`\\${name} in brackets is not known`)
}

/** The part of a class that was read last. `Range`: the hyphen of a range, whose second character has to follow. */
type LastInBrackets = "Nothing" | "Character" | "Class" | "Range"

/** The place of a sign. Behind a class, or behind a first closing bracket, RE2 and Rust read a hyphen differently. */
const lastWith = (last: LastInBrackets, sign: string, { at, pattern }: Source): LastInBrackets => {
  const next = pattern[at] ?? ""
  if (sign === "\\" && /[dDsSwWhHpP]/u.test(next))
    return last === "Range" ? fail("a class cannot end a range") : "Class"
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
    const ascii = sign === "[" ? takeIf(source, /:\^?[a-z]+:\]/y) : undefined
    if (ascii !== undefined && last === "Range") return fail("a class cannot end a range")
    if (ascii !== undefined) {
      text += `[${ascii[0]}`
      last = "Class"
      continue
    }
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

/** The flags that RE2 has: neither that of Unicode, which is always on, nor that of blanks. */
const keptFlags = (flags: string): string => flags.replaceAll(/[ux]/gu, "").replace(/-$/u, "")

/** The beginning of a group, behind its parenthesis. Names are kept apart. */
const takeGroup = (source: Source): string => {
  const isSpaced = source.isSpaced.at(-1) === true
  takeBlanks(source)
  const capture = takeCapture(source)
  if (capture !== undefined) {
    source.isSpaced.push(isSpaced)
    return capture
  }
  takeIf(source, /\?/y)
  const [, flags = "", end] =
    takeIf(source, /((?:[imsuUx]*-)?[imsuUx]*)([:)])/y) ??
    fail(`${quoted(`(?${source.pattern.slice(source.at)}`)} is not known`)
  if (flags === "-" || (flags === "" && end === ")")) return fail("a group of flags needs a flag")
  const [on = "", off = ""] = flags.split("-")
  if (off.includes("u")) return fail("the flag -u is not known")
  const isSpacedNow = !off.includes("x") && (isSpaced || on.includes("x"))
  const kept = keptFlags(flags)
  if (end === ":") {
    source.isSpaced.push(isSpacedNow)
    return `(?${kept}:`
  }
  source.isSpaced.splice(-1, 1, isSpacedNow)
  takeBlanks(source)
  if (takeIf(source, /[*+?{]/y) !== undefined) return fail("flags cannot be repeated")
  return kept === "" ? "" : `(?${kept})`
}

const maxCount = 1_000

/** A number of repetitions, behind its brace, which is a character where no such number follows. */
const takeCount = (source: Source): string => {
  const found = takeIf(source, /[\d, ]*\}/y)?.[0] ?? ""
  const isSpaced = source.isSpaced.at(-1) === true
  const [least = "", most, more] = found
    .slice(0, -1)
    .split(",")
    .map((part) => (isSpaced ? part.trim() : part))
  const isNumbered = [least, most ?? ""].every((part) => /^\d*$/u.test(part))
  if (!isNumbered || more !== undefined || (least === "" && most === undefined)) {
    source.at -= found.length
    return "\\{"
  }
  if (Math.max(Number(least), Number(most ?? "")) > maxCount) {
    return fail(`it repeats a part more than ${maxCount} times`)
  }
  return `{${least === "" ? "0" : least}${most === undefined ? "" : `,${most}`}}`
}

/** One sign outside of brackets, with what belongs to it. */
const takePart = (source: Source, sign: string): string => {
  switch (sign) {
    case "\\":
      return takeEscape(source)
    case "[":
      return takeBrackets(source)
    case "(":
      return takeGroup(source)
    case "{":
      return takeCount(source)
    case ")":
      source.isSpaced.pop()
      return sign
    default:
      return sign
  }
}

/** Throws a {@link PatternProblem} for what would mean something else to RE2. */
export const re2Pattern = (pattern: string): Re2Pattern => {
  const source: Source = { pattern, at: 0, isAscii: false, groups: [], isSpaced: [false] }
  let text = ""
  for (;;) {
    takeBlanks(source)
    refuseBacktracking(source)
    const sign = takeIf(source, /[^]/uy)?.[0]
    if (sign === undefined) return { text, isAscii: source.isAscii, groups: source.groups }
    text += takePart(source, sign)
  }
}
