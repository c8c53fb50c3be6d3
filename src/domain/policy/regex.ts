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

/**
 * The work that the searches of one decision may still do, about one unit for each quarter of a microsecond. A search
 * takes as long as the product of the sizes of pattern and text at worst, which keeps a whole operator waiting.
 */
export interface Effort {
  left: number
}

/** For one decision about one message. Patterns and paths that somebody means take a thousandth of it. */
export const newEffort = (): Effort => ({ left: 2_000_000 })

/** The work of a character behind which it is known how the search goes on. */
const knownCharacter = 0.05

export interface Regex {
  readonly pattern: string
  /** How many steps the pattern has, which is the memory that it takes. */
  readonly size: number
  /**
   * Whether the pattern matches anywhere in the text. `otherwise`: the answer if no effort is left, also from an
   * earlier search of the same decision.
   */
  readonly matches: (text: string, effort?: Effort, otherwise?: boolean) => boolean
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

/** A neighbour of a place between two characters, as far as assertions look at it; `Edge`: the text ends there. */
type Neighbour = "Edge" | "LineFeed" | "Word" | "Other"

const neighbour = (codePoint: number | undefined): Neighbour => {
  if (codePoint === undefined) return "Edge"
  return codePoint === 10 ? "LineFeed" : isWord(codePoint) ? "Word" : "Other"
}

const isLineEdge = (beside: Neighbour): boolean => beside === "Edge" || beside === "LineFeed"

const holds = (assertion: Assertion, before: Neighbour, after: Neighbour): boolean => {
  switch (assertion) {
    case "TextStart":
      return before === "Edge"
    case "TextEnd":
      return after === "Edge"
    case "LineStart":
      return isLineEdge(before)
    case "LineEnd":
      return isLineEdge(after)
    case "WordBoundary":
      return (before === "Word") !== (after === "Word")
    case "NoWordBoundary":
      return (before === "Word") === (after === "Word")
  }
}

/** The threads of a search between two characters. The same threads behind the same neighbour go on in the same way. */
interface SearchState {
  readonly threads: ReadonlyArray<number>
  readonly before: Neighbour
  /** The states behind the characters that came here before, by code point. */
  readonly next: Map<number, SearchState | "Found">
}

/** How many states of a pattern are remembered, and characters behind each: a user must not fill the memory. */
const mostStates = 32
const mostCharacters = 128

/** Searches texts for a pattern, and remembers which state follows on a state and a character. */
class Searcher {
  readonly #steps: ReadonlyArray<Step>
  readonly #states = new Map<string, SearchState>()

  constructor(steps: ReadonlyArray<Step>) {
    this.#steps = steps
  }

  search(text: string, effort: Effort, otherwise: boolean): boolean {
    let state = this.#state([], "Edge")
    for (let at = 0; at < text.length;) {
      if (effort.left <= 0) return otherwise
      effort.left -= knownCharacter
      const codePoint = text.codePointAt(at) ?? 0
      const next = state.next.get(codePoint) ?? this.#step(state, codePoint, effort)
      if (next === "Found") return true
      state = next
      at += codePoint > 0xffff ? 2 : 1
    }
    return this.#reached(state, undefined) === "Found"
  }

  #state(threads: ReadonlyArray<number>, before: Neighbour): SearchState {
    const key = `${before} ${threads.join(" ")}`
    const known = this.#states.get(key)
    if (known !== undefined) return known
    if (this.#states.size >= mostStates) {
      for (const { next } of this.#states.values()) next.clear()
      this.#states.clear()
    }
    const state = { threads, before, next: new Map() }
    this.#states.set(key, state)
    return state
  }

  #step(state: SearchState, codePoint: number, effort: Effort): SearchState | "Found" {
    const reached = this.#reached(state, codePoint)
    if (reached !== "Found") effort.left -= reached.size
    const next = reached === "Found" ? reached : this.#behind(reached, codePoint)
    if (state.next.size < mostCharacters) state.next.set(codePoint, next)
    return next
  }

  #behind(reached: ReadonlySet<number>, codePoint: number): SearchState {
    const threads = new Set<number>()
    // Steps of a repetition have one test, which may be a long list.
    const tested = new Map<CharacterTest, boolean>()
    for (const thread of reached) {
      const step = this.#steps[thread]
      if (step?._tag !== "Character") continue
      const fits = tested.get(step.test) ?? step.test(codePoint)
      tested.set(step.test, fits)
      if (fits) threads.add(step.next)
    }
    return this.#state(
      [...threads].toSorted((a, b) => a - b),
      neighbour(codePoint)
    )
  }

  /** The steps that are reached without a further character: by the threads, and by a match that begins here. */
  #reached({ before, threads }: SearchState, codePoint: number | undefined): ReadonlySet<number> | "Found" {
    const after = neighbour(codePoint)
    const reached = new Set<number>()
    const waiting = [0, ...threads]
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      if (reached.has(at)) continue
      reached.add(at)
      const step = this.#steps[at]
      if (step?._tag === "Match") return "Found"
      if (step?._tag === "Split") waiting.push(step.next, step.other)
      if (step?._tag === "Assert" && holds(step.assertion, before, after)) waiting.push(step.next)
    }
    return reached
  }
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
    const searcher = new Searcher(steps)
    return Result.succeed({
      pattern,
      size: steps.length,
      matches: (text, effort = { left: Infinity }, otherwise = false) => searcher.search(text, effort, otherwise)
    })
  } catch (error) {
    if (error instanceof RegexProblem) return refuse(error.message)
    throw error
  }
}
