import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { FrameHeader, headerViolation, maxHeader, writeHeader } from "../../../src/domain/websocket/frame-header.ts"

const read = (bytes: Uint8Array): FrameHeader | undefined => {
  const header = new FrameHeader()
  return header.read(bytes, 0, bytes.length) ? header : undefined
}

const hex = (text: string): Uint8Array => Buffer.from(text.replaceAll(" ", ""), "hex")

describe("a frame's header", () => {
  it("that was written is read again, from any place and no sooner than it is whole", () => {
    const lengths = fc.oneof(
      fc.constantFrom(0, 1, 125, 126, 127, 65_535, 65_536, 0xffff_ffff, 0x1_0000_0000),
      fc.maxSafeNat()
    )
    fc.assert(
      fc.property(lengths, fc.integer(), fc.boolean(), fc.nat(255), fc.nat(9), (length, key, isMasked, first, at) => {
        const bytes = new Uint8Array(at + maxHeader)
        const end = writeHeader(bytes, at, length, { first, isMasked, key })
        const header = new FrameHeader()
        for (let short = at; short < end; short++) {
          expect(header.read(bytes, at, short)).toBe(false)
          expect(header.size).toBeGreaterThan(short - at)
        }
        expect(header.read(bytes, at, end)).toBe(true)
        expect([header.size, header.length, header.first, header.isMasked]).toEqual([end - at, length, first, isMasked])
        expect(header.key).toBe(isMasked ? key : 0)
        expect(header.isLengthSound).toBe(true)
      })
    )
  })

  it.each([
    ["82 7e 00 7d", "16 bits for 125"],
    ["82 7f 00 00 00 00 00 00 ff ff", "64 bits for 65535"],
    ["82 7f 80 00 00 00 00 01 00 00", "the highest bit"]
  ])("%s has a length that is not sound: %s", (text) => expect(read(hex(text))?.isLengthSound).toBe(false))

  it.each([
    ["a whole message", "82 00", false, undefined],
    ["RSV 1", "c2 00", false, /reserved bits 0x40/],
    ["RSV 3", "92 00", false, /reserved bits 0x10/],
    ["opcode 3", "83 00", false, /reserved opcode 3/],
    ["opcode 11", "8b 00", false, /reserved opcode 11/],
    ["a mask where none is allowed", "82 80 00 00 00 00", false, /masked/],
    ["a long length", "82 7e 00 01", false, /shortest form/],
    ["a fragmented ping", "09 00", false, /fragmented/],
    ["a long ping", "89 7e 00 7e", false, /126 bytes/],
    ["a continuation of nothing", "80 00", false, /none was begun/],
    ["a continuation", "80 00", true, undefined],
    ["a message within another", "82 00", true, /before the one before it/],
    ["a ping within a message", "89 00", true, undefined]
  ] as const)("%s", (_what, text, isContinued, message) => {
    const header = read(hex(text)) ?? new FrameHeader()
    const violation = headerViolation(header, false, isContinued)
    if (message === undefined) expect(violation).toBeUndefined()
    else expect(violation).toMatchObject({ code: 1002, text: expect.stringMatching(message) })
  })

  it("without a mask is refused where one must be", () =>
    expect(headerViolation(read(hex("82 00")) ?? new FrameHeader(), true, false)?.text).toMatch(/not masked/))
})
