/**
 * Finds where a message ends without decoding it (wire.md §1.4). When bytes are missing the walker remembers where it
 * stands and continues from there, so that a message that trickles in is walked once. It checks only the parts that
 * decide about lengths: markers, variants, option flags.
 *
 * Not here: checking the rest, such as UTF-8 (codec.ts).
 */

import { maximumDepth } from "./codec.ts"
import { type ProtocolError, Failure } from "./outcome.ts"
import { marker, maxItems, tooManyItems, varintTail } from "./reader.ts"
import type { Field, Primitive, Shape } from "./shape.ts"

/** A tag of one byte or a varint that chooses the program; `name` for the error. */
interface Choose {
  readonly do: "choose"
  readonly name: string
  readonly byte: boolean
  readonly programs: ReadonlyArray<Program>
  readonly labels: ReadonlyArray<string>
}

type Op =
  | { readonly do: "skip"; readonly length: number }
  | { readonly do: "varint"; readonly widest: number }
  /** A length, then as many bytes. */
  | { readonly do: "bytes" }
  /** A count, then as many times the program. */
  | { readonly do: "repeat"; readonly program: Program }
  | { readonly do: "call"; readonly program: () => Program }
  | Choose
  | { readonly do: "flag" }
type Program = ReadonlyArray<Op>

const programs = new WeakMap<Shape, Program>()

const programOf = (shape: Shape): Program => {
  const known = programs.get(shape)
  if (known !== undefined) return known
  const made = build(shape)
  programs.set(shape, made)
  return made
}

const bytesOp: Op = { do: "bytes" }
const varint = (widest: number): Program => [{ do: "varint", widest }]
const choose = (
  name: string,
  byte: boolean,
  branches: ReadonlyArray<readonly [label: string, program: Program]>
): Program => [
  {
    do: "choose",
    name,
    byte,
    labels: branches.map(([label]) => label),
    programs: branches.map(([, program]) => program)
  }
]

const scalarPrograms: { readonly [K in Primitive["kind"]]: Program } = {
  u8: [{ do: "skip", length: 1 }],
  bool: [{ do: "flag" }],
  u16: varint(marker.u16),
  status: varint(marker.u16),
  u32: varint(marker.u32),
  i32: varint(marker.u32),
  u64: varint(marker.u64),
  i64: varint(marker.u64),
  u128: varint(marker.u128),
  bytes: [bytesOp],
  unit: [],
  ip: choose("IpAddr", false, [
    ["", [{ do: "skip", length: 4 }]],
    ["", [{ do: "skip", length: 16 }]]
  ]),
  headers: [{ do: "repeat", program: [bytesOp, { do: "repeat", program: [bytesOp] }] }]
}

const fieldsProgram = (fields: ReadonlyArray<Field>): Program => fields.flatMap((field) => programOf(field.shape))

const build = (shape: Shape): Program => {
  switch (shape.kind) {
    case "text":
      return [bytesOp]
    case "option":
      return choose("Option", true, [
        ["", []],
        ["", programOf(shape.of)]
      ])
    case "result":
      return choose("Result", false, [
        ["", programOf(shape.ok)],
        ["", programOf(shape.err)]
      ])
    case "list":
      return [{ do: "repeat", program: programOf(shape.of) }]
    case "array":
      return Array.from({ length: shape.length }, () => programOf(shape.of)).flat()
    case "textSet":
      return [{ do: "repeat", program: [bytesOp] }]
    case "textMap":
      return [{ do: "repeat", program: [bytesOp, bytesOp] }]
    case "struct":
      return fieldsProgram(shape.fields)
    case "enum":
      return choose(
        shape.name,
        false,
        shape.variants.map(({ fields, name }) => [name, fieldsProgram(fields)] as const)
      )
    case "lazy":
      return [{ do: "call", program: () => programOf(shape.force()) }]
    default:
      return scalarPrograms[shape.kind]
  }
}

/** The work that is left: a program, the next operation in it, and how often it runs again afterwards. */
interface Frame {
  readonly program: Program
  next: number
  again: number
  /** The name of an enum's variant, for the path of an error and for counting the nesting; empty for other frames. */
  readonly label: string
}

export type WalkStep =
  /** The message ends at this offset. */
  | { readonly _tag: "End"; readonly offset: number }
  | { readonly _tag: "More" }
  | { readonly _tag: "Invalid"; readonly error: ProtocolError }

const more: WalkStep = { _tag: "More" }

/** Walks one message. `advance` is called with the message's bytes so far, always starting at its first byte. */
export class Walker {
  readonly #name: string
  readonly #stack: Array<Frame>
  #offset = 0
  /** Enums around the next operation, as the decoder counts them. */
  #depth = 0
  /** Bytes to skip before the next operation. */
  #skip = 0
  /** Items of lists, sets and maps so far, as the decoder counts them. */
  #items = 0

  constructor(name: string, shape: Shape) {
    this.#name = name
    this.#stack = [{ program: programOf(shape), next: 0, again: 0, label: "" }]
  }

  /** A lower bound of the message's length in bytes, as far as is known. */
  get needed(): number {
    return this.#offset + this.#skip
  }

  advance(bytes: Uint8Array): WalkStep {
    try {
      return this.#run(bytes)
    } catch (failure) {
      if (!(failure instanceof Failure)) throw failure
      const labels = this.#stack.map((frame) => frame.label).filter((label) => label !== "")
      return { _tag: "Invalid", error: failure.toError([this.#name, ...labels].join(".")) }
    }
  }

  #run(bytes: Uint8Array): WalkStep {
    for (;;) {
      if (this.#skip > 0) {
        const step = Math.min(this.#skip, bytes.length - this.#offset)
        this.#offset += step
        this.#skip -= step
        if (this.#skip > 0) return more
      }
      const frame = this.#stack.at(-1)
      if (frame === undefined) return { _tag: "End", offset: this.#offset }
      const op = frame.program[frame.next]
      if (op === undefined) {
        if (frame.again > 0) {
          frame.again--
          frame.next = 0
        } else {
          this.#stack.pop()
          if (frame.label !== "") this.#depth--
        }
        continue
      }
      if (!this.#perform(op, frame, bytes)) return more
    }
  }

  /** `false`: bytes are missing, nothing has changed. */
  #perform(op: Op, frame: Frame, bytes: Uint8Array): boolean {
    switch (op.do) {
      case "skip":
        this.#skip = op.length
        frame.next++
        return true
      case "call":
        frame.next++
        this.#push(op.program(), 0, "")
        return true
      case "flag":
        return this.#flag(frame, bytes)
      case "choose":
        return this.#choose(op, frame, bytes)
      case "varint":
        if (this.#varint(bytes, op.widest) === undefined) return false
        frame.next++
        return true
      case "bytes": {
        const length = this.#varint(bytes, marker.u64)
        if (length === undefined) return false
        this.#skip = length
        frame.next++
        return true
      }
      case "repeat": {
        const at = this.#offset
        const count = this.#varint(bytes, marker.u64)
        if (count === undefined) return false
        this.#items += count
        if (this.#items > maxItems) throw tooManyItems(this.#items, at)
        frame.next++
        if (count > 0) this.#push(op.program, count - 1, "")
        return true
      }
    }
  }

  #flag(frame: Frame, bytes: Uint8Array): boolean {
    const value = bytes[this.#offset]
    if (value === undefined) return false
    if (value > 1) throw new Failure("InvalidValue", this.#offset, `a boolean must be 0 or 1, found ${value}`)
    this.#offset++
    frame.next++
    return true
  }

  #choose(op: Choose, frame: Frame, bytes: Uint8Array): boolean {
    const at = this.#offset
    const index = op.byte ? this.#byte(bytes) : this.#varint(bytes, marker.u32)
    if (index === undefined) return false
    const chosen = op.programs[index]
    if (chosen === undefined) {
      throw op.byte
        ? new Failure("InvalidValue", at, `the flag of an ${op.name} must be 0 or 1, found ${index}`)
        : new Failure("UnknownVariant", at, `${op.name} has no variant ${index}`).inside(String(index))
    }
    frame.next++
    const label = op.labels[index] ?? ""
    if (label !== "" && ++this.#depth > maximumDepth) {
      throw new Failure("TooDeep", at, `nested deeper than ${maximumDepth}`)
    }
    this.#push(chosen, 0, label)
    return true
  }

  #push(program: Program, again: number, label: string): void {
    this.#stack.push({ program, next: 0, again, label })
  }

  #byte(bytes: Uint8Array): number | undefined {
    const value = bytes[this.#offset]
    if (value !== undefined) this.#offset++
    return value
  }

  /** A whole varint as a number (rounded beyond 2^53, which no buffer reaches), or `undefined` if bytes are missing. */
  #varint(bytes: Uint8Array, widest: number): number | undefined {
    const first = bytes[this.#offset]
    if (first === undefined) return undefined
    if (first > widest) {
      const found = first.toString(16)
      throw new Failure(
        "InvalidValue",
        this.#offset,
        `integer marker 0x${found} is wider than the type allows (0x${widest.toString(16)})`
      )
    }
    const tail = varintTail(first)
    if (bytes.length - this.#offset <= tail) return undefined
    let value = tail === 0 ? first : 0
    for (let i = tail; i > 0; i--) value = value * 256 + (bytes[this.#offset + i] ?? 0)
    this.#offset += tail + 1
    return value
  }
}

export type Skipped =
  | { readonly _tag: "End"; readonly offset: number }
  | { readonly _tag: "Incomplete" }
  | { readonly _tag: "Invalid"; readonly error: ProtocolError }

/** Where the message at the front of `bytes` ends. */
export const skip = (name: string, shape: Shape, bytes: Uint8Array): Skipped => {
  const step = new Walker(name, shape).advance(bytes)
  return step._tag === "More" ? { _tag: "Incomplete" } : step
}
