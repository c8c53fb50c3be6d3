import * as Result from "effect/Result"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { compileRegex, newEffort } from "../../../src/domain/policy/regex.ts"

const compile = (pattern: string, ignoreCase = false) =>
  Result.getOrThrowWith(compileRegex(pattern, { ignoreCase }), (problem) => new Error(problem))
const problem = (pattern: string): string | undefined => {
  const compiled = compileRegex(pattern, { ignoreCase: false })
  return Result.isFailure(compiled) ? compiled.failure : undefined
}

/** Patterns in the part of the syntax that means the same to JavaScript. */
const pattern: fc.Arbitrary<string> = fc.letrec<{ readonly node: string }>((tie) => ({
  node: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom("a", "b", ".", "\\d", "\\w", "\\s", "\\.", "[ab]", "[^a]", "[a-c1-3]", "^", "$", "\\b", "\\x61"),
    fc.tuple(tie("node"), tie("node")).map(([left, right]) => `${left}${right}`),
    fc.tuple(tie("node"), tie("node")).map(([left, right]) => `(?:${left}|${right})`),
    fc
      .tuple(tie("node"), fc.constantFrom("*", "+", "?", "{2}", "{1,3}", "{0,}", "*?"))
      .map(([inner, sign]) => `(${inner})${sign}`)
  )
})).node

describe("a regular expression of a policy", () => {
  it("matches what JavaScript's engine matches, whatever it was asked before", () => {
    fc.assert(
      fc.property(
        pattern,
        fc.array(fc.array(fc.constantFrom("a", "b", "c", "1", " ", ".", "_", "😀"), { maxLength: 8 }), {
          minLength: 1,
          maxLength: 4
        }),
        fc.boolean(),
        (text, subjects, ignoreCase) => {
          const compiled = compileRegex(text, { ignoreCase })
          // Some of these are too large, which is no match either way.
          fc.pre(Result.isSuccess(compiled))
          // oxlint-disable-next-line house/linear
          const expected = new RegExp(text, ignoreCase ? "iu" : "u")
          for (const letters of subjects) {
            const subject = letters.join("")
            expect(compiled.success.matches(subject), `${text} on ${subject}`).toBe(expected.test(subject))
          }
        }
      ),
      { numRuns: 2_000 }
    )
  })

  it("gives up a text that would take it seconds, and gives the answer that the caller wants then", () => {
    const slow = compile(`(a|b)*a[ab${"\u4e00\u4e02".repeat(200)}]{480}c`, true)
    // No two states are the same, so nothing that was seen before helps.
    const text = Array.from({ length: 4_096 }, (_, i) => (Math.imul(i, 2_654_435_761) >>> 30) & 1)
      .map((bit) => (bit === 0 ? "a" : "b"))
      .join("")
    for (const otherwise of [true, false]) {
      const effort = newEffort()
      expect(slow.matches(text.repeat(3), effort, otherwise)).toBe(otherwise)
      expect(effort.left).toBeLessThanOrEqual(0)
      expect(slow.matches("a", effort, otherwise), "no effort is left for another search").toBe(otherwise)
    }
    const effort = newEffort()
    expect(compile("^/etc/").matches(`/app/${"a".repeat(4_000)}`, effort, true)).toBe(false)
    expect(effort.left).toBeGreaterThan(1_900_000)
  })

  it("matches the same after more states than it remembers", () => {
    const long = compile("a[ab]{7}c")
    const texts = Array.from({ length: 256 }, (_, i) => i.toString(2).padStart(8, "0"))
      .map((bits) => bits.replaceAll("0", "a").replaceAll("1", "b"))
      .flatMap((word) => [`${word}c`, `${word}b`])
    for (const text of [...texts, ...texts.toReversed()]) expect(long.matches(text)).toBe(/^a[ab]{7}c$/u.test(text))
  })

  it.each([
    ["^/etc/.+", "/etc/passwd", true],
    ["^/etc/.+", "/home/etc/x", false],
    ["file\\.local", "/app/file.local", true],
    ["\\.PEM$", "/app/key.pem", false],
    ["(?i)\\.PEM$", "/app/key.pem", true],
    ["^baggage: .*mirrord-session=.+", "baggage: mirrord-session=ann", true],
    ["^metalbear\\.(co|com)$", "metalbear.com", true],
    ["^metalbear\\.(co|com)$", "metalbear.com\n", false],
    ["(?P<name>a)b", "ab", true],
    ["(?<name>a)b", "ab", true],
    ["(?m)^b$", "a\nb\nc", true],
    ["^b$", "a\nb\nc", false],
    ["a.b", "a\nb", false],
    ["(?s)a.b", "a\nb", true],
    ["[]a]", "]", true],
    ["\\x{1F600}", "😀", true],
    [".", "😀", true],
    ["\\d", "٣", true],
    ["", "", true]
  ])("%s on %j: %s", (text, subject, matches) => {
    expect(compile(text).matches(subject)).toBe(matches)
  })

  it.each([
    ["(", "it ends too early"],
    [")", "a parenthesis is closed that was not opened"],
    ["*", "nothing stands before *"],
    ["[z-a]", "a range ends before it begins"],
    ["(?=a)", "is not known"],
    ["(?<!a)b", "looking around is not known"],
    ["(a)\\1", "\\1 is not known"],
    ["[[:alpha:]]", "classes inside of classes"],
    ["[a&&b]", "operations on classes"],
    ["\\p{Greek}", "\\p is not known"],
    ["a{1001}", "no number of repetitions"],
    ["(?x)a", "the flag"],
    ["(((a{50}){50}){50})", "it is too large"],
    ["(((){1000}){1000}){1000}", undefined],
    ["x".repeat(1_001), "more than 1000 characters"],
    ["(".repeat(60), "more than 50 groups"]
  ])("%s is refused: %s", (text, why) => {
    if (why === undefined) expect(problem(text)).toBeUndefined()
    else expect(problem(text)).toContain(why)
  })

  it("takes no longer for a pattern that keeps other engines busy for years", () => {
    expect(compile("^(a+)+$").matches(`${"a".repeat(4_000)}b`)).toBe(false)
    expect(compile("(.*.*)*x").matches("a".repeat(4_000))).toBe(false)
  })
})
