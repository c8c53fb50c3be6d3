import { formatIp, parseIp } from "./ip-address.ts"
import { type Decoded, endOfBuffer, Failure, incomplete } from "./outcome.ts"
import { marker, Reader } from "./reader.ts"
import type { Enum, Field, Headers, Shape, TypedShape } from "./shape.ts"
import { checkText, headerName, isHeaderValue } from "./text-rules.ts"
import { Writer } from "./writer.ts"

/**
 * Encoder and decoder of any shape. Both are compiled once per shape into closures, so that a message costs plain
 * calls.
 *
 * Filters nest without limit upstream; ours stop at this depth, so that no message can exhaust the stack.
 */
export const maximumDepth = 128

export interface Codec<T> {
  readonly name: string
  /** Decodes the message at the front of `bytes`; never throws. Byte fields are views into `bytes`. */
  readonly decode: (bytes: Uint8Array) => Decoded<T>
  /**
   * Throws a `RangeError` for a value that the wire cannot carry (a port of 70000, a header with a line break): a
   * caller's bug.
   */
  readonly encode: (value: T) => Uint8Array
}

type Read = (reader: Reader) => unknown
/**
 * Values are checked by the compiler where they are made ({@link TypedShape}); inside they are as dynamic as the shape.
 */
type Write = (writer: Writer, value: never) => void
interface Compiled {
  readonly read: Read
  readonly write: Write
}

const compiled = new WeakMap<Shape, Compiled>()

const compile = (shape: Shape): Compiled => {
  const known = compiled.get(shape)
  if (known !== undefined) return known
  const made = build(shape)
  compiled.set(shape, made)
  return made
}

const on = <T>(read: (reader: Reader) => T, write: (writer: Writer, value: T) => void): Compiled => ({
  read,
  write
})

const integer = (value: number, low: number, high: number, type: string): number => {
  if (!Number.isInteger(value) || value < low || value > high) throw new RangeError(`${value} is not a ${type}`)
  return value
}

/** i64 and i32 travel as zigzag (wire.md §2.2). */
const zigzag = (value: bigint): bigint => (value >= 0n ? value << 1n : (-value << 1n) - 1n)
const unzigzag = (value: bigint): bigint => ((value & 1n) === 0n ? value >> 1n : -((value + 1n) >> 1n))

const readHeaders = (reader: Reader): Headers => {
  const byName = new Map<string, Array<Uint8Array>>()
  for (let names = reader.length(); names > 0; names--) {
    const at = reader.offset
    const raw = reader.text()
    const name = headerName(raw) ?? reader.fail(`${JSON.stringify(raw)} is not a header name`, at)
    const count = reader.length()
    const values: Array<Uint8Array> = []
    for (let i = 0; i < count; i++) {
      const start = reader.offset
      const value = reader.byteString()
      if (!isHeaderValue(value)) reader.fail(`the value of header ${name} has a control character`, start)
      values.push(value)
    }
    // A repeated name with one value replaces what was there, with several it adds: upstream inserts and appends
    // (http-serde).
    if (count > 0) byName.set(name, count === 1 ? values : [...(byName.get(name) ?? []), ...values])
  }
  return [...byName].flatMap(([name, values]) => values.map((value) => [name, value] as const))
}

const writeHeaders = (writer: Writer, value: Headers): void => {
  const byName = new Map<string, Array<Uint8Array>>()
  for (const [raw, bytes] of value) {
    const name = headerName(raw)
    if (name === undefined) throw new RangeError(`${JSON.stringify(raw)} is not a header name`)
    if (!isHeaderValue(bytes)) throw new RangeError(`the value of header ${name} has a control character`)
    const values = byName.get(name)
    if (values === undefined) byName.set(name, [bytes])
    else values.push(bytes)
  }
  writer.varint(byName.size)
  for (const [name, values] of byName) {
    writer.text(name)
    writer.varint(values.length)
    for (const bytes of values) writer.byteString(bytes)
  }
}

const readFields = (fields: ReadonlyArray<Field>): ((reader: Reader, into: Record<string, unknown>) => void) => {
  const reads = fields.map(({ name, shape }) => ({ name, read: compile(shape).read }))
  return (reader, into) => {
    for (const { name, read } of reads) {
      try {
        into[name] = read(reader)
      } catch (failure) {
        throw failure instanceof Failure && failure !== endOfBuffer && name !== "value" ? failure.inside(name) : failure
      }
    }
  }
}

const writeFields = (
  fields: ReadonlyArray<Field>
): ((writer: Writer, value: Readonly<Record<string, never>>) => void) => {
  const writes = fields.map(({ name, shape }) => ({ name, write: compile(shape).write }))
  return (writer, value) => {
    for (const { name, write } of writes) write(writer, value[name] as never)
  }
}

const buildEnum = (shape: Enum): Compiled => {
  const variants = shape.variants.map(({ name, fields }) => ({
    name,
    read: readFields(fields),
    write: writeFields(fields)
  }))
  const indexOf = new Map(variants.map(({ name }, index) => [name, index]))
  return {
    read: (reader) => {
      const at = reader.offset
      const index = reader.varint32(marker.u32)
      const variant = variants[index]
      if (variant === undefined) {
        throw new Failure("UnknownVariant", at, `${shape.name} has no variant ${index}`).inside(String(index))
      }
      if (++reader.depth > maximumDepth) throw new Failure("TooDeep", at, `nested deeper than ${maximumDepth}`)
      const value: Record<string, unknown> = { _tag: variant.name }
      try {
        variant.read(reader, value)
      } catch (failure) {
        throw failure instanceof Failure && failure !== endOfBuffer ? failure.inside(variant.name) : failure
      }
      reader.depth--
      return value
    },
    write: (writer: Writer, value: Readonly<Record<string, never>>) => {
      const tag: string = value["_tag"] as never
      const index = indexOf.get(tag)
      const variant = index === undefined ? undefined : variants[index]
      if (index === undefined || variant === undefined) throw new RangeError(`${shape.name} has no variant ${tag}`)
      if (++writer.depth > maximumDepth) throw new RangeError(`nested deeper than ${maximumDepth}`)
      writer.varint(index)
      variant.write(writer, value)
      writer.depth--
    }
  }
}

const build = (shape: Shape): Compiled => {
  switch (shape.kind) {
    case "u8":
      return on(
        (r) => r.u8(),
        (w, v: number) => w.u8(integer(v, 0, 0xff, "u8"))
      )
    case "bool":
      return on(
        (r) => r.bool("a boolean"),
        (w, v: boolean) => w.u8(v ? 1 : 0)
      )
    case "u16":
      return on(
        (r) => r.varint32(marker.u16),
        (w, v: number) => w.varint(integer(v, 0, 0xffff, "u16"))
      )
    case "u32":
      return on(
        (r) => r.varint32(marker.u32),
        (w, v: number) => w.varint(integer(v, 0, 0xffff_ffff, "u32"))
      )
    case "u64":
      return on(
        (r) => r.varint64(),
        (w, v: bigint) => {
          if (v >> 64n !== 0n) throw new RangeError(`${v} is not a u64`)
          w.bigVarint(v)
        }
      )
    case "u128":
      return on(
        (r) => r.varint128(),
        (w, v: bigint) => w.bigVarint(v)
      )
    case "i32":
      return on(
        (r) => Number(unzigzag(BigInt(r.varint32(marker.u32)))),
        (w, v: number) => w.bigVarint(zigzag(BigInt(integer(v, -0x8000_0000, 0x7fff_ffff, "i32"))))
      )
    case "i64":
      return on(
        (r) => unzigzag(r.varint64()),
        (w, v: bigint) => {
          if (BigInt.asIntN(64, v) !== v) throw new RangeError(`${v} is not an i64`)
          w.bigVarint(zigzag(v))
        }
      )
    case "bytes":
      return on(
        (r) => r.byteString(),
        (w, v: Uint8Array) => w.byteString(v)
      )
    case "unit":
      return on(
        () => null,
        () => {}
      )
    case "status":
      return on(
        (r) => {
          const at = r.offset
          const value = r.varint32(marker.u16)
          return value >= 100 && value <= 999 ? value : r.fail(`${value} is not an HTTP status (100 to 999)`, at)
        },
        (w, v: number) => w.varint(integer(v, 100, 999, "HTTP status"))
      )
    case "ip":
      return on(
        (r) => {
          const at = r.offset
          const family = r.varint32(marker.u32)
          if (family > 1)
            throw new Failure("UnknownVariant", at, `IpAddr has no variant ${family}`).inside(String(family))
          const start = r.take(family === 0 ? 4 : 16)
          return formatIp(r.bytes.subarray(start, r.offset))
        },
        (w, v: string) => {
          const octets = parseIp(v)
          if (octets === undefined) throw new RangeError(`${JSON.stringify(v)} is not an IP address`)
          w.u8(octets.length === 4 ? 0 : 1)
          w.raw(octets)
        }
      )
    case "headers":
      return on(readHeaders, writeHeaders)
    case "text":
      return on(
        (r) => {
          const at = r.offset
          const checked = checkText(shape.rule, r.text())
          return "ok" in checked ? checked.ok : r.fail(checked.error, at)
        },
        (w, v: string) => {
          const checked = checkText(shape.rule, v)
          if ("error" in checked) throw new RangeError(checked.error)
          w.text(checked.ok)
        }
      )
    case "option": {
      const inner = compile(shape.of)
      return {
        read: (r) => (r.bool("the flag of an Option") ? inner.read(r) : null),
        write: (w: Writer, v: never) => {
          w.u8(v === null ? 0 : 1)
          if (v !== null) inner.write(w, v)
        }
      }
    }
    case "result": {
      const [ok, err] = [compile(shape.ok), compile(shape.err)]
      return on(
        (r) => {
          const at = r.offset
          const index = r.varint32(marker.u32)
          if (index > 1) throw new Failure("UnknownVariant", at, `Result has no variant ${index}`).inside(String(index))
          return index === 0 ? { _tag: "Ok", value: ok.read(r) } : { _tag: "Err", error: err.read(r) }
        },
        (w, v: { readonly _tag: string; readonly value?: unknown; readonly error?: unknown }) => {
          w.u8(v._tag === "Ok" ? 0 : 1)
          if (v._tag === "Ok") ok.write(w, v.value as never)
          else err.write(w, v.error as never)
        }
      )
    }
    case "list": {
      const item = compile(shape.of)
      return on(
        (r) => {
          const items: Array<unknown> = []
          for (let count = r.length(); count > 0; count--) items.push(item.read(r))
          return items
        },
        (w, v: ReadonlyArray<unknown>) => {
          w.varint(v.length)
          for (const one of v) item.write(w, one as never)
        }
      )
    }
    case "array": {
      const item = compile(shape.of)
      return on(
        (r) => Array.from({ length: shape.length }, () => item.read(r)),
        (w, v: ReadonlyArray<unknown>) => {
          integer(v.length, shape.length, shape.length, `list of ${shape.length}`)
          for (const one of v) item.write(w, one as never)
        }
      )
    }
    case "textSet":
      return on(
        (r) => {
          const members = new Set<string>()
          for (let count = r.length(); count > 0; count--) members.add(r.text())
          return members
        },
        (w, v: ReadonlySet<string>) => {
          w.varint(v.size)
          for (const member of v) w.text(member)
        }
      )
    case "textMap":
      return on(
        (r) => {
          const entries = new Map<string, string>()
          for (let count = r.length(); count > 0; count--) entries.set(r.text(), r.text())
          return entries
        },
        (w, v: ReadonlyMap<string, string>) => {
          w.varint(v.size)
          for (const [key, value] of v) {
            w.text(key)
            w.text(value)
          }
        }
      )
    case "struct": {
      const [read, write] = [readFields(shape.fields), writeFields(shape.fields)]
      return {
        read: (r) => {
          const value: Record<string, unknown> = {}
          read(r, value)
          return value
        },
        write: (w: Writer, v: Readonly<Record<string, never>>) => write(w, v)
      }
    }
    case "enum":
      return buildEnum(shape)
    case "lazy": {
      let inner: Compiled | undefined
      const get = (): Compiled => (inner ??= compile(shape.force()))
      return { read: (r) => get().read(r), write: (w: Writer, v: never) => get().write(w, v) }
    }
  }
}

/** The codec of a shape; `name` starts the path in errors. */
export const codec = <T>(name: string, shape: TypedShape<T>): Codec<T> => {
  const { read, write } = compile(shape)
  return {
    name,
    decode: (bytes) => {
      const reader = new Reader(bytes)
      try {
        const value = read(reader)
        return { _tag: "Decoded", value: value as T, used: reader.offset }
      } catch (failure) {
        if (failure === endOfBuffer) return incomplete
        if (failure instanceof Failure) return { _tag: "Invalid", error: failure.toError(name) }
        throw failure
      }
    },
    encode: (value) => {
      const writer = new Writer()
      write(writer, value as never)
      return writer.finish()
    }
  }
}
