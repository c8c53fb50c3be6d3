import { Result } from "effect"

/** Helpers for the words of a story's lines. Each gives a sentence that names the word, and what would be right. */

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** `250ms`, `60s`, `5m`, `2h` as ms. */
export const duration = (word: string | undefined): Result.Result<number, string> => {
  const match = /^(\d+)(ms|s|m|h)$/.exec(word ?? "")
  return match === null
    ? Result.fail(`${JSON.stringify(word ?? "")} is not a duration: write 250ms, 60s, 5m or 2h`)
    : Result.succeed(Number(match[1]) * (units[match[2] ?? ""] ?? 1))
}

export const wholeNumber = (word: string | undefined, what: string): Result.Result<number, string> =>
  /^\d+$/.test(word ?? "") ? Result.succeed(Number(word)) : Result.fail(`${JSON.stringify(word ?? "")} is not ${what}: write a whole number`)

/** A name that must be there; letters, digits and dashes. */
export const nameWord = (word: string | undefined, what: string): Result.Result<string, string> =>
  /^[A-Za-z0-9][A-Za-z0-9-]*$/.test(word ?? "") ? Result.succeed(word ?? "") : Result.fail(`${JSON.stringify(word ?? "")} is not ${what}: letters, digits and dashes`)

export const oneOf = <const Words extends ReadonlyArray<string>>(word: string | undefined, words: Words): Result.Result<Words[number], string> =>
  word !== undefined && words.includes(word)
    ? Result.succeed(word)
    : Result.fail(`${JSON.stringify(word ?? "")} is none of ${words.join(", ")}`)

/** No word is left over. */
export const nothingMore = (words: ReadonlyArray<string>): Result.Result<void, string> =>
  words.length === 0 ? Result.succeed(undefined) : Result.fail(`${JSON.stringify(words.join(" "))} is too much`)

/** Levenshtein's distance. */
const distance = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)))
    }
    row = next
  }
  return row[b.length] ?? 0
}

/** The candidate that is most like a misspelt word. */
export const nearest = (word: string, candidates: ReadonlyArray<string>): string | undefined =>
  candidates.toSorted((a, b) => distance(word, a) - distance(word, b))[0]
