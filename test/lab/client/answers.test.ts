/** How the strict client matches answers to its requests (wire.md §6.6), and which mistakes end it. */

import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { ClientRequest } from "../../../lab/client/client-input.ts"
import { answerOf } from "../../../lab/client/file-requests.ts"
import type { DaemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import type { FileRequest } from "../../../src/domain/protocol/file-messages.ts"
import {
  access,
  accessed,
  address,
  Driver,
  env,
  fetchEnv,
  pong,
  resolve,
  resolved,
  serving,
  version
} from "./driver.ts"

const open: ClientRequest = {
  _tag: "File",
  request: {
    _tag: "Open",
    value: {
      path: "/b",
      openOptions: { read: true, write: false, append: false, truncate: false, create: false, createNew: false }
    }
  }
}
const opened = (fd: bigint): DaemonMessage => ({
  _tag: "File",
  value: { _tag: "Open", value: { _tag: "Ok", value: { fd } } }
})
const file = (request: FileRequest): ClientRequest => ({ _tag: "File", request })
const connect = (transport: "Tcp" | "Udp" | "Seqpacket", uid: bigint): ClientRequest => ({
  _tag: "Connect",
  transport,
  uid,
  remoteAddress: transport === "Seqpacket" ? { _tag: "Unix", value: { _tag: "Pathname", value: "/s" } } : address
})
const ok = (connectionId: bigint) =>
  ({ _tag: "Ok", value: { connectionId, remoteAddress: address, localAddress: address } }) as const
const tcp = (uid: bigint, connectionId: bigint): DaemonMessage => ({
  _tag: "TcpOutgoing",
  value: { _tag: "ConnectV2", value: { uid, connect: ok(connectionId) } }
})

describe("wire.md §6.6: how answers are matched", () => {
  it("files: by position, each of its own kind", () => {
    const client = serving().ask(access, open).hear(accessed, opened(3n))
    expect(client.takeEvents()).toMatchObject([
      { _tag: "FileAnswered", request: { _tag: "Access" } },
      { _tag: "FileAnswered", request: { _tag: "Open" }, response: { value: { value: { fd: 3n } } } }
    ])
    expect(client.fatal).toBeUndefined()
  })

  it("files: swapped answers end the process, surplus ones too", () => {
    expect(serving().ask(access, open).hear(opened(3n)).fatal).toBe("wire.md §6.6 FileRequest")
    expect(serving().ask(access).hear(accessed, accessed).fatal).toBe("wire.md §6.6 FileRequest")
  })

  it("files: Close and CloseDir have no answer and are in nobody's way", () => {
    const client = serving().ask(
      file({ _tag: "Close", value: { fd: 1n } }),
      file({ _tag: "CloseDir", value: { remoteFd: 2n } }),
      access
    )
    expect(client.takeMessages()).toHaveLength(3)
    expect(client.hear(accessed).fatal).toBeUndefined()
  })

  it("files: any number of requests and answers in order is fine, and any one left out or swapped is not", () => {
    const kinds = [access, open] as const
    const answer = (request: ClientRequest): DaemonMessage => (request === access ? accessed : opened(1n))
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...kinds), { minLength: 2, maxLength: 12 }), fc.nat(), (requests, at) => {
        const right = requests.map(answer)
        expect(
          serving()
            .ask(...requests)
            .hear(...right).fatal
        ).toBeUndefined()
        const swapped = at % (right.length - 1)
        const [one, two] = [right[swapped], right[swapped + 1]]
        if (one === undefined || two === undefined || one === two || requests[swapped] === requests[swapped + 1]) return
        const wrong = right.with(swapped, two).with(swapped + 1, one)
        expect(
          serving()
            .ask(...requests)
            .hear(...wrong).fatal
        ).toBe("wire.md §6.6 FileRequest")
      })
    )
  })

  it("answers of different FIFOs may overtake each other", () => {
    const client = serving()
      .ask(access, resolve, fetchEnv, connect("Tcp", 9n))
      .hear(env, tcp(9n, 0n), resolved, accessed)
    expect(client.fatal).toBeUndefined()
    expect(client.takeEvents().map((event) => event._tag)).toEqual(["Env", "Connected", "Resolved", "FileAnswered"])
  })

  it.each([
    ["env", env],
    ["DNS", resolved]
  ] as const)("a surplus %s answer is fatal", (_, answer) => {
    expect(serving().hear(answer).fatal).toMatch(/^wire\.md §6\.6\b/)
  })

  it("a denied lookup is fatal by design, another error is not", () => {
    const denied = (kind: "PermissionDenied" | "NotFound"): DaemonMessage => ({
      _tag: "GetAddrInfoResponse",
      value: { _tag: "Err", error: { _tag: "DnsLookup", value: { kind: { _tag: kind } } } }
    })
    expect(serving().ask(resolve).hear(denied("NotFound")).fatal).toBeUndefined()
    expect(serving().ask(resolve).hear(denied("PermissionDenied")).fatal).toBe("wire.md §6.7")
  })

  it("connects: by uid and transport in any order; an unknown uid and a second answer are fatal", () => {
    const client = serving().ask(connect("Tcp", 1n), connect("Tcp", 2n)).hear(tcp(2n, 0n), tcp(1n, 1n))
    expect(client.fatal).toBeUndefined()
    expect(client.hear(tcp(1n, 2n)).fatal).toBe("wire.md §6.6 ConnectV2")
    expect(serving().ask(connect("Udp", 1n)).hear(tcp(1n, 0n)).fatal).toBe("wire.md §6.6 ConnectV2")
  })

  it("connects: the answer's address must fit the transport", () => {
    const unix = { _tag: "Unix", value: { _tag: "Pathname", value: "/s" } } as const
    const udp = { _tag: "Ok", value: { connectionId: 0n, remoteAddress: unix, localAddress: unix } } as const
    const client = serving().ask(connect("Udp", 1n))
    expect(
      client.hear({ _tag: "UdpOutgoing", value: { _tag: "ConnectV2", value: { uid: 1n, connect: udp } } }).fatal
    ).toBe("wire.md §6.7")
    const seq = serving().ask(connect("Seqpacket", 1n))
    expect(
      seq.hear({ _tag: "SeqpacketOutgoing", value: { _tag: "ConnectV2", value: { uid: 1n, connect: ok(0n) } } }).fatal
    ).toBe("wire.md §6.7")
  })

  it("connects below 1.22.0: by position and transport", () => {
    const client = serving({}, "1.21.0").ask(connect("Tcp", 1n), connect("Tcp", 2n), connect("Udp", 3n))
    expect(client.takeMessages().map((message) => ("value" in message ? message.value : undefined))).toMatchObject([
      { _tag: "Connect" },
      { _tag: "Connect" },
      { _tag: "Connect" }
    ])
    client.hear(
      { _tag: "UdpOutgoing", value: { _tag: "Connect", value: ok(0n) } },
      { _tag: "TcpOutgoing", value: { _tag: "Connect", value: ok(0n) } }
    )
    expect(client.takeEvents()).toMatchObject([{ uid: 3n }, { uid: 1n }])
    client.hear({ _tag: "UdpOutgoing", value: { _tag: "Connect", value: ok(1n) } })
    expect(client.fatal).toBe("wire.md §6.6 legacy Connect")
  })

  it("outgoing data: Read(Err) is fatal, stray ids are ignored, a closed connection is closed", () => {
    const read = (connectionId: bigint): DaemonMessage => ({
      _tag: "TcpOutgoing",
      value: { _tag: "Read", value: { _tag: "Ok", value: { connectionId, bytes: Uint8Array.of(1) } } }
    })
    const client = serving()
      .ask(connect("Tcp", 1n))
      .hear(tcp(1n, 4n), read(4n), read(5n), { _tag: "TcpOutgoing", value: { _tag: "Close", value: 4n } }, read(4n))
    expect(client.fatal).toBeUndefined()
    expect(client.takeEvents().map((event) => event._tag)).toEqual([
      "Connected",
      "OutgoingData",
      "Ignored",
      "OutgoingClosed",
      "Ignored"
    ])
    const error = { _tag: "Err", error: { _tag: "NotImplemented" } } as const
    expect(serving().hear({ _tag: "TcpOutgoing", value: { _tag: "Read", value: error } }).fatal).toBe("wire.md §6.7")
  })

  it("a newer operation than the agreed version fails locally and sends nothing", () => {
    const rename = file({ _tag: "Rename", value: { oldPath: "/a", newPath: "/b" } })
    const old = serving({}, "1.20.0").ask(rename, connect("Seqpacket", 1n))
    expect(old.takeMessages()).toEqual([])
    expect(old.takeEvents().map((event) => event._tag)).toEqual(["NotDone", "NotDone"])
    expect(serving().ask(rename).takeMessages()).toHaveLength(1)
    expect(answerOf({ _tag: "Rename", value: { oldPath: "", newPath: "" } })).toBe("Rename")
  })

  it("nothing is served before the version answer, and everything right after it", () => {
    const client = new Driver().start().hear(pong).ask(access, resolve)
    expect(client.takeMessages().map((message) => message._tag)).toEqual(["Ping", "SwitchProtocolVersion"])
    client.hear(version("1.29.0"))
    expect(client.takeMessages().map((message) => message._tag)).toEqual([
      "ReadyForLogs",
      "FileRequest",
      "GetAddrInfoRequestV2"
    ])
  })

  it("every version answer counts and is thanked for", () => {
    const client = serving().hear(version("1.14.0"), version("1.28.0"))
    expect(client.takeMessages()).toEqual([{ _tag: "ReadyForLogs" }, { _tag: "ReadyForLogs" }])
    expect(client.state.version).toBe("1.28.0")
  })
})

describe("the CLI's environment", () => {
  const failure = (canRetry: boolean): DaemonMessage => ({
    _tag: "GetEnvVarsResponse",
    value: { _tag: "Err", error: { _tag: "SystemFailure", canRetry, code: 1, message: "lost" } }
  })

  it("is asked for after the version and ends the connection", () => {
    const client = new Driver({ kind: "cli" }).start().hear(version("1.29.0"), env)
    expect(client.takeEvents().map((event) => event._tag)).toEqual(["Versioned", "Env", "Finished"])
  })

  it("is asked for again after 500 ms if the failure says so", () => {
    const client = new Driver({ kind: "cli" }).start().hear(version("1.29.0"), failure(true))
    client.takeMessages()
    expect(client.later(499).takeMessages()).toEqual([])
    expect(
      client
        .later(1)
        .takeMessages()
        .map((message) => message._tag)
    ).toEqual(["GetEnvVarsRequest"])
    expect(client.hear(env).fatal).toBeUndefined()
    expect(new Driver({ kind: "cli" }).start().hear(version("1.29.0"), failure(false)).fatal).toBe("wire.md §6.2 B")
  })
})
