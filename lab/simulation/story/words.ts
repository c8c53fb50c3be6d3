/**
 * Reads single words of a story's lines: durations, names, numbers, arrows. Each failure is a sentence that names the
 * word and what would be right.
 */

import { Result } from "effect"

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** Reads `250ms`, `60s`, `5m`, `2h` as ms. */
export const duration = (word: string | undefined): Result.Result<number, string> => {
  const match = /^(\d+)(ms|s|m|h)$/.exec(word ?? "")
  return match === null
    ? Result.fail(`${JSON.stringify(word ?? "")} is not a duration: write 250ms, 60s, 5m or 2h`)
    : Result.succeed(Number(match[1]) * (units[match[2] ?? ""] ?? 1))
}

export const wholeNumber = (word: string | undefined, what: string): Result.Result<number, string> =>
  /^\d+$/.test(word ?? "")
    ? Result.succeed(Number(word))
    : Result.fail(`${JSON.stringify(word ?? "")} is not ${what}: write a whole number`)

/** Reads `+5m` or `-5m` as ms; a failure tells to write `example`. */
export const signedDuration =
  (example: string) =>
  (word: string | undefined): Result.Result<number, string> => {
    const [, sign, length] = /^([+-])(.*)$/.exec(word ?? "") ?? []
    return sign === undefined
      ? Result.fail(`${JSON.stringify(word ?? "")} is neither +<duration> nor -<duration>: write ${example}`)
      : Result.map(duration(length), (ms) => (sign === "+" ? ms : -ms))
  }

/** A name that must be there; letters, digits and dashes. */
export const nameWord = (word: string | undefined, what: string): Result.Result<string, string> =>
  /^[A-Za-z0-9][A-Za-z0-9-]*$/.test(word ?? "")
    ? Result.succeed(word ?? "")
    : Result.fail(`${JSON.stringify(word ?? "")} is not ${what}: letters, digits and dashes`)

export const oneOf = <const Words extends ReadonlyArray<string>>(
  word: string | undefined,
  words: Words
): Result.Result<Words[number], string> =>
  word !== undefined && words.includes(word)
    ? Result.succeed(word)
    : Result.fail(`${JSON.stringify(word ?? "")} is none of ${words.join(", ")}`)

/** A port, 1 to 65535. */
export const portWord = (word: string | undefined): Result.Result<number, string> =>
  /^\d{1,5}$/.test(word ?? "") && Number(word) >= 1 && Number(word) <= 65_535
    ? Result.succeed(Number(word))
    : Result.fail(`${JSON.stringify(word ?? "")} is not a port: write a number from 1 to 65535`)

/** A duration of whole seconds, at least one, as seconds. */
export const wholeSeconds = (word: string | undefined): Result.Result<number, string> =>
  Result.flatMap(duration(word), (ms) =>
    ms >= 1_000 && ms % 1_000 === 0
      ? Result.succeed(ms / 1_000)
      : Result.fail(`${JSON.stringify(word)} is not a number of whole seconds: write 5s or 2m`)
  )

/** Two durations, the shorter one first. */
export const span = (
  least: string | undefined,
  most: string | undefined
): Result.Result<readonly [number, number], string> =>
  Result.gen(function* () {
    const from = yield* duration(least)
    const to = yield* duration(most)
    return from <= to
      ? ([from, to] as const)
      : yield* Result.fail(`${least} is longer than ${most}: write the shorter one first`)
  })

export const versionWord = (word: string | undefined): Result.Result<string, string> =>
  /^1\.\d+\.\d+$/.test(word ?? "")
    ? Result.succeed(word ?? "")
    : Result.fail(`${JSON.stringify(word ?? "")} is not a protocol version: write 1.29.0`)

/** The word itself, such as `for`. */
export const exactly = (word: string | undefined, wanted: string): Result.Result<void, string> =>
  word === wanted ? Result.succeed(undefined) : Result.fail(`${JSON.stringify(word ?? "")} should be ${wanted}`)

/** All words as one text, with one blank between two. */
export const someText = (words: ReadonlyArray<string>, what: string): Result.Result<string, string> =>
  words.length > 0 ? Result.succeed(words.join(" ")) : Result.fail(`${what} is missing`)

/** A regular expression, which may hold blanks. */
export const regex = (words: ReadonlyArray<string>): Result.Result<string, string> =>
  Result.flatMap(someText(words, "the regular expression"), (text) => {
    try {
      return Result.succeed(new RegExp(text, "u").source)
    } catch {
      return Result.fail(`${JSON.stringify(text)} is not a regular expression: write one as in \`x-user: ann\``)
    }
  })

/** `→` or `->`. */
export const isArrow = (word: string | undefined): boolean => word === "→" || word === "->"

/** The text after an arrow, if there is an arrow: no other word may be left over. */
export const afterArrow = (words: ReadonlyArray<string>, what: string): Result.Result<string | undefined, string> => {
  const [arrow, ...rest] = words
  if (arrow === undefined) return Result.succeed(undefined)
  return isArrow(arrow) ? someText(rest, what) : Result.fail(`${JSON.stringify(arrow)} should be → or nothing`)
}

/** No word is left over. */
export const nothingMore = (words: ReadonlyArray<string>): Result.Result<void, string> =>
  words.length === 0 ? Result.succeed(undefined) : Result.fail(`${JSON.stringify(words.join(" "))} is too much`)

/** Levenshtein's distance. */
const distance = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next.push(
        Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1))
      )
    }
    row = next
  }
  return row[b.length] ?? 0
}

/** The candidate that is most like a misspelt word. */
export const nearest = (word: string, candidates: ReadonlyArray<string>): string | undefined =>
  candidates.toSorted((a, b) => distance(word, a) - distance(word, b))[0]
