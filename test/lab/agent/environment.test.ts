/** Which environment variables a client sees: wildcards, and names that are never answered. */

import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { matchesWildcard, visibleEnvironment } from "../../../lab/agent/environment.ts"

const names = (
  env: Readonly<Record<string, string>>,
  exclude: ReadonlyArray<string>,
  select: ReadonlyArray<string>
) => [...visibleEnvironment(new Map(Object.entries(env)), new Set(exclude), new Set(select)).keys()]

describe("matchesWildcard", () => {
  it.each([
    ["*", "", true],
    ["*", "ANY", true],
    ["?", "", false],
    ["A?C", "ABC", true],
    ["A?C", "AC", false],
    ["A*C", "ABCBC", true],
    ["A*C", "ABCB", false],
    ["*A*B*", "xAyBz", true],
    ["a", "A", false],
    ["A.C", "ABC", false],
    ["[A]*", "AB", false],
    ["", "", true],
    ["", "A", false],
    ["?", "é", true],
    ["?", "𝔸", true]
  ])("%j on %j is %j", (pattern, text, expected) => expect(matchesWildcard(pattern, text)).toBe(expected))

  it("agrees with a regular expression", () => {
    const letter = fc.constantFrom("a", "b", "*", "?")
    fc.assert(
      fc.property(fc.array(letter), fc.array(fc.constantFrom("a", "b")), (pattern, text) => {
        const signs: Readonly<Record<string, string>> = { "*": ".*", "?": "." }
        const expression = new RegExp(`^${pattern.map((char) => signs[char] ?? char).join("")}$`)
        expect(matchesWildcard(pattern.join(""), text.join(""))).toBe(expression.test(text.join("")))
      })
    )
  })
})

describe("visibleEnvironment", () => {
  const env = { APP: "1", API: "2", PATH: "/bin", HOME: "/", OTHER: "3" }
  it("gives everything for an empty selection", () => expect(names(env, [], [])).toEqual(["APP", "API", "OTHER"]))
  it("lets exclusion win", () => expect(names(env, ["AP?"], ["APP", "OTHER"])).toEqual(["OTHER"]))
  it("never gives what is always excluded", () => expect(names(env, [], ["PATH", "HOME"])).toEqual([]))
})
