import { describe, expect, it } from "vitest"
import { frameBytes, readServer } from "../../../lab/fuzz/frames.ts"
import { daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"

const pong = daemonMessage.encode({ _tag: "Pong" })
const frame = (first: number, payload: Uint8Array, isMasked = false): Buffer =>
  Buffer.from(frameBytes({ first, isMasked, lie: 0, payload }))

describe("what a server says over a WebSocket", () => {
  it("is read as messages, whole or in fragments, up to the code with which it closes", () => {
    const said = Buffer.concat([
      frame(0x82, pong),
      frame(0x02, pong.subarray(0, 1)),
      frame(0x80, pong.subarray(1)),
      frame(0x88, Uint8Array.of(0x03, 0xe8))
    ])
    expect(readServer(said)).toEqual({
      messages: [{ _tag: "Pong" }, { _tag: "Pong" }],
      closed: 1000,
      problem: undefined
    })
    expect(readServer(said.subarray(0, 3)).problem).toBeUndefined()
  })

  it.each([
    ["masked", frame(0x82, pong, true), "masked"],
    ["a text", frame(0x81, pong), "it sent a text"],
    ["no message", frame(0x82, Uint8Array.of(255, 255)), "a message of it is"],
    ["closed as its own fault", frame(0x88, Uint8Array.of(0x03, 0xf3)), "it closed with 1011"],
    ["behind its end", Buffer.concat([frame(0x88, new Uint8Array()), frame(0x82, pong)]), "after its end"]
  ])("is wrong if it is %s", (_, said, problem) => expect(readServer(said).problem).toContain(problem))

  it("is a lie where the fuzzer wants one", () => {
    const bytes = frameBytes({ first: 0x82, isMasked: true, lie: 3, payload: Uint8Array.of(7) })
    expect(bytes[1]).toBe(0x84)
    expect(bytes).toHaveLength(7)
  })
})
