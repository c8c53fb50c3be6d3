/**
 * Regular expressions that are matched in linear time, by RE2. Patterns and texts come from administrators and users:
 * an engine that tries one way after the other could be kept busy for minutes by either of them.
 *
 * Not here: the syntax (rust-pattern.ts).
 */

import * as Result from "effect/Result"
import { RE2JS, RE2JSException, RE2Set } from "re2js"
import { cleanText, quoted, textLimits } from "./clean-text.ts"
import { PatternProblem, re2Pattern } from "./rust-pattern.ts"

/** The longest pattern, in UTF-16 code units, and the most steps that it may have once repetitions are written out. */
const maxPattern = 1_000
const maxSteps = 2_000
/** The memory that a pattern may take for what it has seen, in bytes. A user must not fill the memory with texts. */
const maxMemory = 64 * 1024

/**
 * The work that the searches of one decision may still do. A search takes the product of the sizes of pattern and text,
 * a unit of which takes some 40 ns at worst, and keeps a whole operator waiting.
 */
export interface Effort {
  left: number
}

/** For one decision about one message. Ordinary patterns and paths take a thousandth of it. */
export const newEffort = (): Effort => ({ left: 10_000_000 })

export interface Regex {
  readonly pattern: string
  /** How many steps the pattern has, which is the memory that it takes. */
  readonly size: number
  /**
   * Whether the pattern matches anywhere in the text. `otherwise`: the answer if no effort is left, also from an
   * earlier search of the same decision, or if RE2 cannot tell.
   */
  readonly matches: (text: string, effort?: Effort, otherwise?: boolean) => boolean
}

/** A character of a word to Rust and none to RE2. */
const foreignWord = /(?=[^\0-\x7f])[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]/u

const matcher = (pattern: string, ignoreCase: boolean): Regex => {
  const { isAscii, text: re2 } = re2Pattern(pattern)
  const flags = ignoreCase ? RE2JS.CASE_INSENSITIVE : 0
  const size = RE2JS.compile(re2, flags).programSize()
  if (size > maxSteps) throw new PatternProblem("it is too large")
  // A set of one: only sets bound their memory.
  const set = new RE2Set(RE2Set.UNANCHORED, flags, maxMemory)
  set.add(re2)
  set.compile()
  return {
    pattern,
    size,
    matches: (text, effort = { left: Infinity }, otherwise = false) => {
      effort.left -= size * text.length
      if (effort.left <= 0 || (isAscii && foreignWord.test(text))) return otherwise
      return set.match(text).length > 0
    }
  }
}

/** The part of a text from `start` to before `end`, in UTF-16 code units. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** Finds a part of a text by a group of a pattern; `undefined` if the pattern or the group matches nowhere. */
export type FindSpan = (text: string) => Span | undefined

/** The longest text in which parts are looked for, in UTF-16 code units: a search in it takes less than a second. */
const maxSearched = 8_192

/** `names`: the group is the first of these that the pattern has, else its first one. */
const spanFinder = (pattern: string, names: ReadonlyArray<string>): FindSpan => {
  const { groups, isAscii, text: re2 } = re2Pattern(pattern)
  const program = RE2JS.compile(re2)
  if (program.programSize() > maxSteps) throw new PatternProblem("it is too large")
  if (groups.length === 0) throw new PatternProblem("it has no group (…) that says which part is meant")
  const named = names.map((name) => groups.indexOf(name)).find((index) => index >= 0)
  const group = 1 + (named ?? 0)
  return (text) => {
    if (text.length > maxSearched || (isAscii && foreignWord.test(text))) return undefined
    const match = program.matcher(text)
    if (!match.find() || match.start(group) < 0) return undefined
    return { start: match.start(group), end: match.end(group) }
  }
}

/** Compiles a pattern by which a part of a text is found, as {@link compileRegex} does. */
export const compileSpanFinder = (pattern: string, names: ReadonlyArray<string>): Result.Result<FindSpan, string> =>
  compiled(pattern, () => spanFinder(pattern, names))

/** Compiles a pattern; the failure is a sentence that names it and says what is wrong. */
export const compileRegex = (
  pattern: string,
  { ignoreCase }: { readonly ignoreCase: boolean }
): Result.Result<Regex, string> => compiled(pattern, () => matcher(pattern, ignoreCase))

const compiled = <A>(pattern: string, compile: () => A): Result.Result<A, string> => {
  const refuse = (problem: string) =>
    Result.fail(`${quoted(pattern)} is no regular expression that can be used: ${problem}`)
  if (pattern.length > maxPattern) return refuse(`it has more than ${maxPattern} characters`)
  try {
    return Result.succeed(compile())
  } catch (error) {
    if (error instanceof PatternProblem) return refuse(error.message)
    if (error instanceof RE2JSException)
      return refuse(cleanText(error.message.replace("error parsing regexp: ", ""), textLimits.quotation))
    throw error
  }
}
