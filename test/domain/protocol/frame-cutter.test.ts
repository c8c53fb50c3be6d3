import * as fc from "fast-check"
import { afterEach, describe, expect, it, vi } from "vitest"
import { ClientMessage, clientMessage } from "../../../src/domain/protocol/client-message.ts"
import type { Codec } from "../../../src/domain/protocol/codec.ts"
import { DaemonMessage, daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import { type Cut, FrameCutter } from "../../../src/domain/protocol/frame-cutter.ts"
import type { TypedShape } from "../../../src/domain/protocol/shape.ts"
import { Walker } from "../../../src/domain/protocol/walker.ts"
import { arbitraryOf } from "./arbitrary.ts"

const concatenate = (parts: ReadonlyArray<Uint8Array>): Uint8Array => Uint8Array.from(Buffer.concat(parts))

/** Cuts bytes at the given places (any numbers), empty chunks included. */
const cutAt = (bytes: Uint8Array, places: ReadonlyArray<number>): ReadonlyArray<Uint8Array> => {
  const cuts = places.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b)
  const ends = [...cuts, bytes.length]
  return [0, ...cuts].map((from, i) => bytes.slice(from, ends[i]))
}

const collect = <T>(cutter: FrameCutter<T>, chunks: ReadonlyArray<Uint8Array>) => {
  const cuts: ReadonlyArray<Cut> = chunks.map((chunk) => cutter.feed(chunk))
  return { frames: cuts.flatMap(({ frames }) => frames), error: cuts.find((cut) => cut.error !== undefined)?.error }
}

const properties = <T>(codec: Codec<T>, shape: TypedShape<T>): void => {
  const messages = fc.array(arbitraryOf(shape), { maxLength: 6 })
  const places = fc.array(fc.nat(), { maxLength: 12 })

  it("any chunking gives the same messages and their bytes", () => {
    fc.assert(
      fc.property(messages, places, (values, cuts) => {
        const encoded = values.map((value) => codec.encode(value))
        const cutter = new FrameCutter(codec, shape)
        const { frames, error } = collect(cutter, cutAt(concatenate(encoded), cuts))
        expect(error).toBeUndefined()
        expect(frames).toEqual(encoded)
        expect(cutter.pending).toBe(0)
      }),
      { numRuns: 500 }
    )
  })

  it("cuts where the decoder ends, and fails where it fails", () => {
    fc.assert(
      fc.property(messages, fc.uint8Array({ maxLength: 30 }), places, (values, garbage, cuts) => {
        const stream = concatenate([...values.map((value) => codec.encode(value)), garbage])
        const { frames, error } = collect(new FrameCutter(codec, shape), cutAt(stream, cuts))
        let rest = stream
        for (const frame of frames) {
          const decoded = codec.decode(rest)
          if (decoded._tag !== "Decoded") throw new Error(decoded._tag)
          expect(frame).toEqual(rest.slice(0, decoded.used))
          rest = rest.subarray(decoded.used)
        }
        const decoded = codec.decode(rest)
        if (error === undefined) expect(decoded._tag).not.toBe("Decoded")
        // The decoder waits for all bytes of a message; the cutter refuses at its head what would pass the limit.
        else if (error._tag === "TooLarge" && error.path === codec.name) expect(decoded._tag).toBe("Incomplete")
        else expect(decoded).toMatchObject({ error: { _tag: error._tag, path: error.path } })
      }),
      { numRuns: 500 }
    )
  })

  it("byte by byte too, and what is unfinished is pending", () => {
    fc.assert(
      fc.property(messages, (values) => {
        const encoded = values.map((value) => codec.encode(value))
        const cutter = new FrameCutter(codec, shape)
        const got: Array<Uint8Array> = []
        for (const message of encoded) {
          for (const [i, byte] of message.entries()) {
            const fed = cutter.feed(Uint8Array.of(byte))
            expect(fed.frames).toHaveLength(i === message.length - 1 ? 1 : 0)
            expect(cutter.pending).toBe(i === message.length - 1 ? 0 : i + 1)
            got.push(...fed.frames)
          }
        }
        expect(got).toEqual(encoded)
      }),
      { numRuns: 100 }
    )
  })

  it("garbage, however it is cut, gives the same messages and error, and nothing after the error", () => {
    fc.assert(
      fc.property(messages, fc.uint8Array({ maxLength: 30 }), places, (values, garbage, cuts) => {
        const stream = concatenate([...values.map((value) => codec.encode(value)), garbage])
        const whole = collect(new FrameCutter(codec, shape), [stream])
        const cutter = new FrameCutter(codec, shape)
        const cut = collect(cutter, cutAt(stream, cuts))
        expect(cut.frames).toEqual(whole.frames)
        expect(cut.error?._tag).toBe(whole.error?._tag)
        if (cut.error !== undefined) {
          expect(cutter.feed(codec.encode(values[0] ?? codecFirst(codec)))).toEqual({ frames: [], error: cut.error })
          expect(cutter.pending).toBe(0)
        }
      }),
      { numRuns: 500 }
    )
  })
}

/** Some message of a codec: the one of its shortest bytes. */
const codecFirst = <T>(codec: Codec<T>): T => {
  const decoded = codec.decode(Uint8Array.of(7))
  if (decoded._tag !== "Decoded") throw new Error(decoded._tag)
  return decoded.value
}

describe("client stream", () => {
  properties(clientMessage, ClientMessage)
})
describe("daemon stream", () => {
  properties(daemonMessage, DaemonMessage)
})

describe("messages", () => {
  it("are not written to again by later feeds", () => {
    const cutter = new FrameCutter(daemonMessage, DaemonMessage)
    const encoded = ["first", "second", "third"].map((text) => daemonMessage.encode({ _tag: "Close", value: text }))
    const { frames } = collect(cutter, cutAt(concatenate(encoded), [3, 8, 12]))
    expect(frames).toEqual(encoded)
  })

  it("end at the limit, as soon as it is known that they would pass it", () => {
    const message = daemonMessage.encode({ _tag: "Close", value: "x".repeat(99) })
    const exact = new FrameCutter(daemonMessage, DaemonMessage, message.length)
    expect(collect(exact, cutAt(message, [5])).frames).toHaveLength(1)
    const short = new FrameCutter(daemonMessage, DaemonMessage, message.length - 1)
    expect(short.feed(message.slice(0, 2))).toMatchObject({
      frames: [],
      error: { _tag: "TooLarge", path: "DaemonMessage" }
    })
  })

  it("beyond the limit are refused in a single chunk too", () => {
    const message = daemonMessage.encode({ _tag: "Close", value: "x".repeat(99) })
    const short = new FrameCutter(daemonMessage, DaemonMessage, message.length - 1)
    expect(short.feed(message)).toMatchObject({ frames: [], error: { _tag: "TooLarge" } })
  })
})

describe("work", () => {
  afterEach(() => {
    vi.restoreAllMocks()
  })

  /** Bytes copied into buffers while chunks are fed. */
  const copied = (chunks: ReadonlyArray<Uint8Array>): number => {
    let total = 0
    const set = Uint8Array.prototype.set
    vi.spyOn(Uint8Array.prototype, "set").mockImplementation(function (
      this: Uint8Array,
      source: ArrayLike<number>,
      offset?: number
    ) {
      total += source.length
      set.call(this, source, offset)
    })
    const { error } = collect(new FrameCutter(daemonMessage, DaemonMessage), chunks)
    vi.restoreAllMocks()
    expect(error).toBeUndefined()
    return total
  }
  const large = daemonMessage.encode({
    _tag: "TcpSteal",
    value: { _tag: "Data", value: { connectionId: 1n, bytes: new Uint8Array(200_000) } }
  })
  const headers = Array.from({ length: 5000 }, (_, i) => [`h${i}`, Uint8Array.from([97, 98])] as const)
  const manyParts = daemonMessage.encode({
    _tag: "TcpSteal",
    value: {
      _tag: "HttpRequestChunked",
      value: {
        _tag: "Body",
        value: { frames: [{ _tag: "Trailers", value: headers }], isLast: true, connectionId: 1n, requestId: 0 }
      }
    }
  })

  it.each([1, 7, 1000, 65_536])("each byte is copied a bounded number of times, in chunks of %i", (size) => {
    const stream = concatenate([large, manyParts, large])
    const chunks = cutAt(
      stream,
      Array.from({ length: Math.floor(stream.length / size) }, (_, i) => (i + 1) * size)
    )
    expect(copied(chunks)).toBeLessThan(4 * stream.length)
  })

  /** Bytes that the walker looks at when the message comes in chunks. */
  const looks = (message: Uint8Array, size: number): number => {
    let count = 0
    const counting = new Proxy(message, {
      get: (target, property) => {
        if (typeof property === "string" && /^\d+$/.test(property)) count++
        const value: unknown = Reflect.get(target, property, target)
        return value
      }
    })
    const walker = new Walker("DaemonMessage", DaemonMessage)
    for (let length = size; length < message.length; length += size) {
      const there = length
      const soFar = new Proxy(counting, {
        get: (target, property) => {
          if (property === "length") return there
          const isLater = typeof property === "string" && Number(property) >= there
          return isLater ? undefined : Reflect.get(target, property, target)
        }
      })
      expect(walker.advance(soFar)._tag).toBe("More")
    }
    expect(walker.advance(counting)).toEqual({ _tag: "End", offset: message.length })
    return count
  }

  it.each([1, 3, 50, 5000])("a message that trickles in is walked once, in chunks of %i", (size) => {
    const whole = looks(manyParts, manyParts.length)
    expect(whole).toBeGreaterThan(10_000)
    // A varint that is cut is looked at again, never what came before it.
    expect(looks(manyParts, size)).toBeLessThanOrEqual(whole + 2 * Math.ceil(manyParts.length / size))
  })

  it("payloads are stepped over", () => expect(looks(large, large.length)).toBeLessThan(20))
})
