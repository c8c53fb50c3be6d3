/**
 * Reads golden vectors and checks the codec of the protocol against them. `npm run vectors` and the tests both use it.
 */

import { ClientMessage, clientMessage } from "../../src/domain/protocol/client-message.ts"
import type { Codec } from "../../src/domain/protocol/codec.ts"
import { DaemonMessage, daemonMessage } from "../../src/domain/protocol/daemon-message.ts"
import type { TypedShape } from "../../src/domain/protocol/shape.ts"
import { skip } from "../../src/domain/protocol/walker.ts"
import { type Json, render } from "./golden-value.ts"

/** A byte string of the reference implementation and its meaning; one JSON object per line of a file. */
export type Vector = {
  readonly dir: "client" | "daemon"
  readonly bytes: Uint8Array
  /** The name of the vector in failures: the line's `id`, else its `note`, else its bytes. */
  readonly name: string
  readonly expect:
    | {
        readonly _tag: "Message"
        readonly value: Json
        /** Number of bytes of the first message; `bytes` may hold more. */
        readonly used: number
        /**
         * The bytes that encoding the value gives. They differ from the decoded bytes if those are not in their
         * shortest form.
         */
        readonly canonical: Uint8Array
        /** Whether the value holds a hash map or set of several entries, whose order in the encoding is arbitrary. */
        readonly unordered: boolean
      }
    | { readonly _tag: "Refused"; readonly why: "incomplete" | "invalid" }
}

export type Read =
  | { readonly _tag: "Vector"; readonly vector: Vector }
  | { readonly _tag: "Malformed"; readonly message: string }

const toHex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")
const fromHex = (text: string): Uint8Array | undefined =>
  /^(?:[0-9a-f]{2})*$/i.test(text)
    ? Uint8Array.from({ length: text.length / 2 }, (_, i) => Number.parseInt(text.slice(2 * i, 2 * i + 2), 16))
    : undefined

const messageFields = ["id", "dir", "hex", "value", "canonical", "used", "unordered", "note"]
const refusedFields = ["id", "dir", "hex", "why", "note"]

class Malformed extends Error {}

const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? "nothing"
  return text.length > 80 ? `${text.slice(0, 77)}…` : text
}

type Line = { readonly [field: string]: Json }

const isLine = (json: Json): json is Line => typeof json === "object" && json !== null && !Array.isArray(json)

const hexField = (line: Line, field: string): Uint8Array => {
  const value = line[field]
  const bytes = typeof value === "string" ? fromHex(value) : undefined
  if (bytes === undefined)
    throw new Malformed(`"${field}" must be an even number of hexadecimal digits, found ${shown(value)}`)
  return bytes
}

const optional = <T>(line: Line, field: string, otherwise: T, read: () => T): T =>
  line[field] === undefined ? otherwise : read()

const expectation = (line: Line, bytes: Uint8Array): Vector["expect"] => {
  const { why, value } = line
  const unheard = Object.keys(line).find((field) => !messageFields.includes(field) && !refusedFields.includes(field))
  if (unheard !== undefined)
    throw new Malformed(`unknown field "${unheard}"; known: ${[...messageFields, "why"].join(", ")}`)
  if (value === undefined && why === undefined) throw new Malformed(`either "value" or "why" is needed`)
  if (value !== undefined && why !== undefined) throw new Malformed(`"value" and "why" exclude each other`)
  const known = value === undefined ? refusedFields : messageFields
  const misplaced = Object.keys(line).find((field) => !known.includes(field))
  if (misplaced !== undefined)
    throw new Malformed(`"${misplaced}" does not go with "why"; possible here: ${known.join(", ")}`)
  if (value === undefined) {
    if (why === "incomplete" || why === "invalid") return { _tag: "Refused", why }
    throw new Malformed(`"why" must be "incomplete" or "invalid", found ${shown(why)}`)
  }
  const used = optional(line, "used", bytes.length, () => {
    const count = line["used"]
    if (typeof count === "number" && Number.isInteger(count) && count >= 0 && count <= bytes.length) return count
    throw new Malformed(`"used" must be a number of bytes from 0 to ${bytes.length}, found ${shown(count)}`)
  })
  const unordered = optional(line, "unordered", false, () => {
    const flag = line["unordered"]
    if (typeof flag === "boolean") return flag
    throw new Malformed(`"unordered" must be true or false, found ${shown(flag)}`)
  })
  const canonical = optional(line, "canonical", bytes.subarray(0, used), () => hexField(line, "canonical"))
  return { _tag: "Message", value, used, canonical, unordered }
}

/** Reads one line of a vector file. The failure says what is wrong with it and what would be right. */
const readVector = (text: string): Read => {
  let json: Json
  try {
    json = JSON.parse(text)
  } catch (error) {
    return { _tag: "Malformed", message: `not JSON: ${error instanceof Error ? error.message : String(error)}` }
  }
  try {
    if (!isLine(json)) throw new Malformed(`a JSON object is needed, found ${shown(json)}`)
    const { dir, id, note } = json
    if (dir !== "client" && dir !== "daemon")
      throw new Malformed(`"dir" must be "client" or "daemon", found ${shown(dir)}`)
    for (const [field, value] of Object.entries({ id, note })) {
      if (value !== undefined && typeof value !== "string")
        throw new Malformed(`"${field}" must be a text, found ${shown(value)}`)
    }
    const bytes = hexField(json, "hex")
    const name = String(id ?? note ?? shown(json["hex"]))
    return { _tag: "Vector", vector: { dir, bytes, name, expect: expectation(json, bytes) } }
  } catch (error) {
    if (error instanceof Malformed) return { _tag: "Malformed", message: error.message }
    throw error
  }
}

/**
 * The first place where two JSON values differ, as `.0.filters[1]: expected …, found …`. The order of an object's keys
 * does not matter.
 */
const difference = (expected: Json | undefined, found: Json | undefined, path = "value"): string | undefined => {
  if (typeof expected === "object" && typeof found === "object" && expected !== null && found !== null) {
    if (Array.isArray(expected) === Array.isArray(found)) {
      const [x, y] = [new Map(Object.entries(expected)), new Map(Object.entries(found))]
      for (const key of new Set([...x.keys(), ...y.keys()])) {
        const inside = difference(
          x.get(key),
          y.get(key),
          Array.isArray(expected) ? `${path}[${key}]` : `${path}.${key}`
        )
        if (inside !== undefined) return inside
      }
      return undefined
    }
  }
  return expected === found ? undefined : `${path}: expected ${shown(expected)}, found ${shown(found)}`
}

const hexDifference = (what: string, expected: Uint8Array, found: Uint8Array): string | undefined => {
  const [x, y] = [toHex(expected), toHex(found)]
  if (x === y) return undefined
  const at = expected.findIndex((byte, i) => byte !== found[i])
  const offset = at < 0 ? expected.length : at
  const part = (hex: string): string => shown(hex.slice(2 * offset))
  return `${what}: from byte ${offset} expected ${part(x)}, found ${part(y)}`
}

const tryEncode = <T>(codec: Codec<T>, value: T): Uint8Array | string => {
  try {
    return codec.encode(value)
  } catch (error) {
    return `encoding: refused: ${error instanceof Error ? error.message : String(error)}`
  }
}

const outcomeOf = <T>(decoded: ReturnType<Codec<T>["decode"]>): string => {
  switch (decoded._tag) {
    case "Invalid":
      return `invalid: ${decoded.error.path} at byte ${decoded.error.offset}: ${decoded.error.message}`
    case "Decoded":
      return `a message of ${decoded.used} bytes`
    default:
      return "incomplete"
  }
}

type Expected = Extract<Vector["expect"], { readonly value: unknown }>

const checkAs = <T>({ bytes, expect }: Vector, codec: Codec<T>, shape: TypedShape<T>): ReadonlyArray<string> => {
  const decoded = codec.decode(bytes)
  const walked = skip(codec.name, shape, bytes)
  if (expect._tag === "Refused") {
    const problems: Array<string> = []
    if (decoded._tag.toLowerCase() !== expect.why)
      problems.push(`decoding: expected ${expect.why}, found ${outcomeOf(decoded)}`)
    // The skipper looks only at what decides about lengths. So it may accept an invalid message, but never an
    // unfinished one.
    if (expect.why === "incomplete" && walked._tag !== "Incomplete")
      problems.push(`skipping: expected incomplete, found ${walked._tag}`)
    return problems
  }
  if (decoded._tag !== "Decoded") return [`decoding: expected a message, found ${outcomeOf(decoded)}`]
  const foundEnd = walked._tag === "End" ? `byte ${walked.offset}` : walked._tag
  return [
    difference(expect.value, render(shape, decoded.value)),
    decoded.used === expect.used
      ? undefined
      : `decoding: expected ${expect.used} bytes to be used, found ${decoded.used}`,
    walked._tag === "End" && walked.offset === expect.used
      ? undefined
      : `skipping: expected the end at byte ${expect.used}, found ${foundEnd}`,
    ...checkEncoding(expect, codec, shape, tryEncode(codec, decoded.value))
  ].filter((problem) => problem !== undefined)
}

const checkEncoding = <T>(
  expect: Expected,
  codec: Codec<T>,
  shape: TypedShape<T>,
  encoded: Uint8Array | string
): ReadonlyArray<string | undefined> => {
  if (typeof encoded === "string") return [encoded]
  if (!expect.unordered) return [hexDifference("encoding", expect.canonical, encoded)]
  const redecoded = codec.decode(encoded)
  return [
    redecoded._tag === "Decoded"
      ? difference(expect.value, render(shape, redecoded.value), "encoded value")
      : `encoding: gives ${redecoded._tag}`,
    encoded.length === expect.canonical.length
      ? undefined
      : `encoding: expected ${expect.canonical.length} bytes, found ${encoded.length}`
  ]
}

/** Differences between the codec and the vector; empty if there are none. */
const checkVector = (vector: Vector): ReadonlyArray<string> =>
  vector.dir === "client"
    ? checkAs(vector, clientMessage, ClientMessage)
    : checkAs(vector, daemonMessage, DaemonMessage)

export interface LineResult {
  /** Number of the line, from 1. */
  readonly line: number
  /** The failure in one line; absent if nothing is. */
  readonly failure?: string
}

/** Checks a whole file; empty lines do not count. */
export const checkVectors = (text: string): ReadonlyArray<LineResult> =>
  text.split(/\r?\n/).flatMap((content, i): ReadonlyArray<LineResult> => {
    if (content.trim() === "") return []
    const line = i + 1
    const read = readVector(content)
    if (read._tag === "Malformed") return [{ line, failure: read.message }]
    const problems = checkVector(read.vector)
    return [problems.length === 0 ? { line } : { line, failure: `${read.vector.name}: ${problems.join("; ")}` }]
  })
