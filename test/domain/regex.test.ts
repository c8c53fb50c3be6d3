import * as Result from "effect/Result"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { compileRegex, compileSpanFinder, newEffort } from "../../src/domain/regex.ts"

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
      expect(slow.matches(text.repeat(6), effort, otherwise)).toBe(otherwise)
      expect(effort.left).toBeLessThanOrEqual(0)
      expect(slow.matches("a", effort, otherwise), "no effort is left for another search").toBe(otherwise)
    }
    const effort = newEffort()
    expect(compile("^/etc/").matches(`/app/${"a".repeat(4_000)}`, effort, true)).toBe(false)
    expect(effort.left).toBeGreaterThan(9_900_000)
  })

  it("does not guess boundaries of words in texts with letters that RE2 knows no words of", () => {
    for (const otherwise of [true, false]) {
      expect(compile("\\bkey").matches("clékey", newEffort(), otherwise)).toBe(otherwise)
      expect(compile("\\bkey").matches("my-key 😀", newEffort(), otherwise)).toBe(true)
      expect(compile("\\bkey").matches("monkey", newEffort(), otherwise)).toBe(false)
    }
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
    ["[\\d]", "٣", true],
    ["\\D", "٣", false],
    ["^\\w+$", "naïve_名前3", true],
    ["\\W", "naïve", false],
    ["\\s", "\u3000", true],
    ["[\\s\\S]", "\n", true],
    ["[\\S]", "\u2028\u00a0", false],
    ["(?u)a", "a", true],
    ["(?u:a)(?-i:b)", "ab", true],
    ["\\u0041\\u{42}\\U00000043", "ABC", true],
    ["[a\\-]", "-", true],
    ["(?i)\u212a", "k", true],
    ["\\Aa\\z", "a", true],
    ["^[\\w-]+$", "a-b", true],
    ["^[]-]+$", "-]", true],
    ["^[-\\s]+$", "- ", true],
    ["^[a-c-\\s]+$", "b- ", true],
    ["^[a-c-z]+$", "b-z", true],
    ["[a-c-z]", "x", false],
    ["", "", true],
    ["(?x) ^ a + # letters\n b{ 2 }$", "aabb", true],
    ["(?x:a b)( c)", "ab c", true],
    ["(?x: ( a b ) [ ] (?-x) c)", "ab  c", true],
    ["(?x) (?i-x)a b", "A B", true],
    ["(?x)( ?-x:a b)", "a b", true],
    ["^a(?#any text)*$", "aaa", true],
    ["^\\h+$", "09afAF", true],
    ["\\H", "09afAF", false],
    ["[\\hx]", "x", true],
    ["\\e\\O", "\u001b\n", true],
    ["^a{,3}$", "aaaa", false],
    ["^a{,3}$", "", true],
    ["^a{2,}$", "a", false],
    ["^a{,}$", "aaaaa", true],
    ["{a}{b{1,2,3}", "{a}{b{1,2,3}", true],
    ["a{ 2}", "a{ 2}", true],
    ["^\\p{Greek}+$", "αβγ", true],
    ["\\p{Script=old italic}", "\u{10300}", true],
    ["\\p{gc:Uppercase_Letter}\\pN", "A1", true],
    ["[\\p{^Greek}]", "α", false],
    ["\\P{sc!=Greek}", "α", true],
    ["\\P{Letter}", "a", false],
    ["^[[:alpha:]-]+$", "a-b", true],
    ["[[:^alpha:]]", "a", false]
  ])("%s on %j: %s", (text, subject, matches) => expect(compile(text).matches(subject)).toBe(matches))

  it.each([
    ["(", "missing closing )"],
    [")", "unexpected )"],
    ["*", "missing argument to repetition operator"],
    ["[z-a]", "invalid character class range"],
    ["a[b", "it ends too early"],
    ["a\\", "it ends too early"],
    ["a(?=a)", 'look-ahead, "(?=", which is not searched in linear time'],
    ["(?!a)", "look-ahead"],
    ["(?<!a)b", "look-behind"],
    ["(?<=a)b", "look-behind"],
    ["(a)\\1", "a back reference"],
    ["(?<n>a)\\k<n>", "a back reference"],
    ["(?P<n>a)(?P=n)", "a back reference"],
    ["(?P<n>a)(?P>n)", "a call of a group"],
    ["(?>a)", "an atomic group"],
    ["(a)?(?(1)b)", "a condition"],
    ["a++", "a possessive repetition"],
    ["a{2}?+", "a possessive repetition"],
    ["a\\Kb", "a reset of the match's start"],
    ["\\Ga", "the end of the match before"],
    ["a\\Z", "the end before line breaks"],
    ["(?#a\\)b)", "is not known"],
    ["\\Qa\\E", "\\Q is not known"],
    ["\\<a", "\\< is not known"],
    ["\\b{start}a", "boundaries in braces"],
    ["[a[b]]", "classes inside of classes"],
    ["[a&&b]", "operations on classes"],
    ["[]-a]", "a hyphen behind a class"],
    ["[^]-a]", "a hyphen behind a class"],
    ["[\\w-\\u{ffff}]", "a hyphen behind a class"],
    ["[\\x00-\\s]", "a class cannot end a range"],
    ["[\\W]", "\\W in brackets"],
    ["[\\b]", "\\b is not known"],
    ["\\p{Grek}", "invalid character class range"],
    ["\\p{scx=Greek}", 'the property "scx" is not known'],
    ["[\\p{Greek}-z]", "a hyphen behind a class"],
    ["[a-[:digit:]]", "a class cannot end a range"],
    ["\\x{110000}", "is no character"],
    ["a{1001}", "more than 1000 times"],
    ["a{,1001}", "more than 1000 times"],
    ["a{2}{3}", "invalid nested repetition operator"],
    ["(?i-u)a", "the flag -u"],
    ["(?)a", "needs a flag"],
    ["(?-:a)", "needs a flag"],
    ["(?x) a (?i) *", "flags cannot be repeated"],
    ["a(?i)*", "flags cannot be repeated"],
    ["a((?u)?i)", "flags cannot be repeated"],
    ["a(?u){2}", "flags cannot be repeated"],
    ["[ab]{700}[cd]{700}[ef]{700}", "it is too large"],
    ["(((a{50}){50}){50})", "invalid repeat count"],
    ["(((){1000}){1000}){1000}", "too large"],
    ["x".repeat(1_001), "more than 1000 characters"]
  ])("%s is refused: %s", (text, why) => expect(problem(text)).toContain(why))

  it("takes no longer for a pattern that keeps other engines busy for years", () => {
    expect(compile("^(a+)+$").matches(`${"a".repeat(4_000)}b`)).toBe(false)
    expect(compile("(.*.*)*x").matches("a".repeat(4_000))).toBe(false)
  })
})

describe("the part of a text that a group of a pattern finds", () => {
  /** Without repetitions of what may be empty, which engines read differently. */
  const pieces = fc.array(fc.constantFrom("a", "b+", "[ab]", "(?:b|ca)", "(\\d)*", "(c)?", "\\w+?", ".", "(a|b)+", "^"))

  it("is the one that JavaScript's engine finds", () => {
    fc.assert(
      fc.property(
        pieces,
        fc.array(fc.constantFrom("a", "b", "c", "1", " ", ".", "_", "😀"), { maxLength: 8 }),
        (inner, signs) => {
          const text = signs.join("")
          const find = Result.getOrThrow(compileSpanFinder(`(a)?(?P<part>${inner.join("")})b?`, ["other", "part"]))
          // oxlint-disable-next-line house/linear
          const expected = new RegExp(`(a)?(?<part>${inner.join("")})b?`, "dsu").exec(text)?.indices?.groups?.["part"]
          const found = find(text)
          expect(found === undefined ? undefined : [found.start, found.end]).toEqual(expected && [...expected])
        }
      ),
      { numRuns: 2_000 }
    )
  })

  it("is found in linear time, and in no text that is too long", () => {
    const find = Result.getOrThrow(compileSpanFinder("(a+)+$", []))
    expect(find(`${"a".repeat(4_000)}!`)).toBe(undefined)
    expect(find("aaa")).toEqual({ start: 0, end: 3 })
    expect(find("a".repeat(10_000))).toBe(undefined)
  })
})
