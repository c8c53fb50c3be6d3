import { describe, expect, it } from "vitest"
import { ClientMessage, clientMessage } from "../../../src/domain/protocol/client-message.ts"
import { codec, maximumDepth } from "../../../src/domain/protocol/codec.ts"
import { DaemonMessage, daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import { FrameCutter } from "../../../src/domain/protocol/frame-cutter.ts"
import type { HttpFilter } from "../../../src/domain/protocol/http-filter-messages.ts"
import { maxItems } from "../../../src/domain/protocol/reader.ts"
import {
  bool,
  i32,
  i64,
  list,
  option,
  result,
  text,
  textMap,
  textSet,
  type TypedShape,
  u128,
  u16,
  u32,
  u64
} from "../../../src/domain/protocol/shape.ts"
import { skip } from "../../../src/domain/protocol/walker.ts"

const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex.replaceAll(" ", ""), "hex"))
const value = <T>(shape: TypedShape<T>, hex: string) => codec("Value", shape).decode(bytes(hex))

describe("integers", () => {
  const overlong: ReadonlyArray<readonly [string, TypedShape<unknown>, string, unknown]> = [
    ["u16", u16, "fb 05 00", 5],
    ["u32 in 2", u32, "fb 05 00", 5],
    ["u32 in 4", u32, "fc 05 00 00 00", 5],
    ["u64 in 2", u64, "fb 05 00", 5n],
    ["u64 in 4", u64, "fc 05 00 00 00", 5n],
    ["u64 in 8", u64, "fd 05 00 00 00 00 00 00 00", 5n],
    ["u128 in 8", u128, "fd 05 00 00 00 00 00 00 00", 5n],
    ["u128 in 16", u128, "fe 05 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00", 5n],
    ["i32 in 4", i32, "fc 01 00 00 00", -1],
    ["i64 in 8", i64, "fd 01 00 00 00 00 00 00 00", -1n],
    ["a length in 8", text, "fd 01 00 00 00 00 00 00 00 61", "a"]
  ]
  it.each(overlong)("an overlong %s is accepted", (_, shape, hex, expected) => {
    expect(value(shape, hex)).toEqual({ _tag: "Decoded", value: expected, used: bytes(hex).length })
    expect(skip("Value", shape, bytes(hex))).toEqual({ _tag: "End", offset: bytes(hex).length })
  })

  it("an overlong index is accepted, and written in its shortest form", () => {
    const decoded = clientMessage.decode(bytes("fc 07 00 00 00"))
    expect(decoded).toEqual({ _tag: "Decoded", value: { _tag: "Ping" }, used: 5 })
  })

  const tooWide: ReadonlyArray<readonly [string, TypedShape<unknown>, ReadonlyArray<number>]> = [
    ["u16", u16, [0xfc, 0xfd, 0xfe, 0xff]],
    ["u32", u32, [0xfd, 0xfe, 0xff]],
    ["i32", i32, [0xfd, 0xfe, 0xff]],
    ["u64", u64, [0xfe, 0xff]],
    ["i64", i64, [0xfe, 0xff]],
    ["u128", u128, [0xff]],
    ["length", text, [0xfe, 0xff]],
    ["count", list(u16), [0xfe, 0xff]],
    ["index", result(u16, u16), [0xfd, 0xfe, 0xff]]
  ]
  it.each(tooWide.flatMap(([name, shape, markers]) => markers.map((marker) => [name, marker, shape] as const)))(
    "a %s with marker %i is invalid at once, even without the bytes it announces",
    (_, marker, shape) => {
      const at = Uint8Array.of(marker)
      expect(codec("Value", shape).decode(at)).toMatchObject({
        _tag: "Invalid",
        error: { _tag: "InvalidValue", offset: 0, path: "Value" }
      })
      expect(skip("Value", shape, at)).toMatchObject({ _tag: "Invalid", error: { _tag: "InvalidValue", offset: 0 } })
    }
  )
})

describe("flags", () => {
  it.each([2, 255])("bool %i", (flag) => {
    const at = Uint8Array.of(flag)
    expect(codec("Value", bool).decode(at)).toMatchObject({
      _tag: "Invalid",
      error: { offset: 0, message: expect.stringContaining(String(flag)) }
    })
    expect(skip("Value", bool, at)._tag).toBe("Invalid")
  })
  it.each([2, 255])("Option %i", (flag) => {
    const at = Uint8Array.of(flag, 0)
    expect(codec("Value", option(u16)).decode(at)).toMatchObject({ _tag: "Invalid", error: { offset: 0 } })
    expect(skip("Value", option(u16), at)._tag).toBe("Invalid")
  })
  it("Result 2", () => {
    const error = { _tag: "UnknownVariant", offset: 0, path: "Value.2" }
    expect(value(result(u16, u16), "02 00")).toMatchObject({ _tag: "Invalid", error })
    expect(skip("Value", result(u16, u16), bytes("02 00"))).toMatchObject({ _tag: "Invalid", error })
  })
})

describe("texts", () => {
  it("keep a byte order mark", () => {
    expect(value(text, "04 ef bb bf 61")).toEqual({ _tag: "Decoded", value: "\u{feff}a", used: 5 })
    expect(Buffer.from(codec("Value", text).encode("\u{feff}a")).toString("hex")).toBe("04efbbbf61")
  })
  it.each(["02 c0 80", "03 ed a0 80", "02 e2 82", "01 ff", "04 f4 90 80 80"])("%s is not UTF-8", (hex) => {
    expect(value(text, hex)).toMatchObject({
      _tag: "Invalid",
      error: { _tag: "InvalidValue", message: "text is not UTF-8", offset: 1 }
    })
  })
  it("members of a set and keys of a map collapse, the last value of a key stays", () => {
    expect(value(textSet, "02 01 61 01 61")).toEqual({ _tag: "Decoded", value: new Set(["a"]), used: 5 })
    expect(value(textMap, "02 01 61 01 31 01 61 01 32")).toEqual({
      _tag: "Decoded",
      value: new Map([["a", "2"]]),
      used: 9
    })
  })
})

describe("unknown variants", () => {
  const cases: ReadonlyArray<
    readonly [dir: "client" | "daemon", hex: string, decoder: string, walker: string, offset: number]
  > = [
    ["client", "12", "ClientMessage.18", "ClientMessage.18", 0],
    ["daemon", "10", "DaemonMessage.16", "DaemonMessage.16", 0],
    ["daemon", "01 08", "DaemonMessage.Tcp.8", "DaemonMessage.Tcp.8", 1],
    [
      "daemon",
      "02 06 05",
      "DaemonMessage.TcpSteal.HttpRequestChunked.5",
      "DaemonMessage.TcpSteal.HttpRequestChunked.5",
      2
    ],
    ["client", "05 1e", "ClientMessage.FileRequest.30", "ClientMessage.FileRequest.30", 1],
    ["client", "02 00 03", "ClientMessage.TcpSteal.PortSubscribe.3", "ClientMessage.TcpSteal.PortSubscribe.3", 2],
    ["daemon", "05 00 03", "DaemonMessage.LogMessage.level.3", "DaemonMessage.LogMessage.3", 2],
    ["daemon", "06 00 01 0e", "DaemonMessage.File.Open.14", "DaemonMessage.File.Open.14", 3],
    ["client", "01 fb e7 03", "ClientMessage.Tcp.999", "ClientMessage.Tcp.999", 1]
  ]
  it.each(cases)("%s %s", (dir, hex, decoder, walker, offset) => {
    const [decode, shape] =
      dir === "client"
        ? ([clientMessage.decode, ClientMessage] as const)
        : ([daemonMessage.decode, DaemonMessage] as const)
    expect(decode(bytes(hex))).toMatchObject({
      _tag: "Invalid",
      error: { _tag: "UnknownVariant", path: decoder, offset }
    })
    const root = dir === "client" ? "ClientMessage" : "DaemonMessage"
    expect(skip(root, shape, bytes(hex))).toMatchObject({
      _tag: "Invalid",
      error: { _tag: "UnknownVariant", path: walker, offset }
    })
  })

  it("a stream's error has the full path", () => {
    const decoder = new FrameCutter(daemonMessage, DaemonMessage)
    expect(decoder.feed(bytes("05 00"))).toEqual({ frames: [] })
    expect(decoder.feed(bytes("03")).error).toMatchObject({ path: "DaemonMessage.LogMessage.level.3", offset: 2 })
  })
})

describe("claimed lengths", () => {
  const huge = "fd ff ff ff ff ff ff ff ff"
  const messages = { client: [clientMessage, ClientMessage], daemon: [daemonMessage, DaemonMessage] } as const
  const lengths: ReadonlyArray<readonly ["client" | "daemon", string]> = [
    ["client", `02 03 03 ${huge}`],
    ["daemon", `00 ${huge}`],
    ["daemon", `02 04 ${huge}`]
  ]
  it.each(lengths)("%s %s is incomplete", (dir, hex) => {
    const [{ check, decode }, shape] = messages[dir]
    expect(decode(bytes(hex))).toEqual({ _tag: "Incomplete" })
    expect(check(bytes(hex))).toEqual({ _tag: "Incomplete" })
    expect(skip("Message", shape, bytes(hex))).toEqual({ _tag: "Incomplete" })
  })

  /** The bytes before a count. */
  const counts: ReadonlyArray<readonly ["client" | "daemon", string]> = [
    ["client", "06"],
    ["client", "02 06 01"],
    ["client", "02 00 02 50 02 01"],
    ["daemon", "09 00"],
    ["daemon", "08 00"],
    ["daemon", "02 04 03 47 45 54 01 2f"],
    ["daemon", "02 04 03 47 45 54 01 2f 01 01 61"]
  ]
  it.each(counts)("%s %s and more items than a message may hold is too large at once (wire.md §2.6)", (dir, hex) => {
    const [{ check, decode }, shape] = messages[dir]
    const offset = bytes(hex).length
    const message = (count: string) => bytes(`${hex} ${count}`)
    for (const count of [huge, "fc 01 00 04 00"]) {
      const error = { _tag: "TooLarge", offset, message: expect.stringContaining("at most 262144 are taken") }
      expect(decode(message(count))).toMatchObject({ _tag: "Invalid", error })
      expect(check(message(count))).toEqual(decode(message(count)))
      expect(skip("Message", shape, message(count))).toMatchObject({ _tag: "Invalid", error })
    }
    const most = hex.endsWith("01 01 61") ? "fc ff ff 03 00" : "fc 00 00 04 00"
    expect(decode(message(most))).toEqual({ _tag: "Incomplete" })
    expect(skip("Message", shape, message(most))).toEqual({ _tag: "Incomplete" })
  })

  it("do not allocate before the bytes are there", () => {
    // 60 MiB each, below the limit of a message: together they would be 30 GB.
    const claim = bytes("02 01 00 fc 00 00 c0 03")
    const before = process.memoryUsage()
    const decoders = Array.from({ length: 500 }, () => new FrameCutter(daemonMessage, DaemonMessage))
    for (const decoder of decoders) expect(decoder.feed(claim)).toEqual({ frames: [] })
    const after = process.memoryUsage()
    expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(64 * 1024 * 1024)
    expect(after.heapUsed - before.heapUsed).toBeLessThan(256 * 1024 * 1024)
    expect(decoders.every((decoder) => decoder.pending === claim.length)).toBe(true)
  })
})

describe("nesting", () => {
  /** A filter inside of `depth` composites. */
  const nested = (depth: number): Uint8Array => bytes(`02 00 02 50 ${"02 01 01 ".repeat(depth)}00 01 61`)
  const deepest = (accepts: (message: Uint8Array) => boolean): number => {
    let depth = 0
    while (depth < 1000 && accepts(nested(depth + 1))) depth++
    return depth
  }

  it("stops at the same depth in decoder and skipper", () => {
    const decoder = deepest((message) => clientMessage.decode(message)._tag === "Decoded")
    const skipper = deepest((message) => skip("ClientMessage", ClientMessage, message)._tag === "End")
    expect(decoder).toBe(maximumDepth - 4)
    expect(skipper).toBe(decoder)
  })

  it.each([maximumDepth, 100_000])("of %i filters is a typed error, not a stack overflow", (depth) => {
    expect(clientMessage.decode(nested(depth))).toMatchObject({ _tag: "Invalid", error: { _tag: "TooDeep" } })
    expect(skip("ClientMessage", ClientMessage, nested(depth))).toMatchObject({
      _tag: "Invalid",
      error: { _tag: "TooDeep" }
    })
  })

  it.each([maximumDepth - 4, maximumDepth - 3, 20_000])(
    "of %i filters is written exactly if it can be read",
    (depth) => {
      let filter: HttpFilter = { _tag: "Path", value: "/" }
      for (let i = 0; i < depth; i++) filter = { _tag: "Composite", all: true, filters: [filter] }
      const encode = () =>
        clientMessage.encode({
          _tag: "TcpSteal",
          value: { _tag: "PortSubscribe", value: { _tag: "FilteredHttpEx", port: 80, filter } }
        })
      if (depth <= maximumDepth - 4) expect(clientMessage.decode(encode())._tag).toBe("Decoded")
      else expect(encode).toThrow(`nested deeper than ${maximumDepth}`)
    }
  )
})

describe("items (wire.md §2.6)", () => {
  const varint = (value: number): ReadonlyArray<number> =>
    value < 251 ? [value] : [0xfc, ...new Uint8Array(Uint32Array.of(value).buffer)]
  /** A GetEnvVarsRequest with as many empty texts in its two sets. */
  const environment = (filter: number, select: number): Uint8Array =>
    Uint8Array.from([6, ...varint(filter), ...new Uint8Array(filter), ...varint(select), ...new Uint8Array(select)])

  it("are counted over the whole message, the same by decoder, checker, skipper and cutter", () => {
    const fits = environment(maxItems - 10, 10)
    expect(clientMessage.decode(fits)).toMatchObject({ _tag: "Decoded", used: fits.length })
    expect(clientMessage.check(fits)).toEqual({ _tag: "Sound", used: fits.length })
    expect(skip("ClientMessage", ClientMessage, fits)).toEqual({ _tag: "End", offset: fits.length })
    const tooMany = environment(maxItems - 10, 11)
    const error = {
      _tag: "TooLarge",
      offset: tooMany.length - 12,
      message: expect.stringContaining(`${maxItems + 1} items`)
    }
    expect(clientMessage.decode(tooMany)).toMatchObject({
      _tag: "Invalid",
      error: { ...error, path: "ClientMessage.GetEnvVarsRequest.envVarsSelect" }
    })
    expect(clientMessage.check(tooMany)).toEqual(clientMessage.decode(tooMany))
    expect(skip("ClientMessage", ClientMessage, tooMany)).toMatchObject({ _tag: "Invalid", error })
    const cutter = new FrameCutter(clientMessage, ClientMessage)
    for (let at = 0; at < tooMany.length - 100; at += 50_000)
      cutter.feed(tooMany.subarray(at, Math.min(at + 50_000, tooMany.length - 100)))
    expect(cutter.feed(tooMany.subarray(tooMany.length - 100)).error).toMatchObject(error)
  })

  it("of one message do not count for the next", () => {
    const fits = environment(maxItems, 0)
    const cutter = new FrameCutter(clientMessage, ClientMessage)
    expect(cutter.feed(Uint8Array.from([...fits, ...fits]))).toEqual({ frames: [fits, fits] })
  })

  it("are few in everything that a real client or agent sends at once", () => {
    // A directory of 20,000 entries in one answer, an environment of 5,000 variables, a body in 65,000 pieces.
    const entry = { inode: 1n, position: 1n, name: "f", fileType: 8 }
    const piece = { _tag: "Data", value: Uint8Array.of(1) } as const
    const large = [
      daemonMessage.encode({
        _tag: "File",
        value: {
          _tag: "GetDEnts64",
          value: { _tag: "Ok", value: { fd: 1n, entries: Array.from({ length: 20_000 }, () => entry), resultSize: 1n } }
        }
      }),
      daemonMessage.encode({
        _tag: "GetEnvVarsResponse",
        value: { _tag: "Ok", value: new Map(Array.from({ length: 5_000 }, (_, index) => [`K${index}`, "v"])) }
      }),
      daemonMessage.encode({
        _tag: "TcpSteal",
        value: {
          _tag: "HttpRequestChunked",
          value: {
            _tag: "Body",
            value: { frames: Array.from({ length: 65_000 }, () => piece), isLast: true, connectionId: 1n, requestId: 1 }
          }
        }
      })
    ]
    for (const message of large) expect(daemonMessage.check(message)).toEqual({ _tag: "Sound", used: message.length })
  })

  it("that repeat a header's name are all kept, and cost no more than others", () => {
    const names = 80_000
    // An HttpResponse with the header `a` so often, two empty values each.
    const head = [2, 4, 80, 1, 1, 200, 8, ...Buffer.from("HTTP/1.1")]
    const repeated = Array.from({ length: names }, () => [1, 0x61, 2, 0, 0]).flat()
    const decoded = clientMessage.decode(Uint8Array.from([...head, ...varint(names), ...repeated, 0]))
    if (decoded._tag !== "Decoded" || decoded.value._tag !== "TcpSteal") throw new Error(decoded._tag)
    const { value } = decoded.value
    if (value._tag !== "HttpResponse") throw new Error(value._tag)
    expect(value.value.internalResponse.headers).toHaveLength(2 * names)
  })
})
