/** Pings, lost sockets and reconnects of the strict client. */

import { describe, expect, it } from "vitest"
import type { ClientKind } from "../../../lab/client/client-input.ts"
import { daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import { access, accessed, address, Driver, log, pong, resolve, serving, steal, subscribed, version } from "./driver.ts"

const interval = 30_000
const pings = (client: Driver): number => client.takeMessages().filter((message) => message._tag === "Ping").length

describe("pings", () => {
  it("one per interval, each with one Pong; a surplus Pong is fatal", () => {
    const client = serving()
    expect(pings(client.later(interval - 1))).toBe(0)
    expect(pings(client.later(1))).toBe(1)
    expect(client.hear(pong).fatal).toBeUndefined()
    expect(pings(client.later(interval))).toBe(1)
    expect(client.hear(pong, pong).fatal).toBe("wire.md §6.6 Ping")
  })

  it("several may be under way while other traffic flows", () => {
    const client = serving()
    for (let i = 0; i < 3; i++)
      client
        .later(interval - 1)
        .hear(log("Warn"))
        .later(1)
    expect(pings(client)).toBe(3)
    expect(client.hear(pong, pong, pong).fatal).toBeUndefined()
    expect(client.hear(pong).fatal).toBe("wire.md §6.6 Ping")
  })

  it("silence for a whole interval with a Ping under way is a lost connection", () => {
    const client = serving().later(interval).later(interval)
    expect(client.fatal).toBe("wire.md §6.14")
  })

  it("five such losses in a row are survived, the sixth is not; a Pong starts the count again", () => {
    const client = serving({ reconnect: true })
    const silence = (): void => {
      client.later(interval).later(interval)
    }
    for (let i = 0; i < 5; i++) {
      silence()
      expect(client.takeReconnects()).toEqual([0])
      client.put({ _tag: "Reconnected" }).hear(version("1.29.0"))
    }
    client.later(interval).hear(pong)
    for (let i = 0; i < 5; i++) {
      silence()
      client.put({ _tag: "Reconnected" }).hear(version("1.29.0"))
    }
    expect(client.fatal).toBeUndefined()
    silence()
    expect(client.fatal).toBe("operator-api.md §8.6")
  })

  it.each<[ClientKind, number]>([
    ["cli", 0],
    ["dump", 0],
    ["portForward", 1],
    ["reversePortForward", 1]
  ])("%s pings %i times at the start", (kind, times) => {
    expect(pings(new Driver({ kind }).start().hear(version("1.29.0")).later(0))).toBe(times)
  })
})

describe("the socket", () => {
  it.each(["text", "ping", "pong", "close"] as const)("a %s frame ends it", (kind) => {
    expect(serving().put({ _tag: "Frame", kind, bytes: Uint8Array.of(7) }).fatal).toBe("wire.md §6.14")
    const client = serving({ reconnect: true }).put({ _tag: "Frame", kind, bytes: Uint8Array.of(7) })
    expect(client.fatal).toBeUndefined()
    expect(client.takeReconnects()).toEqual([0])
  })

  it.each([
    ["unknown tag", [200]],
    ["truncated", [5, 3, 65]],
    ["empty", []]
  ] as const)("bytes that do not decode end it: %s", (_, bytes) => {
    expect(serving().bytes(Uint8Array.from(bytes)).fatal).toBe("wire.md §6.14")
    expect(serving({ reconnect: true }).bytes(Uint8Array.from(bytes)).takeReconnects()).toEqual([0])
  })

  it("trailing bytes are not read (wire.md §1.1)", () => {
    const client = serving()
      .later(interval)
      .bytes(Uint8Array.from([...daemonMessage.encode(pong), ...daemonMessage.encode(pong)]))
    expect(client.fatal).toBeUndefined()
    expect(client.takeEvents().filter((event) => event._tag === "Pong")).toHaveLength(1)
  })

  it.each<ClientKind>(["cli", "extproxy", "portForward", "reversePortForward", "dump"])(
    "%s never reconnects",
    (kind) => {
      expect(new Driver({ kind, reconnect: true }).start().put({ _tag: "Closed" }).fatal).toBe("wire.md §6.14")
    }
  )

  it("nor does the intproxy before its first version switch", () => {
    expect(new Driver({ reconnect: true }).start().put({ _tag: "Closed" }).fatal).toBe("wire.md §6.14")
  })

  it("a protocol Close is final even where reconnecting is allowed", () => {
    expect(serving({ reconnect: true }).hear({ _tag: "Close", value: "bye" }).fatal).toBe("wire.md §6.2 E")
  })

  it("without any version answer the intproxy gives up", () => {
    expect(new Driver().start().hear(pong).later(59_999).fatal).toBeUndefined()
    expect(new Driver().start().hear(pong).later(60_000).fatal).toBe("wire.md §5.4")
  })
})

describe("reconnecting", () => {
  const lost = (): Driver => serving({ reconnect: true }, "1.28.0").put({ _tag: "Closed" })

  it("tries once at once and ten times more, then gives up", () => {
    const client = lost()
    for (let i = 0; i < 11; i++) client.put({ _tag: "Closed" })
    expect(client.takeReconnects()).toEqual([0, 1000, 2000, 4000, 8000, 8000, 8000, 8000, 8000, 8000, 8000])
    expect(client.fatal).toBe("operator-api.md §8.7")
  })

  it.each([
    [410, "ReconnectNotPossible", true],
    [410, "Gone", false],
    [500, "ReconnectNotPossible", false]
  ] as const)("an attempt refused with %i %s is the end: %s", (code, reason, end) => {
    expect(lost().put({ _tag: "Closed", code, reason }).fatal === "operator-api.md §8.8").toBe(end)
  })

  it("announces the version negotiated before, and replays subscriptions only after the answer", () => {
    const client = serving({ reconnect: true }, "1.28.0")
      .ask(steal(80), steal(81))
      .hear(subscribed(80))
      .put({ _tag: "Closed" })
    client.takeMessages()
    client.put({ _tag: "Reconnected" })
    expect(client.takeMessages()).toEqual([{ _tag: "SwitchProtocolVersion", value: "1.28.0" }])
    client.hear(version("1.28.0"))
    expect(client.takeMessages()).toMatchObject([
      { _tag: "ReadyForLogs" },
      { value: { _tag: "PortSubscribe" } },
      { value: { _tag: "PortSubscribe" } }
    ])
    client.hear(subscribed(80), subscribed(81))
    expect(client.takeEvents().filter((event) => event._tag === "Subscribed")).toMatchObject([
      { calls: 1 },
      { calls: 0 },
      { calls: 1 }
    ])
  })

  it("speaks the oldest forms until the answer, and what waited goes out right after the switch", () => {
    const client = lost().ask(
      resolve,
      { _tag: "Connect", transport: "Tcp", uid: 1n, remoteAddress: address },
      steal(80)
    )
    client.takeMessages()
    expect(client.put({ _tag: "Reconnected" }).takeMessages()).toMatchObject([
      { _tag: "SwitchProtocolVersion" },
      { _tag: "GetAddrInfoRequest" },
      { _tag: "TcpOutgoing", value: { _tag: "Connect" } }
    ])
    expect(client.hear(version("1.28.0")).takeMessages()).toMatchObject([
      { _tag: "ReadyForLogs" },
      { _tag: "TcpSteal" }
    ])
  })

  it("fails what was pending locally; an old answer on the new socket is fatal, an old Pong too", () => {
    const pending = (): Driver => serving({ reconnect: true }).ask(access).later(interval).put({ _tag: "Closed" })
    expect(pending().takeEvents()).toMatchObject([{ _tag: "NotDone" }, { _tag: "Lost" }])
    expect(pending().put({ _tag: "Reconnected" }).hear(version("1.29.0"), accessed).fatal).toBe(
      "wire.md §6.6 FileRequest"
    )
    expect(pending().put({ _tag: "Reconnected" }).hear(pong).fatal).toBe("wire.md §6.6 Ping")
  })

  it("re-bases file descriptors, and never closes a re-based one (wire.md §6.14)", () => {
    const open = {
      _tag: "File",
      request: {
        _tag: "Open",
        value: {
          path: "/",
          openOptions: { read: true, write: false, append: false, truncate: false, create: false, createNew: false }
        }
      }
    } as const
    const opened = (fd: bigint) =>
      ({ _tag: "File", value: { _tag: "Open", value: { _tag: "Ok", value: { fd } } } }) as const
    const client = serving({ reconnect: true })
      .ask(open)
      .hear(opened(4n))
      .put({ _tag: "Closed" })
      .put({ _tag: "Reconnected" })
    client.hear(version("1.29.0")).ask(open).hear(opened(0n))
    expect(client.takeEvents().findLast((event) => event._tag === "FileAnswered")).toMatchObject({
      response: { value: { value: { fd: 5n } } }
    })
    client.takeMessages()
    client.ask({ _tag: "File", request: { _tag: "Read", value: { remoteFd: 5n, bufferSize: 1n } } })
    expect(client.takeMessages()).toMatchObject([{ value: { _tag: "Read", value: { remoteFd: 0n } } }])
    client.ask({ _tag: "File", request: { _tag: "Read", value: { remoteFd: 4n, bufferSize: 1n } } })
    client.ask({ _tag: "File", request: { _tag: "Close", value: { fd: 5n } } })
    expect(client.takeMessages()).toEqual([])
  })
})
