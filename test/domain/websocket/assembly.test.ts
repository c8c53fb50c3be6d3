import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { Assembly, maxFragments } from "../../../src/domain/websocket/assembly.ts"

describe("fragments", () => {
  it("become the message that they are parts of, one message after the other", () => {
    const messages = fc.array(fc.array(fc.uint8Array({ maxLength: 50 }), { minLength: 1, maxLength: 6 }), {
      maxLength: 4
    })
    fc.assert(
      fc.property(messages, (given) => {
        const assembly = new Assembly(1_000)
        for (const parts of given) {
          assembly.begin("binary")
          for (const part of parts) {
            expect(assembly.announce(part.length)).toBeUndefined()
            expect(assembly.take(part, 0, part.length)).toBeUndefined()
          }
          expect(assembly.isOpen).toBe(true)
          const message = assembly.finish()
          expect(message).toEqual(new Uint8Array(Buffer.concat(parts)))
          expect(assembly.isOpen).toBe(false)
        }
      })
    )
  })

  it("of a text are checked together and not kept", () => {
    const assembly = new Assembly(100)
    assembly.begin("text")
    const bytes = Buffer.from("ü€")
    for (let at = 0; at < bytes.length; at++) {
      assembly.announce(1)
      expect(assembly.take(bytes, at, at + 1)).toBeUndefined()
    }
    expect(assembly.finish()).toBeUndefined()
    assembly.begin("text")
    assembly.take(bytes, 0, 1)
    expect(assembly.finish()).toMatchObject({ code: 1007 })
    assembly.begin("text")
    expect(assembly.take(Buffer.from([0xff]), 0, 1)).toMatchObject({ code: 1007 })
  })

  it("are refused by their headers when there are too many bytes or too many fragments", () => {
    const assembly = new Assembly(100)
    assembly.begin("binary")
    expect(assembly.announce(100)).toBeUndefined()
    expect(assembly.announce(1)).toMatchObject({ code: 1009, text: expect.stringMatching(/101 bytes.*100/) })
    const many = new Assembly(100)
    many.begin("binary")
    let admitted = 0
    while (many.announce(0) === undefined) admitted++
    expect(admitted).toBe(maxFragments)
    expect(many.announce(0)).toMatchObject({ code: 1008 })
  })
})
