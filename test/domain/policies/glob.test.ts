import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { matchesGlob } from "../../../src/domain/policies/glob.ts"

/** The definition, word by word: slow, and plainly right. */
const defined = (pattern: string, text: string): boolean => {
  if (pattern === "") return text === ""
  const rest = pattern.slice(1)
  if (pattern.startsWith("*")) return defined(rest, text) || (text !== "" && defined(pattern, text.slice(1)))
  return text !== "" && (pattern.startsWith("?") || pattern[0] === text[0]) && defined(rest, text.slice(1))
}

const letters = (from: string) => fc.array(fc.constantFrom(...from), { maxLength: 8 }).map((all) => all.join(""))

describe("a pattern with stars", () => {
  it("matches as it is defined", () => {
    fc.assert(
      fc.property(letters("ab*?"), letters("ab"), (pattern, text) => {
        expect(matchesGlob(pattern, text)).toBe(defined(pattern, text))
      }),
      { numRuns: 2_000 }
    )
  })

  it.each([
    ["DATABASE_*", "DATABASE_URL", true],
    ["DATABASE_*", "MY_DATABASE_URL", false],
    ["*boats*", "pod/boats-2kljw9", true],
    ["deploy/?", "deploy/ab", false],
    ["a", "A", false],
    ["*", "", true],
    ["*a*a*a*a*a*a*a*a*a*b", "a".repeat(5_000), false]
  ])("%s and %s: %s", (pattern, text, matches) => expect(matchesGlob(pattern, text)).toBe(matches))
})
