/**
 * Reads the regular expressions of policies, which are written in the syntax of Rust's `regex` crate: the published
 * operator compiles them with it. Syntax that would be read in another way, or not at all, is an error: a pattern that
 * is guessed would let something pass.
 *
 * Not here: matching (regex.ts).
 */

import { quoted } from "../clean-text.ts"

/** Whether a character, by its code point, is meant. */
export type CharacterTest = (codePoint: number) => boolean

export type Assertion = "TextStart" | "TextEnd" | "LineStart" | "LineEnd" | "WordBoundary" | "NoWordBoundary"

export type RegexNode =
  | { readonly _tag: "Character"; readonly test: CharacterTest }
  | { readonly _tag: "Assert"; readonly assertion: Assertion }
  | { readonly _tag: "Sequence"; readonly nodes: ReadonlyArray<RegexNode> }
  | { readonly _tag: "Choice"; readonly nodes: ReadonlyArray<RegexNode> }
  /** `most` is `undefined` for any number. */
  | { readonly _tag: "Repeat"; readonly node: RegexNode; readonly least: number; readonly most: number | undefined }

/** A pattern that cannot be read; the message completes the sentence "it is no usable regular expression: …". */
export class RegexProblem extends Error {}

/** How many groups may stand in one another. */
const deepest = 50
/** The highest number of a repetition. */
const mostRepeated = 1_000

interface Flags {
  readonly ignoreCase: boolean
  readonly multiLine: boolean
  readonly dotAll: boolean
}

/** A pattern while it is read: its characters, and the place of the next one. */
interface Source {
  readonly characters: ReadonlyArray<string>
  next: number
  depth: number
}

const one = (expression: RegExp): CharacterTest => {
  // Each is asked about a single character.
  return (codePoint) => expression.test(String.fromCodePoint(codePoint))
}

const digit = one(/^\p{Nd}$/u)
const blank = one(/^\p{White_Space}$/u)
/** The characters of `\w` in Rust. */
export const isWord = one(/^[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]$/u)
const not =
  (test: CharacterTest): CharacterTest =>
  (codePoint) =>
    !test(codePoint)

const classes: Readonly<Record<string, CharacterTest>> = {
  d: digit,
  D: not(digit),
  s: blank,
  S: not(blank),
  w: isWord,
  W: not(isWord)
}

const asserted: Readonly<Record<string, Assertion>> = {
  A: "TextStart",
  z: "TextEnd",
  b: "WordBoundary",
  B: "NoWordBoundary"
}

const controls: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, f: 12, v: 11, a: 7 }

const codePointOf = (character: string): number => character.codePointAt(0) ?? 0

/** The other cases of a character, where they are single characters as well. */
const casesOf = (codePoint: number): ReadonlyArray<number> => {
  const character = String.fromCodePoint(codePoint)
  return [character.toLowerCase(), character.toUpperCase()].flatMap((other) =>
    [...other].length === 1 ? [codePointOf(other)] : []
  )
}

const folded = (test: CharacterTest, { ignoreCase }: Flags): CharacterTest =>
  ignoreCase ? (codePoint) => test(codePoint) || casesOf(codePoint).some(test) : test

const fail = (problem: string): never => {
  throw new RegexProblem(problem)
}

const peek = ({ characters, next }: Source, ahead = 0): string | undefined => characters[next + ahead]

const take = (source: Source, wanted?: string): string => {
  const character = source.characters[source.next++]
  if (character === undefined) return fail("it ends too early")
  if (wanted !== undefined && character !== wanted) return fail(`${quoted(character)} stands where ${wanted} must`)
  return character
}

const takeIf = (source: Source, wanted: string): boolean => {
  if (peek(source) !== wanted) return false
  source.next++
  return true
}

/** The text up to a character, which is taken as well. */
const takeUntil = (source: Source, end: string): string => {
  let text = ""
  for (let character = take(source); character !== end; character = take(source)) text += character
  return text
}

const hexadecimal = (text: string): number => {
  if (!/^[0-9A-Fa-f]{1,6}$/u.test(text)) return fail(`${quoted(text)} is no hexadecimal number of a character`)
  const codePoint = Number.parseInt(text, 16)
  return codePoint <= 0x10_ffff ? codePoint : fail(`${quoted(text)} is no character`)
}

/** The digits behind `\x`, `\u` or `\U`: in braces, or as many as the letter says. */
const takeHexadecimal = (source: Source, digits: number): number => {
  if (takeIf(source, "{")) return hexadecimal(takeUntil(source, "}"))
  return hexadecimal(Array.from({ length: digits }, () => take(source)).join(""))
}

/** Without `<` and `>`, which stand for boundaries when they are escaped. */
const signsToEscape = "\\.+*?()|[]{}^$#&-~/!\"'%,:;=@_` "

const hexadecimalDigits: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 }

/** A character behind a backslash that stands for a single character. */
const takeEscaped = (source: Source): number => {
  const character = take(source)
  const digits = hexadecimalDigits[character]
  if (digits !== undefined) return takeHexadecimal(source, digits)
  const control = controls[character]
  if (control !== undefined) return control
  // Rust takes an escape of any other ASCII sign for the sign itself, and refuses escaped letters and digits.
  if (signsToEscape.includes(character)) return codePointOf(character)
  return fail(`\\${character} is not known`)
}

/** One entry of a class in brackets: a range, a character or a class of characters. */
const takeClassEntry = (source: Source): CharacterTest => {
  const first = take(source)
  if (first === "[") return fail("classes inside of classes are not known")
  if ("&~-".includes(first) && peek(source) === first) return fail("operations on classes are not known")
  if (first === "\\") {
    const known = classes[peek(source) ?? ""]
    if (known !== undefined) {
      source.next++
      return known
    }
  }
  const low = first === "\\" ? takeEscaped(source) : codePointOf(first)
  if (peek(source) !== "-" || peek(source, 1) === "]") return (codePoint) => codePoint === low
  source.next++
  const last = take(source)
  if (last === "[") return fail("classes inside of classes are not known")
  const high = last === "\\" ? takeEscaped(source) : codePointOf(last)
  if (high < low) return fail("a range ends before it begins")
  return (codePoint) => codePoint >= low && codePoint <= high
}

const takeClass = (source: Source, flags: Flags): RegexNode => {
  const negated = takeIf(source, "^")
  const entries: Array<CharacterTest> = []
  // A bracket in the first place is a character.
  do {
    entries.push(takeClassEntry(source))
  } while (peek(source) !== "]")
  source.next++
  const test = folded((codePoint) => entries.some((entry) => entry(codePoint)), flags)
  return { _tag: "Character", test: negated ? not(test) : test }
}

const takeEscape = (source: Source, flags: Flags): RegexNode => {
  const letter = peek(source) ?? ""
  const known = classes[letter]
  const assertion = asserted[letter]
  if (known !== undefined) {
    source.next++
    return { _tag: "Character", test: known }
  }
  if (assertion !== undefined) {
    source.next++
    if (peek(source) === "{") return fail("boundaries in braces are not known")
    return { _tag: "Assert", assertion }
  }
  const codePoint = takeEscaped(source)
  return { _tag: "Character", test: folded((other) => other === codePoint, flags) }
}

const flagNames: Readonly<Record<string, keyof Flags>> = { i: "ignoreCase", m: "multiLine", s: "dotAll" }

/** Flags such as `i-s`, as they stand behind `(?`. */
const readFlags = (text: string, flags: Flags): Flags => {
  let next = flags
  let on = true
  for (const letter of text) {
    const name = flagNames[letter]
    if (letter === "-" && on) on = false
    // Unicode is on always.
    else if (name === undefined) {
      if (letter !== "u" || !on) return fail(`the flag ${quoted(letter)} is not known`)
    } else next = { ...next, [name]: on }
  }
  return next
}

/** A group behind its opening parenthesis, or flags for the rest of the group around it. */
const takeGroup = (source: Source, flags: Flags): RegexNode | Flags => {
  let inner = flags
  if (takeIf(source, "?")) {
    if (peek(source) === "P" || peek(source) === "<") {
      takeIf(source, "P")
      take(source, "<")
      if (peek(source) === "=" || peek(source) === "!") return fail("looking around is not known")
      const name = takeUntil(source, ">")
      if (!/^[A-Za-z_][A-Za-z0-9_.[\]]*$/u.test(name)) return fail(`${quoted(`(?<${name}`)} is not known`)
    } else {
      let text = ""
      while (peek(source) !== ":" && peek(source) !== ")") text += take(source)
      inner = readFlags(text, flags)
      if (take(source) === ")") return text === "" ? fail("(?) is not known") : inner
    }
  }
  if (++source.depth > deepest) return fail(`more than ${deepest} groups stand in one another`)
  const node = takeChoice(source, inner)
  source.depth--
  take(source, ")")
  return node
}

const takeAtom = (source: Source, flags: Flags): RegexNode | Flags => {
  const character = take(source)
  switch (character) {
    case "(":
      return takeGroup(source, flags)
    case "[":
      return takeClass(source, flags)
    case "\\":
      return takeEscape(source, flags)
    case ".":
      return { _tag: "Character", test: flags.dotAll ? () => true : (codePoint) => codePoint !== 10 }
    case "^":
      return { _tag: "Assert", assertion: flags.multiLine ? "LineStart" : "TextStart" }
    case "$":
      return { _tag: "Assert", assertion: flags.multiLine ? "LineEnd" : "TextEnd" }
    case "*":
    case "+":
    case "?":
    case "{":
      return fail(`nothing stands before ${character}`)
    default: {
      const codePoint = codePointOf(character)
      return { _tag: "Character", test: folded((other) => other === codePoint, flags) }
    }
  }
}

const count = (text: string): number => {
  if (!/^[0-9]{1,4}$/u.test(text) || Number(text) > mostRepeated)
    return fail(`${quoted(text)} is no number of repetitions from 0 to ${mostRepeated}`)
  return Number(text)
}

/** The bounds of a repetition behind its opening brace. */
const takeBounds = (source: Source): { readonly least: number; readonly most: number | undefined } => {
  const [least = "", most, ...more] = takeUntil(source, "}").split(",")
  if (more.length > 0) return fail("a repetition has more than two bounds")
  const low = count(least)
  const high = most === undefined ? low : most === "" ? undefined : count(most)
  if (high !== undefined && high < low) return fail("a repetition's bounds are the wrong way round")
  return { least: low, most: high }
}

const signs: Readonly<Record<string, { readonly least: number; readonly most: number | undefined }>> = {
  "*": { least: 0, most: undefined },
  "+": { least: 1, most: undefined },
  "?": { least: 0, most: 1 }
}

/** The repetitions behind an atom. A question mark behind one prefers a match, which makes no difference here. */
const takeRepeats = (source: Source, atom: RegexNode): RegexNode => {
  let node = atom
  let repeats = 0
  for (;;) {
    const sign = peek(source)
    const bounds = sign === "{" ? undefined : signs[sign ?? ""]
    if (sign !== "{" && bounds === undefined) return node
    if (++repeats > 3) return fail("more than three repetitions stand behind one another")
    source.next++
    node = { _tag: "Repeat", node, ...(bounds ?? takeBounds(source)) }
    takeIf(source, "?")
  }
}

const takeSequence = (source: Source, flags: Flags): RegexNode => {
  const nodes: Array<RegexNode> = []
  let current = flags
  for (let next = peek(source); next !== undefined && next !== "|" && next !== ")"; next = peek(source)) {
    const atom = takeAtom(source, current)
    if ("_tag" in atom) nodes.push(takeRepeats(source, atom))
    else current = atom
  }
  return { _tag: "Sequence", nodes }
}

const takeChoice = (source: Source, flags: Flags): RegexNode => {
  const nodes = [takeSequence(source, flags)]
  while (takeIf(source, "|")) nodes.push(takeSequence(source, flags))
  const [only] = nodes
  return nodes.length === 1 && only !== undefined ? only : { _tag: "Choice", nodes }
}

/** Reads a pattern. Throws a {@link RegexProblem} for what it does not know. */
export const parseRegex = (pattern: string, ignoreCase: boolean): RegexNode => {
  const source: Source = { characters: [...pattern], next: 0, depth: 0 }
  const node = takeChoice(source, { ignoreCase, multiLine: false, dotAll: false })
  if (source.next < source.characters.length) return fail("a parenthesis is closed that was not opened")
  return node
}
