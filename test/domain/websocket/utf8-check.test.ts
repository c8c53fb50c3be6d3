import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { Utf8Check } from "../../../src/domain/websocket/utf8-check.ts"

const isUtf8 = (bytes: Uint8Array): boolean => {
  try {
    new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)
    return true
  } catch {
    return false
  }
}

/** Bytes that are often nearly UTF-8. */
const nearly = fc
  .array(
    fc.oneof(
      fc.string({ unit: "binary", maxLength: 3 }).map((text) => Buffer.from(text, "utf8")),
      fc
        .constantFrom("c0", "e0", "ed", "f0", "f4", "f5", "80", "bf", "9f", "a0", "8f", "90")
        .map((byte) => Buffer.from(byte, "hex"))
    ),
    { maxLength: 8 }
  )
  .map((parts) => Buffer.concat(parts))

describe("the check for UTF-8", () => {
  it("agrees with a decoder, wherever the bytes are cut", () => {
    fc.assert(
      fc.property(nearly, fc.nat(20), (bytes, cut) => {
        const at = Math.min(cut, bytes.length)
        const check = new Utf8Check()
        const isTaken = check.take(bytes, 0, at) && check.take(bytes, at, bytes.length)
        expect(isTaken && check.isWhole).toBe(isUtf8(bytes))
      })
    )
  })

  it("fails at the first byte after which nothing can help any more, and not before", () => {
    const endings = ["", "80", "8080", "808080", "bf", "bfbf", "bfbfbf", "9f80", "a080", "908080"].map((text) =>
      Buffer.from(text, "hex")
    )
    fc.assert(
      fc.property(nearly, (bytes) => {
        const check = new Utf8Check()
        const canBeTaken = check.take(bytes, 0, bytes.length)
        expect(canBeTaken).toBe(endings.some((ending) => isUtf8(Buffer.concat([bytes, ending]))))
      })
    )
  })
})
