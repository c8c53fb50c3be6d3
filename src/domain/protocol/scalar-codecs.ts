/**
 * How values without parts travel (wire.md §2): the leaves from which `codec.ts` builds the codec of any shape.
 */

import { quoted } from "../clean-text.ts"
import { readHeaders, writeHeaders } from "./headers-codec.ts"
import { formatIp, parseIp } from "./ip-address.ts"
import { Failure } from "./outcome.ts"
import { type Marker, marker, type Reader } from "./reader.ts"
import type { Primitive } from "./shape.ts"
import type { Writer } from "./writer.ts"

/**
 * The functions that are derived from a shape. All three throw `Failure` or `RangeError`, which `codec.ts` keeps
 * inside.
 */
export interface Compiled {
  readonly read: (reader: Reader) => unknown
  /** Refuses the same bytes as `read` without making a value. Its return value means nothing. */
  readonly check: (reader: Reader) => unknown
  /** Values are checked by the compiler where they are made; inside they are as dynamic as the shape. */
  readonly write: (writer: Writer, value: never) => void
}

export const on = <T>(
  read: (reader: Reader) => T,
  write: (writer: Writer, value: T) => void,
  check: (reader: Reader) => unknown
): Compiled => ({ read, check, write })

export const integer = (value: number, low: number, high: number, type: string): number => {
  if (!Number.isInteger(value) || value < low || value > high) throw new RangeError(`${value} is not a ${type}`)
  return value
}

/** i64 and i32 travel as zigzag (wire.md §2.2). */
const zigzag = (value: bigint): bigint => (value >= 0n ? value << 1n : (-value << 1n) - 1n)
const unzigzag = (value: bigint): bigint => ((value & 1n) === 0n ? value >> 1n : -((value + 1n) >> 1n))

const readStatus = (r: Reader): number => {
  const at = r.offset
  const value = r.varint32(marker.u16)
  return value >= 100 && value <= 999 ? value : r.fail(`${value} is not an HTTP status (100 to 999)`, at)
}

const takeIp = (r: Reader): Uint8Array => {
  const at = r.offset
  const family = r.varint32(marker.u32)
  if (family > 1) throw new Failure("UnknownVariant", at, `IpAddr has no variant ${family}`).inside(String(family))
  const start = r.take(family === 0 ? 4 : 16)
  return r.bytes.subarray(start, r.offset)
}

const skipVarint =
  (widest: Marker) =>
  (r: Reader): void =>
    r.skipVarint(widest)

export const scalarCodecs: { readonly [K in Primitive["kind"]]: Compiled } = {
  u8: on(
    (r) => r.u8(),
    (w, v: number) => w.u8(integer(v, 0, 0xff, "u8")),
    (r) => r.take(1)
  ),
  bool: on(
    (r) => r.bool("a boolean"),
    (w, v: boolean) => w.u8(v ? 1 : 0),
    (r) => r.bool("a boolean")
  ),
  u16: on(
    (r) => r.varint32(marker.u16),
    (w, v: number) => w.varint(integer(v, 0, 0xffff, "u16")),
    skipVarint(marker.u16)
  ),
  u32: on(
    (r) => r.varint32(marker.u32),
    (w, v: number) => w.varint(integer(v, 0, 0xffff_ffff, "u32")),
    skipVarint(marker.u32)
  ),
  u64: on(
    (r) => r.varint64(),
    (w, v: bigint) => {
      if (v >> 64n !== 0n) throw new RangeError(`${v} is not a u64`)
      w.bigVarint(v)
    },
    skipVarint(marker.u64)
  ),
  u128: on(
    (r) => r.varint128(),
    (w, v: bigint) => w.bigVarint(v),
    skipVarint(marker.u128)
  ),
  i32: on(
    (r) => Number(unzigzag(BigInt(r.varint32(marker.u32)))),
    (w, v: number) => w.bigVarint(zigzag(BigInt(integer(v, -0x8000_0000, 0x7fff_ffff, "i32")))),
    skipVarint(marker.u32)
  ),
  i64: on(
    (r) => unzigzag(r.varint64()),
    (w, v: bigint) => {
      if (BigInt.asIntN(64, v) !== v) throw new RangeError(`${v} is not an i64`)
      w.bigVarint(zigzag(v))
    },
    skipVarint(marker.u64)
  ),
  bytes: on(
    (r) => r.byteString(),
    (w, v: Uint8Array) => w.byteString(v),
    (r) => r.skipBytes()
  ),
  unit: on(
    () => null,
    () => {},
    () => undefined
  ),
  status: on(readStatus, (w, v: number) => w.varint(integer(v, 100, 999, "HTTP status")), readStatus),
  ip: on(
    (r) => formatIp(takeIp(r)),
    (w, v: string) => {
      const octets = parseIp(v)
      if (octets === undefined) throw new RangeError(`${quoted(v)} is not an IP address`)
      w.u8(octets.length === 4 ? 0 : 1)
      w.raw(octets)
    },
    takeIp
  ),
  headers: on(readHeaders, writeHeaders, readHeaders)
}
