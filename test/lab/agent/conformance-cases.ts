/**
 * Conversations that the reference agent and mirrord's own agent must answer alike. They are run by
 * `conformance.test.ts`.
 */

import type { ClientMessage } from "../../../src/domain/protocol/client-message.ts"
import type { FileRequest, OpenOptions } from "../../../src/domain/protocol/file-messages.ts"
import type { SocketAddress } from "../../../src/domain/protocol/network-messages.ts"

/** Files and servers that a case may refer to. */
export interface Fixture {
  /** A folder with `hello.txt`, `dir/inner`, `empty/`, links; fresh for each case. */
  readonly dir: string
  /** A TCP server that answers `echo:` and the bytes, and `bye` to a half-close. */
  readonly echoPort: number
  /** A TCP server that says `hello` and half-closes. */
  readonly greetPort: number
  /** A TCP server that resets the connection at the first bytes. */
  readonly resetPort: number
  /** A UDP server that answers `udp:` and the bytes. */
  readonly udpPort: number
  /** A unix socket that echoes. */
  readonly unixPath: string
}

/** A message, and the answers (as `plain` shows them) that must come before the next message is sent. */
export type Step = readonly [message: ClientMessage, ...answers: ReadonlyArray<unknown>]

export interface Case {
  readonly name: string
  readonly steps: (fixture: Fixture) => ReadonlyArray<Step>
  /** Whether the agent ends the connection after the last step. */
  readonly ends?: boolean
}

export const environment: Readonly<Record<string, string>> = {
  ALPHA: "1",
  ALPHB: "2",
  "AL.HA": "3",
  lower: "4",
  EMPTY: "",
  MULTI: "a=b\nc",
  PATH: "/usr/bin:/bin",
  HOME: "/root",
  PWD: "/",
  CLASSPATH: "x",
  RUST_LOG: "error",
  MIRRORD_AGENT_IDLE_TTL: "60"
}

const options = (flags: "r" | ""): OpenOptions => ({
  read: flags === "r",
  write: false,
  append: false,
  truncate: false,
  create: false,
  createNew: false
})

const ask = (value: FileRequest): ClientMessage => ({ _tag: "FileRequest", value })
const open = (path: string, flags: "r" | "" = "r") =>
  ask({ _tag: "Open", value: { path, openOptions: options(flags) } })
const openRelative = (relativeFd: bigint, path: string) =>
  ask({ _tag: "OpenRelative", value: { relativeFd, path, openOptions: options("r") } })
const xstat = (path: string | null, fd: bigint | null = null, followSymlink = true) =>
  ask({ _tag: "Xstat", value: { path, fd, followSymlink } })
const bytes = (text: string): Uint8Array => Buffer.from(text, "latin1")

const ok = (_tag: string, value: unknown) => ({ _tag: "File", value: { _tag, value: { _tag: "Ok", value } } })
const err = (_tag: string, error: unknown) => ({ _tag: "File", value: { _tag, value: { _tag: "Err", error } } })
const io = (rawOsError: number | null, kind: string, text?: string) => ({
  _tag: "RemoteIO",
  value: { rawOsError, kind: text === undefined ? { _tag: kind } : { _tag: kind, value: text } }
})
const fd = (number: bigint) => ok("Open", { fd: number })
const noFile = io(2, "NotFound")
const notDirectory = io(20, "NotADirectory")
const invalid = io(22, "InvalidInput")
const invalidArgument = io(null, "InvalidInput")
const loop = io(40, "Unknown", "filesystem loop or indirection limit (e.g. symlink loop)")
const unknownFd = (number: bigint) => ({ _tag: "NotFound", value: number })
const notFile = (number: bigint) => ({ _tag: "NotFile", value: number })
const notDir = (number: bigint) => ({ _tag: "NotDirectory", value: number })
const read = (text: string, tag = "Read") => ok(tag, { bytes: text, readAmount: BigInt(text.length) })
const closing = (reason: string) => ({ _tag: "Close", value: reason })
const like = (shape: object) => ({ asymmetricMatch: (other: unknown) => matches(other, shape) })

/** Whether `other` has every part of `shape`. */
const matches = (other: unknown, shape: unknown): boolean => {
  if (shape === null || typeof shape !== "object") return Object.is(other, shape)
  if (other === null || typeof other !== "object") return false
  return Object.entries(shape).every(([key, value]) =>
    matches(Object.entries(other).find(([name]) => name === key)?.[1], value)
  )
}

const env = (filter: ReadonlyArray<string>, select: ReadonlyArray<string>): ClientMessage => ({
  _tag: "GetEnvVarsRequest",
  value: { envVarsFilter: new Set(filter), envVarsSelect: new Set(select) }
})
const envAnswer = (value: unknown) => ({ _tag: "GetEnvVarsResponse", value: { _tag: "Ok", value } })

const resolve = (node: string, family: "Ipv4Only" | "Ipv6Only" | "Both" | "Any" = "Any"): ClientMessage => ({
  _tag: "GetAddrInfoRequestV2",
  value: { node, servicePort: 80, family: { _tag: family }, socktype: { _tag: "Stream" }, flags: 0, protocol: 6 }
})
const found = (...records: ReadonlyArray<readonly [string, string]>) => ({
  _tag: "GetAddrInfoResponse",
  value: { _tag: "Ok", value: records.map(([name, ip]) => ({ name, ip })) }
})
const dnsFailure = (kind: unknown) => ({
  _tag: "GetAddrInfoResponse",
  value: { _tag: "Err", error: { _tag: "DnsLookup", value: { kind } } }
})
const rejected = (text: string) => dnsFailure({ _tag: "Message", value: `node name rejected by hickory: ${text}` })

type Protocol = "TcpOutgoing" | "UdpOutgoing"
const ip = (port: number, address = "127.0.0.1"): SocketAddress => ({ _tag: "Ip", value: { ip: address, port } })
const unix = (path: string): SocketAddress => ({ _tag: "Unix", value: { _tag: "Pathname", value: path } })
const unnamed: SocketAddress = { _tag: "Unix", value: { _tag: "Unnamed" } }
const connect = (_tag: Protocol, remoteAddress: SocketAddress): ClientMessage => ({
  _tag,
  value: { _tag: "Connect", value: { remoteAddress } }
})
const connectV2 = (_tag: Protocol | "SeqpacketOutgoing", remoteAddress: SocketAddress, uid = 7n): ClientMessage => ({
  _tag,
  value: { _tag: "ConnectV2", value: { uid, remoteAddress } }
})
const write = (_tag: Protocol, connectionId: bigint, text: string): ClientMessage => ({
  _tag,
  value: { _tag: "Write", value: { connectionId, bytes: bytes(text) } }
})
const close = (_tag: Protocol, connectionId: bigint): ClientMessage => ({
  _tag,
  value: { _tag: "Close", value: { connectionId } }
})
const connected = (_tag: Protocol, connectionId: bigint, remoteAddress: SocketAddress, uid = 7n) => ({
  _tag,
  value: {
    _tag: "ConnectV2",
    value: { uid, connect: { _tag: "Ok", value: like({ connectionId, remoteAddress }) } }
  }
})
const refused = (_tag: string, error: unknown, uid = 7n) => ({
  _tag,
  value: { _tag: "ConnectV2", value: { uid, connect: { _tag: "Err", error } } }
})
const got = (_tag: Protocol, connectionId: bigint, text: string) => ({
  _tag,
  value: { _tag: "Read", value: { _tag: "Ok", value: { connectionId, bytes: text } } }
})
const over = (_tag: Protocol, connectionId: bigint) => ({ _tag, value: { _tag: "Close", value: connectionId } })
const warning = { _tag: "LogMessage", value: like({ level: { _tag: "Warn" } }) }

const noMirror = closing(
  "component responsible for mirroring incoming traffic is not running, which might be due to Kubernetes node " +
    "kernel version <4.20. Check agent logs for errors and please report a bug if kernel version >=4.20"
)
const noSteal = closing("incoming traffic stealing is not available in the targetless mode")

const control: ReadonlyArray<Case> = [
  {
    name: "ping",
    steps: () => [
      [{ _tag: "Ping" }, { _tag: "Pong" }],
      [{ _tag: "Ping" }, { _tag: "Pong" }]
    ]
  },
  {
    name: "version: the lower one, as often as asked",
    steps: () =>
      [
        ["1.30.0", "1.29.0"],
        ["1.2.0", "1.2.0"],
        ["1.29.0-rc.1", "1.29.0-rc.1"],
        ["1.29.0", "1.29.0"]
      ].map(([told = "", answered]): Step => [
        { _tag: "SwitchProtocolVersion", value: told },
        { _tag: "SwitchProtocolVersionResponse", value: answered }
      ])
  },
  {
    name: "messages without an answer",
    steps: () => [
      [{ _tag: "ReadyForLogs" }],
      [{ _tag: "OperatorPong", value: 3n }],
      [{ _tag: "ShareLink", value: { _tag: "RegisterKey", value: "k" } }],
      [{ _tag: "ShareLink", value: { _tag: "RemoveKey", value: "k" } }]
    ]
  },
  {
    name: "what is not supported is refused, and the connection stays",
    steps: () => [
      [{ _tag: "Vpn", value: { _tag: "OpenSocket" } }, closing("VPN is not supported")],
      [{ _tag: "PauseTargetRequest", value: true }, closing("Pause isn't supported anymore.")],
      [{ _tag: "Tcp", value: { _tag: "PortSubscribe", value: 80 } }, noMirror],
      [{ _tag: "Tcp", value: { _tag: "ConnectionUnsubscribe", value: 1n } }, noMirror],
      [{ _tag: "TcpSteal", value: { _tag: "PortSubscribe", value: { _tag: "All", value: 80 } } }, noSteal],
      [{ _tag: "TcpSteal", value: { _tag: "Data", value: { connectionId: 1n, bytes: bytes("x") } } }, noSteal]
    ]
  },
  { name: "Close ends the connection", steps: () => [[{ _tag: "Close" }]], ends: true },
  {
    name: "environment",
    steps: () => [
      [env([], ["ALPH?"]), envAnswer({ ALPHA: "1", ALPHB: "2" })],
      [env([], ["AL?HA"]), envAnswer({ ALPHA: "1", "AL.HA": "3" })],
      [env([], ["AL.HA"]), envAnswer({ "AL.HA": "3" })],
      [env([], ["alph*", "L*"]), envAnswer({})],
      [env([], ["l*", "EMPTY", "MULTI"]), envAnswer({ lower: "4", EMPTY: "", MULTI: "a=b\nc" })],
      [env(["*B"], ["ALPH*"]), envAnswer({ ALPHA: "1" })],
      [env(["*"], ["ALPHA"]), envAnswer({})],
      [env([], ["PATH", "HOME", "PWD", "CLASSPATH", "RUST_LOG"]), envAnswer({})],
      [env([], ["[A]*", "ALPHA;ALPHB", ""]), envAnswer({})],
      [
        env(["MIRRORD*", "NO_COLOR"], []),
        envAnswer({ ALPHA: "1", ALPHB: "2", "AL.HA": "3", lower: "4", EMPTY: "", MULTI: "a=b\nc" })
      ]
    ]
  }
]

const files: ReadonlyArray<Case> = [
  {
    name: "open, and what cannot be opened",
    steps: ({ dir }) => [
      [open(`${dir}/hello.txt`), fd(0n)],
      [open(`${dir}/dir`), fd(1n)],
      [open(`${dir}/none`), err("Open", noFile)],
      [open(`${dir}/hello.txt/x`), err("Open", notDirectory)],
      [open(`${dir}/hello.txt/`), err("Open", notDirectory)],
      [open(`${dir}/dangling`), err("Open", noFile)],
      [open(`${dir}/loop`), err("Open", loop)],
      [open(`${dir}/${"n".repeat(300)}`), err("Open", io(36, "InvalidFilename"))],
      [open(`${dir}/a\0b`), err("Open", invalidArgument)],
      [open("/"), err("Open", noFile)],
      [open(`${dir}/link`), fd(2n)],
      [open(`${dir}/dlink/../abs`), fd(3n)],
      [open(`/../../${dir}//./hello.txt`), fd(4n)]
    ]
  },
  {
    name: "a file that is neither read nor written",
    steps: ({ dir }) => [[open(`${dir}/hello.txt`, ""), err("Open", invalidArgument)]]
  },
  {
    name: "a relative path ends the connection: open",
    steps: () => [[open("etc/hosts"), closing("Path failed with `prefix not found`")]],
    ends: true
  },
  {
    name: "a relative path ends the connection: access",
    steps: () => [
      [ask({ _tag: "Access", value: { pathname: "etc", mode: 0 } }), closing("Path failed with `prefix not found`")]
    ],
    ends: true
  },
  {
    name: "open relative to a directory",
    steps: ({ dir }) => [
      [open(dir), fd(0n)],
      [openRelative(0n, "dir/inner"), fd(1n)],
      [openRelative(0n, "dlink/inner"), fd(2n)],
      [openRelative(0n, "dir/../../../../../../../etc/hosts"), fd(3n)],
      [openRelative(0n, `${dir}/hello.txt`), fd(4n)],
      [openRelative(0n, ""), fd(5n)],
      [openRelative(0n, "none/../dir"), err("Open", noFile)],
      [openRelative(1n, "x"), err("Open", notDir(1n))],
      [openRelative(77n, "x"), err("Open", unknownFd(77n))]
    ]
  },
  {
    name: "read and seek",
    steps: ({ dir }) => {
      const seek = (fd: bigint, _tag: "Start" | "End" | "Current", value: bigint) =>
        ask({ _tag: "Seek", value: { fd, seekFrom: { _tag, value } } })
      const at = (resultOffset: bigint) => ok("Seek", { resultOffset })
      return [
        [open(`${dir}/hello.txt`), fd(0n)],
        [ask({ _tag: "Read", value: { remoteFd: 0n, bufferSize: 5n } }), read("hello")],
        [
          ask({ _tag: "ReadLimited", value: { remoteFd: 0n, bufferSize: 5n, startFrom: 6n } }),
          read("world", "ReadLimited")
        ],
        [seek(0n, "Current", 0n), at(5n)],
        [ask({ _tag: "Read", value: { remoteFd: 0n, bufferSize: 1000n } }), read(" world\n")],
        [ask({ _tag: "Read", value: { remoteFd: 0n, bufferSize: 1000n } }), read("")],
        [seek(0n, "End", -3n), at(9n)],
        [ask({ _tag: "Read", value: { remoteFd: 0n, bufferSize: 1000n } }), read("ld\n")],
        [seek(0n, "Start", 100n), at(100n)],
        [ask({ _tag: "Read", value: { remoteFd: 0n, bufferSize: 1n } }), read("")],
        [seek(0n, "Current", -101n), err("Seek", invalid)],
        [seek(0n, "Start", (1n << 64n) - 1n), err("Seek", invalid)],
        [seek(0n, "Current", 0n), at(100n)],
        [
          ask({ _tag: "ReadLimited", value: { remoteFd: 0n, bufferSize: 1n, startFrom: 1n << 63n } }),
          err("ReadLimited", invalid)
        ],
        [
          ask({ _tag: "ReadLimited", value: { remoteFd: 0n, bufferSize: 1n, startFrom: 1n << 40n } }),
          read("", "ReadLimited")
        ],
        [open(dir), fd(1n)],
        [ask({ _tag: "Read", value: { remoteFd: 1n, bufferSize: 1n } }), err("Read", notFile(1n))],
        [seek(1n, "Current", 0n), err("Seek", notFile(1n))],
        [ask({ _tag: "Read", value: { remoteFd: 9n, bufferSize: 1n } }), err("Read", unknownFd(9n))],
        [open("/proc/version"), fd(2n)],
        [ask({ _tag: "Read", value: { remoteFd: 2n, bufferSize: 5n } }), read("Linux")],
        [open("/dev/null"), fd(3n)],
        [seek(3n, "End", 10n), at(0n)],
        [ask({ _tag: "Read", value: { remoteFd: 3n, bufferSize: 5n } }), read("")]
      ]
    }
  },
  {
    name: "stat",
    steps: ({ dir }) => [
      [xstat(`${dir}/hello.txt`), ok("Xstat", { metadata: like({ mode: 0o100644, size: 12n, hardLinks: 1n }) })],
      [xstat(`${dir}/link`, null, false), ok("Xstat", { metadata: like({ mode: 0o120777, size: 9n }) })],
      [xstat(`${dir}/link`), ok("Xstat", { metadata: like({ mode: 0o100644, size: 12n }) })],
      [xstat(`${dir}/dlink/inner`, null, false), ok("Xstat", { metadata: like({ mode: 0o100644, size: 1n }) })],
      [xstat(`${dir}/dlink/`, null, false), ok("Xstat", { metadata: like({ mode: 0o40755 }) })],
      [xstat(`${dir}/dlink/../hello.txt`), ok("Xstat", { metadata: like({ size: 12n }) })],
      [xstat(`${dir}/none/../hello.txt`), err("Xstat", noFile)],
      [xstat(`${dir}/hello.txt/../hello.txt`), err("Xstat", notDirectory)],
      [xstat(`${dir}/loop/x`, null, false), err("Xstat", loop)],
      [xstat(`${dir}/dangling`), err("Xstat", noFile)],
      [xstat(`${dir}${"/dir/..".repeat(700)}`), err("Xstat", io(36, "InvalidFilename"))],
      [xstat("/.."), ok("Xstat", { metadata: like({ inode: 2n }) })],
      [xstat("/."), err("Xstat", noFile)],
      [xstat("/"), err("Xstat", noFile)],
      [xstat(""), err("Xstat", invalidArgument)],
      [xstat("etc"), err("Xstat", invalidArgument)],
      [xstat(null), err("Xstat", invalidArgument)],
      [open(dir), fd(0n)],
      [open(`${dir}/hello.txt`), fd(1n)],
      [xstat(null, 1n), ok("Xstat", { metadata: like({ size: 12n }) })],
      [xstat(null, 0n), ok("Xstat", { metadata: like({ mode: 0o40700 }) })],
      [xstat("dir", 0n), err("Xstat", invalidArgument)],
      [xstat(`${dir}/dir`, 0n), ok("Xstat", { metadata: like({ mode: 0o40755 }) })],
      [xstat("dir", 1n), err("Xstat", notDir(1n))],
      [xstat("dir", 9n), err("Xstat", unknownFd(9n))],
      [xstat(null, 9n), err("Xstat", unknownFd(9n))]
    ]
  },
  {
    name: "descriptors after close",
    steps: ({ dir }) => [
      [open(`${dir}/hello.txt`), fd(0n)],
      [open(`${dir}/dir`), fd(1n)],
      [ask({ _tag: "Close", value: { fd: 0n } })],
      [xstat(null, 0n), err("Xstat", unknownFd(0n))],
      [ask({ _tag: "CloseDir", value: { remoteFd: 1n } })],
      [xstat(null, 1n), ok("Xstat", { metadata: like({ mode: 0o40755 }) })],
      [ask({ _tag: "Close", value: { fd: 99n } })],
      [open(`${dir}/hello.txt`), fd(2n)]
    ]
  },
  {
    name: "access and readlink",
    steps: ({ dir }) => {
      const access = (pathname: string, mode: number) => ask({ _tag: "Access", value: { pathname, mode } })
      const link = (path: string) => ask({ _tag: "ReadLink", value: { path } })
      return [
        [access(`${dir}/hello.txt`, 0), ok("Access", {})],
        [access(`${dir}/hello.txt`, 6), ok("Access", {})],
        [access(`${dir}/hello.txt`, 1), err("Access", io(13, "PermissionDenied"))],
        [access(`${dir}/hello.txt`, 255), err("Access", io(13, "PermissionDenied"))],
        [access(`${dir}/none`, 0), err("Access", noFile)],
        [access(`${dir}/dangling`, 0), err("Access", noFile)],
        [access(`${dir}/loop`, 0), err("Access", loop)],
        [access(`/a\0b`, 0), err("Access", invalidArgument)],
        [access("/", 0), err("Access", noFile)],
        [link(`${dir}/link`), ok("ReadLink", { path: "hello.txt" })],
        [link(`${dir}/abs`), ok("ReadLink", { path: `${dir}/hello.txt` })],
        [link(`${dir}/hello.txt`), err("ReadLink", invalid)],
        [link(`${dir}/none`), err("ReadLink", noFile)],
        [link("/"), err("ReadLink", invalid)],
        [link("etc"), err("ReadLink", { _tag: "StripPrefix", value: "prefix not found" })],
        [link(`/a\0b`), err("ReadLink", invalidArgument)]
      ]
    }
  }
]

const dns: ReadonlyArray<Case> = [
  {
    name: "names",
    steps: () => [
      [{ _tag: "GetAddrInfoRequest", value: { node: "localhost" } }, found(["localhost.", "127.0.0.1"])],
      [resolve("localhost"), found(["localhost.", "127.0.0.1"])],
      [resolve("localhost."), found(["localhost.", "127.0.0.1"])],
      [resolve("localhost", "Ipv4Only"), found(["localhost.", "127.0.0.1"])],
      [resolve("localhost", "Ipv6Only"), found(["localhost.", "::1"])],
      [resolve("localhost", "Both"), found(["localhost.", "127.0.0.1"], ["localhost.", "::1"])],
      [resolve("10.1.2.3"), found(["10.1.2.3", "10.1.2.3"])],
      [resolve("10.1.2.3", "Ipv6Only"), found(["10.1.2.3", "10.1.2.3"])],
      [resolve("::1"), found(["", "::1"])],
      [resolve("fe80::1:2"), found(["", "fe80::1:2"])],
      [resolve(""), dnsFailure({ _tag: "NoRecordsFound", value: 3 })],
      [resolve("."), dnsFailure({ _tag: "NoRecordsFound", value: 3 })],
      [resolve("a..b"), rejected('Msg("Malformed label: ")')],
      [resolve("a b"), rejected('Msg("unrecognized char:  ")')],
      [resolve(`${"a".repeat(70)}.x`), rejected("Decode(LabelBytesTooLong(70))")]
    ]
  },
  {
    name: "reverse",
    steps: () => [
      [
        { _tag: "ReverseDnsLookup", value: { ipAddress: "127.0.0.1" } },
        { _tag: "ReverseDnsLookup", value: { _tag: "Ok", value: { hostname: { _tag: "Ok", value: "localhost" } } } }
      ]
    ]
  }
]

const outgoing: ReadonlyArray<Case> = [
  {
    name: "TCP: echo, half-close by the client",
    steps: ({ echoPort }) => [
      [connectV2("TcpOutgoing", ip(echoPort), 3n << 100n), connected("TcpOutgoing", 0n, ip(echoPort), 3n << 100n)],
      [write("TcpOutgoing", 0n, "hi"), got("TcpOutgoing", 0n, "echo:hi")],
      [write("TcpOutgoing", 0n, ""), got("TcpOutgoing", 0n, "bye"), over("TcpOutgoing", 0n)],
      [write("TcpOutgoing", 0n, "late")],
      [write("TcpOutgoing", 50n, "unknown")],
      [connectV2("TcpOutgoing", ip(echoPort, "0.0.0.0")), connected("TcpOutgoing", 1n, ip(echoPort))],
      [close("TcpOutgoing", 1n)],
      [write("TcpOutgoing", 1n, "late")]
    ]
  },
  {
    name: "TCP: half-close by the peer",
    steps: ({ greetPort }) => [
      [
        connectV2("TcpOutgoing", ip(greetPort)),
        connected("TcpOutgoing", 0n, ip(greetPort)),
        got("TcpOutgoing", 0n, "hello"),
        got("TcpOutgoing", 0n, "")
      ],
      [write("TcpOutgoing", 0n, "x")],
      [write("TcpOutgoing", 0n, ""), over("TcpOutgoing", 0n)]
    ]
  },
  {
    name: "TCP: reset, with and without logs",
    steps: ({ resetPort }) => [
      [connectV2("TcpOutgoing", ip(resetPort)), connected("TcpOutgoing", 0n, ip(resetPort))],
      [write("TcpOutgoing", 0n, "x"), over("TcpOutgoing", 0n)],
      [{ _tag: "ReadyForLogs" }],
      [connectV2("TcpOutgoing", ip(resetPort)), connected("TcpOutgoing", 1n, ip(resetPort))],
      [write("TcpOutgoing", 1n, "x"), warning, over("TcpOutgoing", 1n)]
    ]
  },
  {
    name: "TCP: refused and impossible; ids only for what succeeds",
    steps: ({ echoPort }) => [
      [connectV2("TcpOutgoing", ip(1)), refused("TcpOutgoing", io(111, "ConnectionRefused"))],
      [connectV2("TcpOutgoing", ip(0)), refused("TcpOutgoing", io(111, "ConnectionRefused"))],
      [connectV2("TcpOutgoing", ip(1, "::1")), refused("TcpOutgoing", io(111, "ConnectionRefused"))],
      [connectV2("TcpOutgoing", ip(80, "255.255.255.255")), refused("TcpOutgoing", io(101, "NetworkUnreachable"))],
      [
        connect("TcpOutgoing", ip(1)),
        { _tag: "TcpOutgoing", value: { _tag: "Connect", value: { _tag: "Err", error: io(111, "ConnectionRefused") } } }
      ],
      [
        connect("TcpOutgoing", ip(echoPort)),
        {
          _tag: "TcpOutgoing",
          value: {
            _tag: "Connect",
            value: { _tag: "Ok", value: like({ connectionId: 0n, remoteAddress: ip(echoPort) }) }
          }
        }
      ]
    ]
  },
  {
    name: "unix sockets",
    steps: ({ dir, unixPath }) => [
      [
        connectV2("TcpOutgoing", unix(unixPath)),
        {
          _tag: "TcpOutgoing",
          value: {
            _tag: "ConnectV2",
            value: {
              uid: 7n,
              connect: { _tag: "Ok", value: { connectionId: 0n, remoteAddress: unix(unixPath), localAddress: unnamed } }
            }
          }
        }
      ],
      [write("TcpOutgoing", 0n, "q"), got("TcpOutgoing", 0n, "q")],
      [connectV2("TcpOutgoing", unix(`${dir}/none`)), refused("TcpOutgoing", noFile)],
      [connectV2("TcpOutgoing", unix("relative")), refused("TcpOutgoing", noFile)],
      [connectV2("TcpOutgoing", unix(`${dir}/hello.txt`)), refused("TcpOutgoing", io(111, "ConnectionRefused"))],
      [connectV2("TcpOutgoing", unnamed), refused("TcpOutgoing", io(null, "Other"))],
      [
        connectV2("TcpOutgoing", { _tag: "Unix", value: { _tag: "Abstract", value: bytes("nobody-listens") } }),
        refused("TcpOutgoing", io(111, "ConnectionRefused"))
      ]
    ]
  },
  {
    name: "UDP",
    steps: ({ udpPort }) => [
      [connectV2("UdpOutgoing", ip(udpPort)), connected("UdpOutgoing", 0n, ip(udpPort))],
      [write("UdpOutgoing", 0n, "q"), got("UdpOutgoing", 0n, "udp:q")],
      [connectV2("UdpOutgoing", ip(udpPort, "0.0.0.0")), connected("UdpOutgoing", 1n, ip(udpPort))],
      [close("UdpOutgoing", 1n)],
      [connectV2("UdpOutgoing", ip(0)), refused("UdpOutgoing", io(107, "NotConnected"))],
      // Without a socket option the system refuses a connect to everybody.
      [connectV2("UdpOutgoing", ip(9, "127.255.255.255")), refused("UdpOutgoing", io(13, "PermissionDenied"))],
      [connectV2("UdpOutgoing", unnamed), refused("UdpOutgoing", io(null, "Other"))],
      [connectV2("UdpOutgoing", unix("/x")), refused("UdpOutgoing", io(null, "Other"))],
      [connectV2("UdpOutgoing", ip(2)), connected("UdpOutgoing", 2n, ip(2))],
      [write("UdpOutgoing", 2n, "to nobody")],
      [write("UdpOutgoing", 0n, "r"), got("UdpOutgoing", 0n, "udp:r")],
      [write("UdpOutgoing", 0n, "")],
      [write("UdpOutgoing", 0n, "after the half-close")]
    ]
  },
  {
    name: "seqpacket that cannot be",
    steps: ({ dir }) => [
      [connectV2("SeqpacketOutgoing", unix(`${dir}/none`)), refused("SeqpacketOutgoing", noFile)],
      [
        connectV2("SeqpacketOutgoing", unix(`${dir}/hello.txt`)),
        refused("SeqpacketOutgoing", io(111, "ConnectionRefused"))
      ],
      [connectV2("SeqpacketOutgoing", ip(1)), refused("SeqpacketOutgoing", io(null, "Other"))],
      [connectV2("SeqpacketOutgoing", unnamed), refused("SeqpacketOutgoing", io(null, "Other"))],
      [{ _tag: "SeqpacketOutgoing", value: { _tag: "Close", value: { connectionId: 1n } } }]
    ]
  }
]

/** All cases. Each runs on a connection of its own; every difference between the agents is a defect of ours. */
export const cases: ReadonlyArray<Case> = [...control, ...files, ...dns, ...outgoing]
