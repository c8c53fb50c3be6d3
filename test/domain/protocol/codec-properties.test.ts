import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { ClientMessage, clientMessage } from "../../../src/domain/protocol/client-message.ts"
import type { Codec } from "../../../src/domain/protocol/codec.ts"
import { DaemonMessage, daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import type { Enum, Shape, TypedShape } from "../../../src/domain/protocol/shape.ts"
import { skip, Walker } from "../../../src/domain/protocol/walker.ts"
import { arbitraryOf } from "./arbitrary.ts"

const properties = <T>(codec: Codec<T>, shape: TypedShape<T>): void => {
  const message = arbitraryOf(shape)
  const encoded = message.map((value) => codec.encode(value))

  it("decode ∘ encode is the identity on values, using all bytes", () => {
    fc.assert(
      fc.property(message, (value) => {
        const bytes = codec.encode(value)
        expect(codec.decode(bytes)).toEqual({ _tag: "Decoded", value, used: bytes.length })
      }),
      { numRuns: 1500 }
    )
  })

  it("encode ∘ decode is the identity on canonical bytes, whatever follows them", () => {
    fc.assert(
      fc.property(encoded, fc.uint8Array({ maxLength: 5 }), (bytes, rest) => {
        const decoded = codec.decode(Uint8Array.from([...bytes, ...rest]))
        if (decoded._tag !== "Decoded") throw new Error(decoded._tag)
        expect(decoded.used).toBe(bytes.length)
        expect(codec.encode(decoded.value)).toEqual(bytes)
      }),
      { numRuns: 1000 }
    )
  })

  it("the skipper ends where the decoder ends", () => {
    fc.assert(
      fc.property(encoded, fc.uint8Array({ maxLength: 5 }), (bytes, rest) => {
        expect(skip(codec.name, shape, Uint8Array.from([...bytes, ...rest]))).toEqual({
          _tag: "End",
          offset: bytes.length
        })
      }),
      { numRuns: 1000 }
    )
  })

  it("every truncation is incomplete for decoder and skipper", () => {
    fc.assert(
      fc.property(encoded, (bytes) => {
        for (let length = 0; length < bytes.length; length++) {
          const part = bytes.subarray(0, length)
          expect(codec.decode(part)._tag).toBe("Incomplete")
          expect(skip(codec.name, shape, part)._tag).toBe("Incomplete")
        }
      }),
      { numRuns: 300 }
    )
  })

  it("a walker that gets its bytes one by one ends where the one that has them all ends", () => {
    fc.assert(
      fc.property(encoded, (bytes) => {
        const walker = new Walker(codec.name, shape)
        for (let length = 0; length < bytes.length; length++) {
          expect(walker.advance(bytes.subarray(0, length))._tag).toBe("More")
          expect(walker.needed).toBeLessThanOrEqual(bytes.length)
        }
        expect(walker.advance(bytes)).toEqual({ _tag: "End", offset: bytes.length })
      }),
      { numRuns: 300 }
    )
  })

  /** Random bytes rarely get past the first variants, so most of the examples are messages with a few bytes changed. */
  const garbage = fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    fc
      .tuple(
        encoded,
        fc.array(fc.tuple(fc.nat(), fc.oneof(fc.nat(255), fc.constantFrom(0, 1, 2, 0xfb, 0xfc, 0xfd, 0xfe, 0xff))), {
          minLength: 1,
          maxLength: 3
        })
      )
      .map(([bytes, changes]) => {
        const changed = Uint8Array.from(bytes)
        for (const [at, byte] of changes) changed[at % changed.length] = byte
        return changed
      })
  )

  it("the checker accepts what the decoder accepts, of whole messages, cut ones and garbage", () => {
    fc.assert(
      fc.property(fc.oneof(encoded, garbage), fc.nat(), (bytes, length) => {
        for (const part of [bytes, bytes.subarray(0, length % (bytes.length + 1))]) {
          const decoded = codec.decode(part)
          expect(codec.check(part)).toEqual(
            decoded._tag === "Decoded" ? { _tag: "Sound", used: decoded.used } : decoded
          )
        }
      }),
      { numRuns: 4000 }
    )
  })

  it("garbage is decoded, incomplete or invalid, never an exception, and the skipper does not contradict", () => {
    fc.assert(
      fc.property(garbage, (bytes) => {
        const decoded = codec.decode(bytes)
        const skipped = skip(codec.name, shape, bytes)
        switch (decoded._tag) {
          case "Decoded": {
            expect(skipped).toEqual({ _tag: "End", offset: decoded.used })
            const again = codec.encode(decoded.value)
            expect(codec.decode(again)).toEqual({ _tag: "Decoded", value: decoded.value, used: again.length })
            break
          }
          case "Incomplete":
            expect(skipped._tag).toBe("Incomplete")
            break
          case "Invalid":
            expect(decoded.error.path.startsWith(codec.name)).toBe(true)
            expect(decoded.error.offset).toBeLessThan(bytes.length)
            if (skipped._tag === "Invalid") {
              expect(skipped.error.offset).toBeGreaterThanOrEqual(decoded.error.offset)
            }
        }
      }),
      { numRuns: 4000 }
    )
  })
}

describe("ClientMessage", () => {
  properties(clientMessage, ClientMessage)
})
describe("DaemonMessage", () => {
  properties(daemonMessage, DaemonMessage)
})

describe("the generator", () => {
  const enumsIn = (shape: Shape, seen: Set<Shape>): ReadonlyArray<Enum> => {
    if (seen.has(shape)) return []
    seen.add(shape)
    switch (shape.kind) {
      case "enum":
        return [shape, ...shape.variants.flatMap(({ fields }) => fields.flatMap((field) => enumsIn(field.shape, seen)))]
      case "struct":
        return shape.fields.flatMap((field) => enumsIn(field.shape, seen))
      case "option":
      case "list":
      case "array":
        return enumsIn(shape.of, seen)
      case "result":
        return [...enumsIn(shape.ok, seen), ...enumsIn(shape.err, seen)]
      case "lazy":
        return enumsIn(shape.force(), seen)
      default:
        return []
    }
  }
  const seen = new Set<Shape>()
  const all = [...enumsIn(ClientMessage, seen), ...enumsIn(DaemonMessage, seen)]

  it.each(all.map((shape) => [shape.name, shape] as const))("reaches every variant of %s", (_, shape) => {
    const samples = fc.sample(arbitraryOf<unknown>(shape), { numRuns: 25 * shape.variants.length, seed: 7 })
    const found = new Set(
      samples.map((value) => (typeof value === "object" && value !== null && "_tag" in value ? value._tag : undefined))
    )
    expect(shape.variants.map(({ name }) => name).filter((name) => !found.has(name))).toEqual([])
  })
})
