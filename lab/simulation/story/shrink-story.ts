/**
 * Makes a failing story short enough to read, without running stories itself: the caller says whether a candidate still
 * fails.
 */

import { Result } from "effect"
import fc from "fast-check"
import { parseStory } from "./parse-story.ts"
import type { Story } from "./story.ts"
import { verbs } from "./verbs.ts"
import { duration } from "./words.ts"

type Lines = ReadonlyArray<string>

const wordsOf = (line: string): ReadonlyArray<string> => line.split(/\s+/).filter((word) => word !== "")

const isValidLine = (words: ReadonlyArray<string>): boolean => {
  const [name, ...rest] = words
  const verb = verbs.find((verb) => verb.name === name)
  if (verb === undefined) return false
  return verb.kind === "setup" ? Result.isSuccess(verb.read(rest)) : Result.isSuccess(verb.read(rest))
}

/** The clusters and sessions that lines speak of: the words after `cluster`, `session` and `copy`. */
const namesOf = (lines: Lines): ReadonlyArray<string> =>
  lines.flatMap((line) => {
    const [verb, name] = wordsOf(line)
    return name !== undefined && (verb === "cluster" || verb === "session" || verb === "copy") ? [name] : []
  })

/** Most simpler forms that are tried of one line. */
const maxForms = 6

/**
 * Other ways to say a line, the simplest first and the line itself last. Times are halved; words are left out one or
 * two at a time.
 */
const formsOf = (line: string): readonly [string, ...ReadonlyArray<string>] => {
  const words = wordsOf(line)
  const simpler = new Set<string>()
  const last = words.length - 1
  const time = Result.getOrElse(duration(words[last]), () => 0)
  for (let ms = Math.floor(time / 2); ms >= 50 && simpler.size < maxForms; ms = Math.floor(ms / 2)) {
    simpler.add([...words.slice(0, last), ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`].join(" "))
  }
  for (const count of [2, 1]) {
    for (let at = 1; at + count <= words.length && simpler.size < maxForms; at++) {
      const fewer = words.toSpliced(at, count)
      if (isValidLine(fewer)) simpler.add(fewer.join(" "))
    }
  }
  const [first = line, ...rest] = [...simpler].toReversed()
  return simpler.size === 0 ? [line] : [first, ...rest, line]
}

/**
 * Makes a story that breaks something as short as possible: fewer clusters and sessions, fewer lines, shorter times,
 * fewer words. `breaks` tells whether a candidate still breaks the same invariant; it is asked at most `budget` times,
 * and only about readable stories. The same story and answers give the same result.
 *
 * fast-check shrinks names and words, but not lines: its subarrays try every size of gap at the first line before the
 * second, which takes n·log n runs, because every story needs its first line (a cluster). Delta debugging tries large
 * gaps everywhere first.
 */
export const shrinkStory = (story: Story, breaks: (candidate: Story) => boolean, budget: number): Story => {
  let left = budget
  let best: Lines = story.lines
  const tried = new Set([best.join("\n")])

  /** Whether these lines still break the story; if so they become the best so far. */
  const attempt = (lines: Lines): boolean => {
    const text = lines.join("\n")
    if (tried.has(text)) return false
    tried.add(text)
    if (left <= 0 || Result.isFailure(parseStory(story.seed, lines))) return false
    left--
    if (!breaks({ ...story, lines })) return false
    best = lines
    return true
  }

  /** Shrinks a value by fast-check, from `whole` on; `lines` makes a candidate of it. */
  const shrink = <A>(arbitrary: fc.Arbitrary<A>, whole: A, lines: (value: A) => Lines): void => {
    let isFirst = true
    fc.check(
      fc.property(arbitrary, (value) => {
        // The whole story is known to break.
        if (isFirst) return (isFirst = false)
        return left <= 0 || !attempt(lines(value))
      }),
      { examples: [[whole]], numRuns: 1, seed: 0 }
    )
  }

  const fewerNames = (): void => {
    const [from, names] = [best, namesOf(best)]
    shrink(fc.subarray([...names]), [...names], (kept) => {
      const dropped = new Set(names.filter((name) => !kept.includes(name)))
      return from.filter((line) => !wordsOf(line).some((word, i) => i > 0 && dropped.has(word)))
    })
  }

  const fewerLines = (): void => {
    for (let size = Math.ceil(best.length / 2); size >= 1 && left > 0; size = size === 1 ? 0 : Math.ceil(size / 2)) {
      // Late lines are needed least often, so begin at the end.
      for (let end = best.length; end > 0 && left > 0; end = Math.min(end - size, best.length)) {
        attempt(best.toSpliced(Math.max(0, end - size), Math.min(size, end)))
      }
    }
  }

  const simplerLines = (): void => {
    const forms = best.map(formsOf)
    const whole = forms.map(({ length }) => length - 1)
    shrink(fc.tuple(...whole.map((max) => fc.integer({ min: 0, max }))), whole, (chosen) =>
      forms.map((wordings, i) => wordings[chosen[i] ?? 0] ?? wordings[0])
    )
  }

  for (let before = Infinity; left > 0 && best.join("\n").length < before;) {
    before = best.join("\n").length
    fewerNames()
    fewerLines()
    simplerLines()
  }
  return { ...story, lines: best }
}
