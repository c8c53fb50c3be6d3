import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { decodeBase64Text, encodeBase64Text } from "../../../../src/domain/fleet/credentials/base64.ts"
import { pemBlocks, readPem } from "../../../../src/domain/fleet/credentials/pem.ts"

const pem = "-----BEGIN PRIVATE KEY-----\nSECRETSECRET\n-----END PRIVATE KEY-----\n"

describe("readPem", () => {
  it("accepts PEM, and base64 of PEM with or without line breaks", () => {
    const encoded = Buffer.from(pem).toString("base64")
    for (const text of [pem, encoded, encoded.replace(/(.{20})/gu, "$1\n")])
      expect(readPem(text)).toEqual(Result.succeed(pem))
  })

  it("refuses the rest without telling the value", () => {
    for (const text of ["", "SECRETSECRET", Buffer.from("SECRETSECRET").toString("base64"), "ü"]) {
      const result = readPem(text)
      expect(Result.isFailure(result) && result.failure).toMatch(/neither PEM/u)
      expect(JSON.stringify(result)).not.toContain("SECRET")
    }
  })
})

const block = (label: string, body: string): string => `-----BEGIN ${label}-----${body}-----END ${label}-----`

describe("PEM blocks", () => {
  it("are found again, whatever stands around them", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "B", "=", "\n", " ", "ü") })
    const blocks = fc.array(fc.record({ label: text, body: text, before: text }), { maxLength: 5 })
    fc.assert(
      fc.property(blocks, text, (given, after) => {
        const all = given.map(({ before, body, label }) => before + block(label, body)).join("") + after
        expect(pemBlocks(all)).toEqual(given.map(({ body, label }) => ({ body, label, text: block(label, body) })))
      })
    )
  })

  it.each([
    ["only a beginning", "-----BEGIN X-----\nAAAA", []],
    ["a beginning before a whole block", `-----BEGIN X-----\nAAAA\n${block("Y", "B")}`, ["B"]],
    ["an end before a whole block", `-----END X-----${block("Y", "B")}`, ["B"]],
    ["two labels", `-----BEGIN X-----A-----END Z-----${block("Y", "B")}`, ["B"]],
    ["a label without an end", "-----BEGIN X\n-----END X-----", []]
  ])("are whole ones alone: %s", (_what, text, bodies) =>
    expect(pemBlocks(text).map(({ body }) => body)).toEqual(bodies)
  )

  // An expression needs minutes for each of these.
  it.each(["-----BEGIN a-----", "-----END a-----", "-----BEGIN ", "-----", "-----BEGIN a-----\n-----END b-----\n"])(
    "are looked for in linear time: 4 MB of %j",
    (part) => {
      const text = part.repeat(4_000_000 / part.length)
      expect(pemBlocks(text)).toEqual([])
      expect(Result.isFailure(readPem(text))).toBe(true)
    }
  )
})

describe("base64", () => {
  it("is Node's, for any text, and never throws", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.string({ unit: "binary" }), (text, garbage) => {
        expect(encodeBase64Text(text)).toBe(Buffer.from(text).toString("base64"))
        expect(decodeBase64Text(encodeBase64Text(text))).toEqual(Result.succeed(text))
        decodeBase64Text(garbage)
      })
    )
  })
})
