import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { cleanText, quotation, quoted, textLimits, withoutEnd } from "../../src/domain/clean-text.ts"

/** Any UTF-16, halves of pairs among it, and more of what does harm than chance would bring. */
const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
  fc
    .array(
      fc.constantFrom(
        "\n",
        "\t",
        "\u0000",
        "\u001b[2J",
        "\u0085",
        "\u009b",
        "\u2028",
        "\u202e",
        "\u2066",
        "\u061c",
        "a",
        "é",
        "🎉",
        "\ud83c",
        "…"
      )
    )
    .map((parts) => parts.join(""))
)
const harm = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Bidi_Control}\uFEFF]/u

describe("a clean text", () => {
  it("is bounded, holds nothing harmful, and is clean already", () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 1, max: 60 }), (text, most) => {
        const clean = cleanText(text, most)
        expect(clean.length).toBeLessThanOrEqual(most)
        expect(clean).not.toMatch(harm)
        expect(cleanText(clean, most)).toBe(clean)
      }),
      { numRuns: 2_000 }
    )
  })

  it("is the text itself if that is short and harmless", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 20 }), (text) => {
        fc.pre(!harm.test(text))
        expect(cleanText(text, textLimits.name)).toBe(text)
      })
    )
    const names = ["Jane Öztürk", "DOMAIN\\jane", "jane@host.example", "ג׳יין", "a\\u000ab", 'k="v"; {x}', "👩‍👩‍👧"]
    for (const name of names) expect(cleanText(name, textLimits.name)).toBe(name)
  })

  it("of a long text is its beginning, in whole characters", () => {
    expect(cleanText("abcdef", 6)).toBe("abcdef")
    expect(cleanText("abcdefg", 6)).toBe("abcde…")
    expect(cleanText("abcd🎉fg", 6)).toBe("abcd…")
    expect(cleanText("x".repeat(1_000_000), 253)).toHaveLength(253)
  })

  it("has blanks for line breaks and a sign for what a terminal would obey", () => {
    expect(cleanText("evil\n\u001b[2J\u001b]0;pwned\u0007 name \u202ecod", 253)).toBe(
      "evil \ufffd[2J\ufffd]0;pwned\ufffd name \ufffdcod"
    )
  })
})

describe("words of others in a sentence", () => {
  it("lose their full stop", () => {
    expect(quotation("it is gone. \n.")).toBe("it is gone")
    expect(quotation("...")).toBe("")
    expect(quotation("a...b")).toBe("a...b")
  })
  it("are bounded before anything looks at them", () =>
    expect(quotation(`${".".repeat(1_000_000)}x`).length).toBeLessThanOrEqual(textLimits.quotation))
  it("stay within their quotes", () => {
    expect(quoted('a"b\u202e')).toBe('"a\\"b\ufffd"')
    expect(quoted("x".repeat(1_000)).length).toBeLessThan(130)
  })
})

it("an end is taken off whole, and nothing else", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("a", ".", "-") }), (text) => {
      const rest = withoutEnd(text, ".-")
      expect(text.startsWith(rest)).toBe(true)
      expect(rest.endsWith(".") || rest.endsWith("-")).toBe(false)
      expect(text.slice(rest.length)).toMatch(/^[.-]*$/)
    })
  )
})
