/**
 * Regular expressions that are matched in linear time. The patterns come from administrators and the texts from users:
 * an engine that tries one way after the other could be kept busy for minutes by either of them.
 *
 * Not here: the syntax (regex-syntax.ts).
 */

import * as Result from "effect/Result"
import { quoted } from "../clean-text.ts"
import { type Assertion, type CharacterTest, isWord, parseRegex, type RegexNode, RegexProblem } from "./regex-syntax.ts"

/** The longest pattern, in UTF-16 code units, and the most steps that it may have once repetitions are written out. */
const longestPattern = 1_000
const mostSteps = 2_000

/** A step of a compiled pattern: a thread that is there goes on to `next`, or to both. Numbers are places of steps. */
type Step =
  | { readonly _tag: "Character"; readonly test: CharacterTest; next: number }
  | { readonly _tag: "Assert"; readonly assertion: Assertion; next: number }
  | { readonly _tag: "Split"; next: number; other: number }
  | { readonly _tag: "Match" }

export interface Regex {
  readonly pattern: string
  /**
   * Whether the pattern matches anywhere in the text. Takes as long as the product of the lengths of pattern and text
   * at most, so the caller bounds the text.
   */
  readonly matches: (text: string) => boolean
}

/** Writes the steps of a node behind those that are there; the steps behind it come next. */
const write = (steps: Array<Step>, node: RegexNode): void => {
  if (steps.length > mostSteps) throw new RegexProblem("it is too large")
  const here = steps.length
  switch (node._tag) {
    case "Character":
      return void steps.push({ _tag: "Character", test: node.test, next: here + 1 })
    case "Assert":
      return void steps.push({ _tag: "Assert", assertion: node.assertion, next: here + 1 })
    case "Sequence":
      return node.nodes.forEach((part) => write(steps, part))
    case "Choice":
      return writeChoice(steps, node.nodes)
    case "Repeat":
      return writeRepeat(steps, node)
  }
}

const writeChoice = (steps: Array<Step>, nodes: ReadonlyArray<RegexNode>): void => {
  const [first, ...others] = nodes
  if (first === undefined) return
  if (others.length === 0) return write(steps, first)
  const split: Step = { _tag: "Split", next: steps.length + 1, other: 0 }
  steps.push(split)
  write(steps, first)
  const jump: Step = { _tag: "Split", next: 0, other: 0 }
  steps.push(jump)
  split.other = steps.length
  writeChoice(steps, others)
  jump.next = steps.length
  jump.other = steps.length
}

const writeRepeat = (
  steps: Array<Step>,
  { least, most, node }: Extract<RegexNode, { readonly _tag: "Repeat" }>
): void => {
  for (let time = 0; time < least; time++) {
    const before = steps.length
    write(steps, node)
    // A node without steps stays one, however often it is repeated.
    if (steps.length === before) break
  }
  if (most === undefined) {
    const split: Step = { _tag: "Split", next: steps.length + 1, other: 0 }
    const at = steps.length
    steps.push(split)
    write(steps, node)
    steps.push({ _tag: "Split", next: at, other: at })
    split.other = steps.length
    return
  }
  const splits: Array<Extract<Step, { readonly _tag: "Split" }>> = []
  for (let time = least; time < most; time++) {
    const split: Step = { _tag: "Split", next: steps.length + 1, other: 0 }
    splits.push(split)
    steps.push(split)
    write(steps, node)
  }
  for (const split of splits) split.other = steps.length
}

/** A place in a text, between two characters. */
interface Place {
  readonly before: number | undefined
  readonly after: number | undefined
}

const isWordAt = (codePoint: number | undefined): boolean => codePoint !== undefined && isWord(codePoint)

const holds = (assertion: Assertion, { after, before }: Place): boolean => {
  switch (assertion) {
    case "TextStart":
      return before === undefined
    case "TextEnd":
      return after === undefined
    case "LineStart":
      return before === undefined || before === 10
    case "LineEnd":
      return after === undefined || after === 10
    case "WordBoundary":
      return isWordAt(before) !== isWordAt(after)
    case "NoWordBoundary":
      return isWordAt(before) === isWordAt(after)
  }
}

/**
 * Adds a thread at a step, and those that follow without a character, to `threads`. Each step is there once. `true`: a
 * thread has come to the end.
 */
const addThread = (steps: ReadonlyArray<Step>, threads: Set<number>, from: number, place: Place): boolean => {
  const waiting = [from]
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    if (threads.has(at)) continue
    threads.add(at)
    const step = steps[at]
    if (step?._tag === "Match") return true
    if (step?._tag === "Split") waiting.push(step.next, step.other)
    if (step?._tag === "Assert" && holds(step.assertion, place)) waiting.push(step.next)
  }
  return false
}

const search = (steps: ReadonlyArray<Step>, text: string): boolean => {
  const codePoints = Array.from(text, (character) => character.codePointAt(0) ?? 0)
  let threads = new Set<number>()
  for (let at = 0; at <= codePoints.length; at++) {
    const after = codePoints[at]
    const place: Place = { before: codePoints[at - 1], after }
    if (addThread(steps, threads, 0, place)) return true
    if (after === undefined) return false
    const next = new Set<number>()
    const then: Place = { before: after, after: codePoints[at + 1] }
    for (const thread of threads) {
      const step = steps[thread]
      if (step?._tag === "Character" && step.test(after) && addThread(steps, next, step.next, then)) return true
    }
    threads = next
  }
  return false
}

/** Compiles a pattern; the failure is a sentence that names it and says what is wrong. */
export const compileRegex = (
  pattern: string,
  { ignoreCase }: { readonly ignoreCase: boolean }
): Result.Result<Regex, string> => {
  const refuse = (problem: string) =>
    Result.fail(`${quoted(pattern)} is no regular expression that can be used: ${problem}`)
  if (pattern.length > longestPattern) return refuse(`it has more than ${longestPattern} characters`)
  try {
    const steps: Array<Step> = []
    write(steps, parseRegex(pattern, ignoreCase))
    if (steps.length > mostSteps) return refuse("it is too large")
    steps.push({ _tag: "Match" })
    return Result.succeed({ pattern, matches: (text) => search(steps, text) })
  } catch (error) {
    if (error instanceof RegexProblem) return refuse(error.message)
    throw error
  }
}
