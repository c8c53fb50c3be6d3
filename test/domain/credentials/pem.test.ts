import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { decodeBase64Text, encodeBase64Text } from "../../../src/domain/credentials/base64.ts"
import { readPem } from "../../../src/domain/credentials/pem.ts"

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
