import { describe, expect, it } from "vitest"
import { clientMessage } from "../../../src/domain/protocol/client-message.ts"
import { codec } from "../../../src/domain/protocol/codec.ts"
import { SocketAddr } from "../../../src/domain/protocol/network-messages.ts"
import { ResponseError } from "../../../src/domain/protocol/response-error.ts"
import {
  headers,
  i32,
  i64,
  ip,
  option,
  pair,
  result,
  status,
  text,
  type TypedShape,
  u128,
  u16,
  u32,
  u64,
  u8,
  unit
} from "../../../src/domain/protocol/shape.ts"

const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex.replaceAll(" ", ""), "hex"))
const ascii = (value: string): Uint8Array => Uint8Array.from(Buffer.from(value, "latin1"))

describe("small values (wire.md §2.2, §2.3)", () => {
  const row = <T>(what: string, shape: TypedShape<T>, value: T, hex: string) =>
    [
      what,
      hex,
      () => {
        const made = codec("Value", shape)
        expect(Buffer.from(made.encode(value)).toString("hex")).toBe(hex.replaceAll(" ", ""))
        expect(made.decode(bytes(hex))).toEqual({ _tag: "Decoded", value, used: bytes(hex).length })
      }
    ] as const

  it.each([
    row("u8", u8, 255, "ff"),
    row("u16 of one byte", u16, 250, "fa"),
    row("u16 of three", u16, 251, "fb fb 00"),
    row("u16 8080", u16, 8080, "fb 90 1f"),
    row("u16 max", u16, 65535, "fb ff ff"),
    row("u32", u32, 65536, "fc 00 00 01 00"),
    row("u64 of 32 bits", u64, 0xffff_ffffn, "fc ff ff ff ff"),
    row("u64 of 33 bits", u64, 0x1_0000_0000n, "fd 00 00 00 00 01 00 00 00"),
    row("u64 max", u64, 0xffff_ffff_ffff_ffffn, "fd ff ff ff ff ff ff ff ff"),
    row("i32 −1", i32, -1, "01"),
    row("i32 1", i32, 1, "02"),
    row("i32 22", i32, 22, "2c"),
    row("i64 125", i64, 125n, "fa"),
    row("i64 126", i64, 126n, "fb fc 00"),
    row("i64 −125", i64, -125n, "f9"),
    row("i64 −126", i64, -126n, "fb fb 00"),
    row("i64 min", i64, -(1n << 63n), "fd ff ff ff ff ff ff ff ff"),
    row("uid", u128, 0x00112233_4455_6677_8899_aabbccddeeffn, "fe ff ee dd cc bb aa 99 88 77 66 55 44 33 22 11 00"),
    row("None", option(u64), null, "00"),
    row("Some", option(u64), 7n, "01 07"),
    row("Ok(())", result(unit, ResponseError), { _tag: "Ok", value: null }, "00"),
    row("String", text, "foo", "03 66 6f 6f"),
    row("String é", text, "é", "02 c3 a9"),
    row("empty String", text, "", "00"),
    row("IpAddr", ip, "10.0.0.1", "00 0a 00 00 01"),
    row("SocketAddr V4", SocketAddr, { ip: "10.0.0.1", port: 80 }, "00 0a 00 00 01 50"),
    row("SocketAddr V6", SocketAddr, { ip: "::1", port: 8080 }, `01 ${"00".repeat(15)} 01 fb 90 1f`),
    row("[i32; 2]", pair(i32), [1, -1], "02 01"),
    row("status 200", status, 200, "c8"),
    row("status 302", status, 302, "fb 2e 01"),
    row("status 404", status, 404, "fb 94 01"),
    row(
      "header map",
      headers,
      [
        ["host", ascii("a")],
        ["set-cookie", ascii("x=1")],
        ["set-cookie", ascii("y=2")]
      ],
      "02 04 68 6f 73 74 01 01 61 0a 73 65 74 2d 63 6f 6f 6b 69 65 02 03 78 3d 31 03 79 3d 32"
    )
  ])("%s is %s", (_, __, check) => check())
})

describe("views and refusals", () => {
  it("payloads are views into the buffer", () => {
    const buffer = bytes("02 03 03 02 68 69")
    const decoded = clientMessage.decode(buffer)
    if (decoded._tag !== "Decoded" || decoded.value._tag !== "TcpSteal" || decoded.value.value._tag !== "Data")
      throw new Error("not Data")
    expect(decoded.value.value.value.bytes.buffer).toBe(buffer.buffer)
  })

  it("a buffer that is a window into a larger one is read from its start", () => {
    const window = bytes("ff ff 01 00 fb 90 1f ff").subarray(2, 7)
    expect(clientMessage.decode(window)).toMatchObject({ value: { value: { value: 8080 } }, used: 5 })
  })

  const refused: ReadonlyArray<readonly [string, () => unknown]> = [
    ["a port of 70000", () => clientMessage.encode({ _tag: "Tcp", value: { _tag: "PortUnsubscribe", value: 70000 } })],
    ["a fraction", () => clientMessage.encode({ _tag: "Tcp", value: { _tag: "PortUnsubscribe", value: 1.5 } })],
    [
      "a negative id",
      () => clientMessage.encode({ _tag: "Tcp", value: { _tag: "ConnectionUnsubscribe", value: -1n } })
    ],
    [
      "an id of 65 bits",
      () => clientMessage.encode({ _tag: "Tcp", value: { _tag: "ConnectionUnsubscribe", value: 1n << 64n } })
    ],
    ["a u128 of 129 bits", () => clientMessage.encode({ _tag: "OperatorPong", value: 1n << 128n })],
    ["a version that is none", () => clientMessage.encode({ _tag: "SwitchProtocolVersion", value: "1.29" })],
    [
      "an address that is none",
      () => clientMessage.encode({ _tag: "ReverseDnsLookup", value: { ipAddress: "10.0.0.256" } })
    ],
    ["a header with a line break", () => codec("Headers", headers).encode([["a", ascii("x\r\ny: z")]])],
    ["a header's name with a blank", () => codec("Headers", headers).encode([["a b", ascii("x")]])],
    ["a status of 99", () => codec("Status", status).encode(99)]
  ]
  it.each(refused)("encoding refuses %s", (_, encode) => expect(encode).toThrow(RangeError))
})
