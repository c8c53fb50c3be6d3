import { describe, expect, it } from "vitest"
import { closePayload, closingText, readClosing } from "../../../src/domain/websocket/close-payload.ts"

const payload = (code: number, reason: Uint8Array = Buffer.alloc(0)): Uint8Array =>
  Buffer.concat([Buffer.from([code >> 8, code & 255]), reason])

describe("the payload of a close frame", () => {
  it("may be empty, or have a code and a reason", () => {
    expect(readClosing(new Uint8Array(0))).toEqual({ code: 1005, reason: "" })
    expect(readClosing(payload(4000, Buffer.from("bye ü")))).toEqual({ code: 4000, reason: "bye ü" })
  })

  it("has one of the codes that are for frames", () => {
    const allowed: Array<number> = []
    for (let code = 0; code < 65_536; code++) if ("reason" in readClosing(payload(code))) allowed.push(code)
    const registered = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014]
    expect(allowed).toEqual([...registered, ...Array.from({ length: 2000 }, (_, index) => 3000 + index)])
  })

  it.each([
    ["one byte", Buffer.from([3]), 1002, /one byte/],
    ["a forbidden code", payload(1005), 1002, /the code 1005/],
    ["a reason that is no UTF-8", payload(1000, Buffer.from([0xff])), 1007, /UTF-8/],
    ["a reason that breaks off", payload(1000, Buffer.from([0xc3])), 1007, /UTF-8/]
  ])("is refused with %s", (_what, bytes, code, text) =>
    expect(readClosing(bytes)).toEqual({ code, text: expect.stringMatching(text) })
  )

  it("is written as it is read, and named for people", () => {
    for (const code of [1000, 1001, 1005, 4999]) expect(readClosing(closePayload(code))).toEqual({ code, reason: "" })
    expect(closingText({ code: 1000, reason: "done" })).toBe("1000 done")
    expect(closingText({ code: 1006, reason: "" })).toBe("code 1006")
  })
})
