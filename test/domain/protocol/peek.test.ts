import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { ClientMessage, clientMessage } from "../../../src/domain/protocol/client-message.ts"
import type { Codec } from "../../../src/domain/protocol/codec.ts"
import { DaemonMessage, daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import { clientTag, daemonTag, peekClient, peekDaemon } from "../../../src/domain/protocol/peek.ts"
import type { TypedShape } from "../../../src/domain/protocol/shape.ts"
import { clientTable, daemonTable } from "../../../src/domain/relay/table.ts"
import { arbitraryOf } from "./arbitrary.ts"

interface Tagged {
  readonly _tag: string
}
const isTagged = (value: unknown): value is Tagged => typeof value === "object" && value !== null && "_tag" in value

/** The row of a decoded message, by its tags from the outermost inwards: the first that the table has. */
const rowOf = (message: Tagged, table: object): string | undefined => {
  let key = message._tag
  let at = message
  while (!Object.hasOwn(table, key)) {
    if (!("value" in at) || !isTagged(at.value)) return undefined
    at = at.value
    key += `.${at._tag}`
  }
  return key
}

/** An index in one of the longer forms that a decoder accepts (wire.md §2.2). */
const overlong = (index: number): ReadonlyArray<ReadonlyArray<number>> => [
  [index],
  [0xfb, index, 0],
  [0xfc, index, 0, 0, 0]
]

const properties = <T extends Tagged>(
  codec: Codec<T>,
  shape: TypedShape<T>,
  table: object,
  peek: (bytes: Uint8Array) => string | undefined,
  tag: (bytes: Uint8Array) => string | undefined
): void => {
  const agrees = (bytes: Uint8Array): void => {
    const decoded = codec.decode(bytes)
    if (decoded._tag !== "Decoded") return
    expect(peek(bytes)).toBe(rowOf(decoded.value, table))
    expect(tag(bytes)).toBe(decoded.value._tag)
  }

  it("says of every message the row that its decoded tags say", () => {
    fc.assert(
      fc.property(arbitraryOf(shape), (message) => {
        const bytes = codec.encode(message)
        expect(peek(bytes)).toBe(rowOf(message, table))
        expect(tag(bytes)).toBe(message._tag)
      }),
      { numRuns: 3000 }
    )
  })

  it("says nothing else of bytes of any kind: where it knows no row, the decoder knows no message", () => {
    const index = fc.oneof(fc.nat(20), fc.nat(255))
    const noise = fc
      .tuple(
        fc.array(
          fc.tuple(index, fc.nat(2)).map(([value, form]) => overlong(value)[form] ?? []),
          { maxLength: 3 }
        ),
        fc.uint8Array({ maxLength: 30 })
      )
      .map(([indices, rest]) => Uint8Array.of(...indices.flat(), ...rest))
    fc.assert(
      fc.property(noise, (bytes) => {
        agrees(bytes)
        const key = peek(bytes)
        if (key !== undefined) expect(Object.hasOwn(table, key)).toBe(true)
      }),
      { numRuns: 20_000 }
    )
  })

  it("knows overlong indices, as the decoder does", () => {
    fc.assert(
      fc.property(arbitraryOf(shape), fc.nat(2), (message, form) => {
        const [first = 0, ...rest] = codec.encode(message)
        const bytes = Uint8Array.of(...(overlong(first)[form] ?? []), ...rest)
        expect(peek(bytes)).toBe(rowOf(message, table))
        agrees(bytes)
      })
    )
  })
}

describe("a client message", () => {
  properties(clientMessage, ClientMessage, clientTable, peekClient, clientTag)
})
describe("a daemon message", () => {
  properties(daemonMessage, DaemonMessage, daemonTable, peekDaemon, daemonTag)
})
