/**
 * Encoder, decoder and checker of any shape. They are compiled once per shape into closures, so that a message costs
 * plain calls.
 *
 * Not here: where a message of a stream ends (walker.ts).
 */

import * as Result from "effect/Result"
import { type Checked, type Decoded, endOfBuffer, Failure, incomplete } from "./outcome.ts"
import { marker, Reader } from "./reader.ts"
import { type Compiled, integer, on, scalarCodecs } from "./scalar-codecs.ts"
import type { Enum, Field, List, Option, Result as ResultShape, Shape, Text, Tuple, TypedShape } from "./shape.ts"
import { checkText } from "./text-rules.ts"
import { Writer } from "./writer.ts"

/** Filters nest without limit upstream; ours stop at this depth, so that no message can exhaust the stack. */
export const maximumDepth = 128

export interface Codec<T> {
  readonly name: string
  /** Decodes the message at the front of `bytes`; never throws. Byte fields are views into `bytes`. */
  readonly decode: (bytes: Uint8Array) => Decoded<T>
  /** Gives the same outcome as {@link decode} for the same bytes, without making the value. */
  readonly check: (bytes: Uint8Array) => Checked
  /**
   * Throws a `RangeError` for a value that the wire cannot carry (a port of 70000, a header with a line break): a
   * caller's bug.
   */
  readonly encode: (value: T) => Uint8Array
}

const compiled = new WeakMap<Shape, Compiled>()

const compile = (shape: Shape): Compiled => {
  const known = compiled.get(shape)
  if (known !== undefined) return known
  const made = build(shape)
  compiled.set(shape, made)
  return made
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

const checkFields = (fields: ReadonlyArray<Field>): ((reader: Reader) => void) => {
  const checks = fields.map(({ shape }) => compile(shape).check)
  const [only] = checks
  if (only !== undefined && checks.length === 1) return only
  return (reader) => {
    for (const check of checks) check(reader)
  }
}

const enumCodec = (shape: Enum): Compiled => {
  const variants = shape.variants.map(({ name, fields }) => ({
    name,
    read: readFields(fields),
    check: checkFields(fields),
    write: writeFields(fields)
  }))
  const readVariant = (reader: Reader) => {
    const at = reader.offset
    const index = reader.varint32(marker.u32)
    const variant = variants[index]
    if (variant === undefined) {
      throw new Failure("UnknownVariant", at, `${shape.name} has no variant ${index}`).inside(String(index))
    }
    if (++reader.depth > maximumDepth) throw new Failure("TooDeep", at, `nested deeper than ${maximumDepth}`)
    return variant
  }
  const indexOf = new Map(variants.map(({ name }, index) => [name, index]))
  return {
    read: (reader) => {
      const variant = readVariant(reader)
      const value: Record<string, unknown> = { _tag: variant.name }
      try {
        variant.read(reader, value)
      } catch (failure) {
        throw failure instanceof Failure && failure !== endOfBuffer ? failure.inside(variant.name) : failure
      }
      reader.depth--
      return value
    },
    check: (reader) => {
      readVariant(reader).check(reader)
      reader.depth--
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

const textCodec = ({ rule }: Text): Compiled => {
  const read = (r: Reader): string => {
    const at = r.offset
    const checked = checkText(rule, r.text())
    return Result.isSuccess(checked) ? checked.success : r.fail(checked.failure, at)
  }
  const write = (w: Writer, v: string): void => {
    const checked = checkText(rule, v)
    if (Result.isFailure(checked)) throw new RangeError(checked.failure)
    w.text(checked.success)
  }
  return on(read, write, read)
}

const anyTextCodec: Compiled = on(
  (r) => r.text(),
  (w, v: string) => w.text(v),
  (r) => r.checkText()
)

const optionCodec = ({ of }: Option): Compiled => {
  const inner = compile(of)
  const isSome = (r: Reader): boolean => r.bool("the flag of an Option")
  return {
    read: (r) => (isSome(r) ? inner.read(r) : null),
    check: (r) => {
      if (isSome(r)) inner.check(r)
    },
    write: (w: Writer, v: never) => {
      w.u8(v === null ? 0 : 1)
      if (v !== null) inner.write(w, v)
    }
  }
}

const resultCodec = (shape: ResultShape): Compiled => {
  const [ok, err] = [compile(shape.ok), compile(shape.err)]
  const isOk = (r: Reader): boolean => {
    const at = r.offset
    const index = r.varint32(marker.u32)
    if (index > 1) throw new Failure("UnknownVariant", at, `Result has no variant ${index}`).inside(String(index))
    return index === 0
  }
  return on(
    (r) => (isOk(r) ? { _tag: "Ok", value: ok.read(r) } : { _tag: "Err", error: err.read(r) }),
    (w, v: { readonly _tag: string; readonly value?: unknown; readonly error?: unknown }) => {
      w.u8(v._tag === "Ok" ? 0 : 1)
      if (v._tag === "Ok") ok.write(w, v.value as never)
      else err.write(w, v.error as never)
    },
    (r) => (isOk(r) ? ok : err).check(r)
  )
}

const listCodec = ({ of }: List): Compiled => {
  const item = compile(of)
  return on(
    (r) => {
      const items: Array<unknown> = []
      for (let count = r.count(); count > 0; count--) items.push(item.read(r))
      return items
    },
    (w, v: ReadonlyArray<unknown>) => {
      w.varint(v.length)
      for (const value of v) item.write(w, value as never)
    },
    (r) => {
      for (let count = r.count(); count > 0; count--) item.check(r)
    }
  )
}

const tupleCodec = ({ of, length }: Tuple): Compiled => {
  const item = compile(of)
  return on(
    (r) => Array.from({ length }, () => item.read(r)),
    (w, v: ReadonlyArray<unknown>) => {
      integer(v.length, length, length, `list of ${length}`)
      for (const value of v) item.write(w, value as never)
    },
    (r) => {
      for (let count = length; count > 0; count--) item.check(r)
    }
  )
}

const textSetCodec: Compiled = on(
  (r) => {
    const members = new Set<string>()
    for (let count = r.count(); count > 0; count--) members.add(r.text())
    return members
  },
  (w, v: ReadonlySet<string>) => {
    w.varint(v.size)
    for (const member of v) w.text(member)
  },
  (r) => {
    for (let count = r.count(); count > 0; count--) r.checkText()
  }
)

const textMapCodec: Compiled = on(
  (r) => {
    const entries = new Map<string, string>()
    for (let count = r.count(); count > 0; count--) entries.set(r.text(), r.text())
    return entries
  },
  (w, v: ReadonlyMap<string, string>) => {
    w.varint(v.size)
    for (const [key, value] of v) {
      w.text(key)
      w.text(value)
    }
  },
  (r) => {
    for (let count = r.count(); count > 0; count--) {
      r.checkText()
      r.checkText()
    }
  }
)

const structCodec = (fields: ReadonlyArray<Field>): Compiled => {
  const [read, write] = [readFields(fields), writeFields(fields)]
  return {
    read: (r) => {
      const value: Record<string, unknown> = {}
      read(r, value)
      return value
    },
    check: checkFields(fields),
    write: (w: Writer, v: Readonly<Record<string, never>>) => write(w, v)
  }
}

const lazyCodec = (force: () => Shape): Compiled => {
  let inner: Compiled | undefined
  const get = (): Compiled => (inner ??= compile(force()))
  return {
    read: (r) => get().read(r),
    check: (r) => get().check(r),
    write: (w: Writer, v: never) => get().write(w, v)
  }
}

const build = (shape: Shape): Compiled => {
  switch (shape.kind) {
    case "text":
      return shape.rule === "any" ? anyTextCodec : textCodec(shape)
    case "option":
      return optionCodec(shape)
    case "result":
      return resultCodec(shape)
    case "list":
      return listCodec(shape)
    case "array":
      return tupleCodec(shape)
    case "textSet":
      return textSetCodec
    case "textMap":
      return textMapCodec
    case "struct":
      return structCodec(shape.fields)
    case "enum":
      return enumCodec(shape)
    case "lazy":
      return lazyCodec(shape.force)
    default:
      return scalarCodecs[shape.kind]
  }
}

/** The codec of a shape; `name` starts the path in errors. */
export const codec = <T>(name: string, shape: TypedShape<T>): Codec<T> => {
  const { check, read, write } = compile(shape)
  const decode = (bytes: Uint8Array): Decoded<T> => {
    const reader = new Reader(bytes)
    try {
      const value = read(reader)
      return { _tag: "Decoded", value: value as T, used: reader.offset }
    } catch (failure) {
      if (failure === endOfBuffer) return incomplete
      if (failure instanceof Failure) return { _tag: "Invalid", error: failure.toError(name) }
      throw failure
    }
  }
  return {
    name,
    decode,
    check: (bytes) => {
      const reader = new Reader(bytes)
      try {
        check(reader)
        return { _tag: "Sound", used: reader.offset }
      } catch (failure) {
        if (failure === endOfBuffer) return incomplete
        if (!(failure instanceof Failure)) throw failure
        // The decoder's error names the fields on the way to the place.
        const decoded = decode(bytes)
        return decoded._tag === "Decoded" ? { _tag: "Invalid", error: failure.toError(name) } : decoded
      }
    },
    encode: (value) => {
      const writer = new Writer()
      write(writer, value as never)
      return writer.finish()
    }
  }
}
