/**
 * Generators of hostile bytes of the protocol: frames of a client or a primary, and changes of what a member or an
 * agent says. They begin with golden vectors. Sends nothing.
 */

import { readFileSync } from "node:fs"
import * as fc from "fast-check"
import { asString, at } from "../../src/domain/json.ts"
import { frameBytes, type HostileFrame } from "./frames.ts"
import type { Ending } from "./peer.ts"
import type { Tampering } from "./tamper.ts"

const vectors = (direction: "client" | "daemon"): ReadonlyArray<Uint8Array> =>
  ["protocol", "invalid"].flatMap((file) =>
    readFileSync(new URL(`../../test/vectors/${file}.jsonl`, import.meta.url), "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line): unknown => JSON.parse(line))
      .filter((line) => at(line, "dir") === direction)
      .map((line) => Uint8Array.from(Buffer.from(asString(at(line, "hex")) ?? "", "hex")))
  )

const bytesUpTo = (maxLength: number) => fc.uint8Array({ maxLength })

/** Golden vectors, whole, cut, lengthened, with bytes changed, two in one, and noise. */
const message = (direction: "client" | "daemon"): fc.Arbitrary<Uint8Array> => {
  const golden = fc.constantFrom(...vectors(direction))
  return fc.oneof(
    { weight: 5, arbitrary: golden },
    { weight: 2, arbitrary: fc.tuple(golden, fc.nat(60)).map(([bytes, length]) => bytes.subarray(0, length)) },
    {
      weight: 2,
      arbitrary: fc.tuple(golden, bytesUpTo(8)).map((both) => Uint8Array.from(both.flatMap((one) => [...one])))
    },
    {
      weight: 4,
      arbitrary: fc
        .tuple(golden, fc.array(fc.tuple(fc.nat(80), fc.nat(255)), { minLength: 1, maxLength: 4 }))
        .map(([bytes, changes]) =>
          changes.reduce((all, [place, byte]) => (all.length === 0 ? all : all.with(place % all.length, byte)), bytes)
        )
    },
    { weight: 1, arbitrary: fc.tuple(golden, golden).map((both) => Uint8Array.from(both.flatMap((one) => [...one]))) },
    { weight: 1, arbitrary: bytesUpTo(60) },
    // Larger than what is read in one piece.
    {
      weight: 1,
      arbitrary: fc.tuple(golden, fc.integer({ min: 100_000, max: 400_000 })).map(([bytes, length]) => {
        const long = new Uint8Array(length)
        long.set(bytes.subarray(0, length))
        return long
      })
    }
  )
}

const frame = (payload: fc.Arbitrary<Uint8Array>, isMasked: boolean): fc.Arbitrary<HostileFrame> =>
  fc.record({
    first: fc.oneof(
      { weight: 12, arbitrary: fc.constant(0x82) },
      { weight: 3, arbitrary: fc.constantFrom(0x02, 0x00, 0x80, 0x81, 0x88, 0x89, 0x8a) },
      { weight: 1, arbitrary: fc.nat(255) }
    ),
    isMasked: fc.oneof({ weight: 15, arbitrary: fc.constant(isMasked) }, fc.constant(!isMasked)),
    lie: fc.oneof(
      { weight: 15, arbitrary: fc.constant(0) },
      fc.constantFrom(-1, 1, 125, 70_000, 64 * 1024 * 1024, 2 ** 33, Number.MAX_SAFE_INTEGER)
    ),
    payload
  })

/** The words of a client, or of a primary in its place, once it is connected. */
export interface SpeechInput {
  readonly frames: ReadonlyArray<HostileFrame>
  readonly cuts: ReadonlyArray<number>
  readonly pauseMs: number
  /** Whether the version is agreed on before, as every client does. */
  readonly isGreeted: boolean
  /** The primary's term, where a primary speaks. */
  readonly term: string | undefined
  readonly ending: Ending
}

export const speechInput: fc.Arbitrary<SpeechInput> = fc.record({
  frames: fc.array(frame(message("client"), true), { minLength: 1, maxLength: 12 }),
  cuts: fc.array(fc.nat(4000), { maxLength: 5 }),
  pauseMs: fc.constantFrom(0, 0, 1, 5),
  isGreeted: fc.boolean(),
  term: fc.option(fc.constantFrom("0", "1", "x", "-1"), { freq: 3, nil: undefined }),
  ending: fc.constantFrom<Ending>("half-close", "half-close", "cut", "stall")
})

/** Changes of a stream of the other side. */
export interface TamperInput {
  readonly changes: ReadonlyArray<Tampering>
}

const tampering = (bytes: fc.Arbitrary<Uint8Array>): fc.Arbitrary<TamperInput> =>
  fc.record({
    changes: fc.array(
      fc.record({
        at: fc.nat(6),
        act: fc.constantFrom<Tampering["act"]>(
          "insert",
          "insert",
          "append",
          "replace",
          "flip",
          "shorten",
          "split",
          "end"
        ),
        bytes,
        place: fc.nat(200)
      }),
      { minLength: 1, maxLength: 4 }
    )
  })

/** A member's link: WebSocket frames of a server. */
export const linkTampering: fc.Arbitrary<TamperInput> = tampering(
  fc.oneof({ weight: 6, arbitrary: frame(message("daemon"), false).map(frameBytes) }, bytesUpTo(60))
)

/** An agent's stream: messages without frames. */
export const agentTampering: fc.Arbitrary<TamperInput> = tampering(
  fc.oneof({ weight: 6, arbitrary: message("daemon") }, bytesUpTo(60))
)

export const speechBytes = ({ frames }: SpeechInput): Uint8Array => Buffer.concat(frames.map(frameBytes))
