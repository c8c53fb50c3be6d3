import { createHash } from "node:crypto"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { Passing } from "../../../src/adapters/stream/forwarding.ts"
import { FrameReader } from "../../../src/adapters/websocket/frame-reader.ts"
import { encodeFrame, type RawFrame } from "./support/raw-peer.ts"

const digest = (bytes: Uint8Array): string => `${bytes.length} ${createHash("sha1").update(bytes).digest("hex")}`

/** A reader, and everything that it finds, in order. */
const reader = (isMasked: boolean, largest = 1_000_000) => {
  const found: Array<string> = []
  const passing = new Passing(isMasked ? "masked" : "plain", () => undefined)
  const message = (bytes: Uint8Array): void => void found.push(`message ${digest(bytes)}`)
  passing.handle({ message, ended: () => {}, drained: () => {}, ignored: () => {} })
  const made = new FrameReader(
    passing,
    {
      message,
      text: () => found.push("text"),
      control: (opcode, payload) => found.push(`control ${opcode} ${Buffer.from(payload).toString("hex")}`),
      violated: ({ code }) => found.push(`violated ${code}`)
    },
    { isMasked, largest }
  )
  return { made, found }
}

interface Part {
  readonly payload: Uint8Array
  /** Control frames in front of the fragment. */
  readonly controls: ReadonlyArray<readonly [opcode: number, payload: Uint8Array]>
}
const controls = fc.array(fc.tuple(fc.constantFrom(9, 10), fc.uint8Array({ maxLength: 125 })), { maxLength: 2 })
const part: fc.Arbitrary<Part> = fc.record({
  payload: fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.constantFrom(126, 65_536).map((length) => new Uint8Array(length).fill(7))
  ),
  controls
})
const message = fc.record({
  isText: fc.boolean(),
  parts: fc.oneof({ weight: 3, arbitrary: fc.tuple(part) }, fc.array(part, { minLength: 2, maxLength: 4 }))
})

const stories = fc.record({
  messages: fc.array(message, { maxLength: 8 }),
  key: fc.uint8Array({ minLength: 4, maxLength: 4 }),
  isMasked: fc.boolean(),
  cuts: fc.array(fc.oneof(fc.integer({ min: 1, max: 30 }), fc.constantFrom(1_000, 70_000)), {
    minLength: 1,
    maxLength: 10
  })
})

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")

interface Written {
  readonly messages: ReadonlyArray<{ readonly isText: boolean; readonly parts: ReadonlyArray<Part> }>
  readonly key: Uint8Array
  readonly isMasked: boolean
}

/** The bytes of messages, and what a reader is to find in them. */
const written = ({ isMasked, key, messages }: Written) => {
  const frames: Array<RawFrame> = []
  const expected: Array<string> = []
  for (const { isText, parts } of messages) {
    for (const [index, given] of parts.entries()) {
      for (const [opcode, payload] of given.controls) {
        frames.push({ opcode, payload })
        expected.push(`control ${opcode} ${hexOf(payload)}`)
      }
      const payload = isText ? given.payload.map((byte) => byte & 127) : given.payload
      const first = isText ? 1 : 2
      frames.push({ opcode: index > 0 ? 0 : first, fin: index === parts.length - 1, payload })
    }
    expected.push(isText ? "text" : `message ${digest(Buffer.concat(parts.map(({ payload }) => payload)))}`)
  }
  const wire = Buffer.concat(frames.map((frame) => encodeFrame(frame, isMasked ? key : undefined)))
  return { wire, expected }
}

describe("the reader of frames", () => {
  it("finds nothing but control frames once messages are dropped, and keeps nothing else", () => {
    fc.assert(
      fc.property(stories, fc.nat(19), ({ cuts, isMasked, key, messages }, dropsAt) => {
        const { expected, wire } = written({ isMasked, key, messages })
        const { found, made } = reader(isMasked)
        let [before, most] = [-1, 0]
        for (let at = 0, index = 0; at < wire.length; index++) {
          if (index === dropsAt) {
            made.drop()
            before = found.length
          }
          if (before >= 0) most = Math.max(most, made.after(0))
          const size = cuts[index % cuts.length] ?? 1
          made.read(Buffer.from(wire.subarray(at, at + size)))
          at += size
        }
        expect(most).toBeLessThanOrEqual(131)
        const whole = before < 0 ? expected.length : before
        expect(found.slice(0, whole)).toEqual(expected.slice(0, whole))
        const isControl = (what: string): boolean => what.startsWith("control")
        // A message that is dropped ends like a text that is not read.
        expect(found.slice(whole).filter((what) => what !== "text")).toEqual(expected.slice(whole).filter(isControl))
      }),
      { numRuns: 300 }
    )
  })

  it("finds the messages and control frames that were written, however they are cut", () => {
    fc.assert(
      fc.property(stories, ({ cuts, isMasked, key, messages }) => {
        const { expected, wire } = written({ isMasked, key, messages })
        const { found, made } = reader(isMasked)
        for (let at = 0, index = 0; at < wire.length; index++) {
          const size = cuts[index % cuts.length] ?? 1
          made.read(Buffer.from(wire.subarray(at, at + size)))
          at += size
        }
        expect(found).toEqual(expected)
        expect(made.isUnfinished).toBe(false)
        expect(made.finished).toBe(messages.length)
      })
    )
  })

  it("takes any bytes whatever, and ends at the first that break a rule", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.boolean(), fc.nat(300), (bytes, isMasked, cut) => {
        const whole = reader(isMasked, 1_000)
        whole.made.read(Uint8Array.from(bytes))
        const halves = reader(isMasked, 1_000)
        halves.made.read(bytes.slice(0, cut))
        halves.made.read(bytes.slice(cut))
        expect(halves.found).toEqual(whole.found)
        expect(whole.found.slice(0, -1).some((found) => found.startsWith("violated"))).toBe(false)
      })
    )
  })

  it.each([
    ["a whole message", { opcode: 2 }],
    ["a text", { opcode: 1 }],
    ["a fragment", { opcode: 2, fin: false }]
  ])("refuses %s that is too large by its header alone", (_what, frame) => {
    const { found, made } = reader(true, 1_000)
    const bytes = encodeFrame({ ...frame, payload: new Uint8Array(1_001) }, Buffer.alloc(4))
    made.read(bytes.subarray(0, 8))
    expect(found).toEqual(["violated 1009"])
    expect(made.isUnfinished).toBe(false)
  })

  it("refuses fragments that are too large together, before the last of them is read", () => {
    const { found, made } = reader(true, 1_000)
    made.read(encodeFrame({ opcode: 2, fin: false, payload: new Uint8Array(600) }, Buffer.alloc(4)))
    made.read(encodeFrame({ opcode: 0, payload: new Uint8Array(401) }, Buffer.alloc(4)).subarray(0, 8))
    expect(found).toEqual(["violated 1009"])
  })

  it("takes a message of exactly the largest size, in one frame and in fragments", () => {
    const { found, made } = reader(true, 1_000)
    made.read(encodeFrame({ opcode: 2, payload: new Uint8Array(1_000) }, Buffer.alloc(4)))
    made.read(encodeFrame({ opcode: 2, fin: false, payload: new Uint8Array(600) }, Buffer.alloc(4)))
    made.read(encodeFrame({ opcode: 0, payload: new Uint8Array(400) }, Buffer.alloc(4)))
    expect(found).toEqual(Array.from({ length: 2 }, () => `message ${digest(new Uint8Array(1_000))}`))
  })
})
