import { describe, expect, it } from "vitest"
import { type ClientMessage, clientMessage } from "../../../src/domain/protocol/client-message.ts"
import { codec } from "../../../src/domain/protocol/codec.ts"
import { type DaemonMessage, daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
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
import { stolenRequest } from "../../support/stolen-request.ts"

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

const uid = 0x00112233_4455_4677_8899_aabbccddeeffn
const database = { _tag: "Ip", value: { ip: "10.0.0.1", port: 5432 } } as const

const client: ReadonlyArray<readonly [string, ClientMessage]> = [
  ["00", { _tag: "Close" }],
  ["07", { _tag: "Ping" }],
  ["0b", { _tag: "ReadyForLogs" }],
  ["0a 06 31 2e 32 39 2e 30", { _tag: "SwitchProtocolVersion", value: "1.29.0" }],
  ["06 00 01 01 2a", { _tag: "GetEnvVarsRequest", value: { envVarsFilter: new Set(), envVarsSelect: new Set(["*"]) } }],
  ["01 00 fb 90 1f", { _tag: "Tcp", value: { _tag: "PortSubscribe", value: 8080 } }],
  ["02 00 00 50", { _tag: "TcpSteal", value: { _tag: "PortSubscribe", value: { _tag: "All", value: 80 } } }],
  [
    "02 00 02 fb 90 1f 00 04 78 3a 20 79",
    {
      _tag: "TcpSteal",
      value: {
        _tag: "PortSubscribe",
        value: { _tag: "FilteredHttpEx", port: 8080, filter: { _tag: "Header", value: "x: y" } }
      }
    }
  ],
  [
    "02 00 02 50 02 01 02 00 04 61 3a 20 62 03 02",
    {
      _tag: "TcpSteal",
      value: {
        _tag: "PortSubscribe",
        value: {
          _tag: "FilteredHttpEx",
          port: 80,
          filter: {
            _tag: "Composite",
            all: true,
            filters: [
              { _tag: "Header", value: "a: b" },
              { _tag: "Method", value: { _tag: "Post" } }
            ]
          }
        }
      }
    }
  ],
  ["02 03 03 02 68 69", { _tag: "TcpSteal", value: { _tag: "Data", value: { connectionId: 3n, bytes: ascii("hi") } } }],
  [
    "02 03 fb 2c 01 02 68 69",
    { _tag: "TcpSteal", value: { _tag: "Data", value: { connectionId: 300n, bytes: ascii("hi") } } }
  ],
  [
    "02 05 50 00 00 c8 08 48 54 54 50 2f 31 2e 31 00 01 00 02 6f 6b",
    {
      _tag: "TcpSteal",
      value: {
        _tag: "HttpResponseFramed",
        value: {
          port: 80,
          connectionId: 0n,
          requestId: 0,
          internalResponse: {
            status: 200,
            version: "HTTP/1.1",
            headers: [],
            body: [{ _tag: "Data", value: ascii("ok") }]
          }
        }
      }
    }
  ],
  [
    "05 00 02 2f 61 01 00 00 00 00 00",
    {
      _tag: "FileRequest",
      value: {
        _tag: "Open",
        value: {
          path: "/a",
          openOptions: { read: true, write: false, append: false, truncate: false, create: false, createNew: false }
        }
      }
    }
  ],
  [
    "03 03 fe ff ee dd cc bb aa 99 88 77 46 55 44 33 22 11 00 00 00 0a 00 00 01 fb 38 15",
    { _tag: "TcpOutgoing", value: { _tag: "ConnectV2", value: { uid, remoteAddress: database } } }
  ],
  [
    "0d 02 64 62 fb 38 15 03 00 00 0c",
    {
      _tag: "GetAddrInfoRequestV2",
      value: {
        node: "db",
        servicePort: 5432,
        family: { _tag: "Any" },
        socktype: { _tag: "Stream" },
        flags: 0,
        protocol: 6
      }
    }
  ]
]

const daemon: ReadonlyArray<readonly [string, DaemonMessage]> = [
  ["07", { _tag: "Pong" }],
  ["0b 06 31 2e 32 39 2e 30", { _tag: "SwitchProtocolVersionResponse", value: "1.29.0" }],
  ["08 00 01 01 41 01 31", { _tag: "GetEnvVarsResponse", value: { _tag: "Ok", value: new Map([["A", "1"]]) } }],
  [
    "08 01 0d 01 01 04 6c 6f 73 74",
    {
      _tag: "GetEnvVarsResponse",
      value: { _tag: "Err", error: { _tag: "SystemFailure", canRetry: true, code: 1, message: "lost" } }
    }
  ],
  ["02 03 00 50", { _tag: "TcpSteal", value: { _tag: "SubscribeResult", value: { _tag: "Ok", value: 80 } } }],
  [
    "02 03 01 07 50",
    {
      _tag: "TcpSteal",
      value: { _tag: "SubscribeResult", value: { _tag: "Err", error: { _tag: "PortAlreadyStolen", value: 80 } } }
    }
  ],
  [
    "01 07 00 00 0a 00 00 09 50 fb 38 c7 00 0a 00 00 05 00",
    {
      _tag: "Tcp",
      value: {
        _tag: "NewConnectionV2",
        value: {
          connection: {
            connectionId: 0n,
            remoteAddress: "10.0.0.9",
            destinationPort: 80,
            sourcePort: 51000,
            localAddress: "10.0.0.5"
          },
          transport: { _tag: "Tcp" }
        }
      }
    }
  ],
  ["02 02 00", { _tag: "TcpSteal", value: { _tag: "Close", value: { connectionId: 0n } } }],
  [
    "02 06 03 00 00 03 47 45 54 01 2f 01 04 68 6f 73 74 01 01 61 08 48 54 54 50 2f 31 2e 31 00 01 00 00 0a 00 00 " +
      "09 fb 38 c7 00 0a 00 00 05 50 00",
    stolenRequest("/", [["host", ascii("a")]])
  ],
  [
    "02 06 01 01 00 03 61 62 63 01 05 00",
    {
      _tag: "TcpSteal",
      value: {
        _tag: "HttpRequestChunked",
        value: {
          _tag: "Body",
          value: { frames: [{ _tag: "Data", value: ascii("abc") }], isLast: true, connectionId: 5n, requestId: 0 }
        }
      }
    }
  ],
  ["06 00 00 00", { _tag: "File", value: { _tag: "Open", value: { _tag: "Ok", value: { fd: 0n } } } }],
  [
    "06 00 01 04 01 04 00",
    {
      _tag: "File",
      value: {
        _tag: "Open",
        value: { _tag: "Err", error: { _tag: "RemoteIO", value: { rawOsError: 2, kind: { _tag: "NotFound" } } } }
      }
    }
  ],
  [
    "03 03 fe ff ee dd cc bb aa 99 88 77 46 55 44 33 22 11 00 00 00 00 00 0a 00 00 01 fb 38 15 00 00 0a 00 00 05 " +
      "fb 40 9c",
    {
      _tag: "TcpOutgoing",
      value: {
        _tag: "ConnectV2",
        value: {
          uid,
          connect: {
            _tag: "Ok",
            value: {
              connectionId: 0n,
              remoteAddress: database,
              localAddress: { _tag: "Ip", value: { ip: "10.0.0.5", port: 40000 } }
            }
          }
        }
      }
    }
  ],
  [
    "09 00 01 03 64 62 2e 00 0a 00 00 07",
    { _tag: "GetAddrInfoResponse", value: { _tag: "Ok", value: [{ name: "db.", ip: "10.0.0.7" }] } }
  ],
  [
    "09 01 05 02 03",
    {
      _tag: "GetAddrInfoResponse",
      value: { _tag: "Err", error: { _tag: "DnsLookup", value: { kind: { _tag: "NoRecordsFound", value: 3 } } } }
    }
  ],
  ["05 02 68 69 00", { _tag: "LogMessage", value: { message: "hi", level: { _tag: "Warn" } } }],
  ["00 03 62 79 65", { _tag: "Close", value: "bye" }],
  ["0d 01", { _tag: "OperatorPing", value: 1n }]
]

describe("whole messages (wire.md §3, §4)", () => {
  it.each(client)("client %s", (hex, value) => {
    expect(Buffer.from(clientMessage.encode(value)).toString("hex")).toBe(hex.replaceAll(" ", ""))
    expect(clientMessage.decode(bytes(hex))).toEqual({ _tag: "Decoded", value, used: bytes(hex).length })
  })
  it.each(daemon)("daemon %s", (hex, value) => {
    expect(Buffer.from(daemonMessage.encode(value)).toString("hex")).toBe(hex.replaceAll(" ", ""))
    expect(daemonMessage.decode(bytes(hex))).toEqual({ _tag: "Decoded", value, used: bytes(hex).length })
  })
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
  it.each(refused)("encoding refuses %s", (_, encode) => {
    expect(encode).toThrow(RangeError)
  })
})
