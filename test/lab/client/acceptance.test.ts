/** The table of wire.md §6.2: every message in every phase of every kind of client. */

import { describe, expect, it } from "vitest"
import type { ClientKind } from "../../../lab/client/client-input.ts"
import type { DaemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import { access, accessed, address, Driver, env, fetchEnv, log, pong, resolve, resolved, version } from "./driver.ts"

/** Columns of wire.md §6.2, each with a client in that phase that waits for one answer of every kind. */
const afterSwitch = (kind: ClientKind) => (): Driver => new Driver({ kind }).start().hear(version("1.29.0"))
const connecting = { _tag: "Connect", transport: "Tcp", uid: 1n, remoteAddress: address } as const

const columns: ReadonlyArray<readonly [name: string, client: () => Driver]> = [
  ["A: CLI handshake", () => new Driver({ kind: "cli" }).start()],
  ["B: CLI env fetch", afterSwitch("cli")],
  ["C: first Ping", () => new Driver().start()],
  [
    "D: DB port-forward env",
    () => new Driver({ branchEnv: { filter: new Set(), select: new Set(["*"]) } }).start().hear(pong)
  ],
  [
    "E: intproxy main",
    () => new Driver().start().hear(pong, version("1.29.0")).ask(access, resolve, fetchEnv).later(30_000)
  ],
  ["F: port-forward", () => afterSwitch("portForward")().ask(resolve, connecting).later(0)],
  ["G: reverse port-forward", () => afterSwitch("reversePortForward")().later(0)],
  ["H: dump", afterSwitch("dump")],
  ["I: extproxy", () => new Driver({ kind: "extproxy" }).start().hear(pong)]
]

/** `ok` handled, `X` fatal, `1` handled once and fatal if repeated, `d` wire.md §6.3. */
type Cell = "ok" | "X" | "1" | "d"
const closing = { _tag: "Close", value: 7n } as const
const newConnection = {
  _tag: "NewConnectionV1",
  value: {
    connectionId: 0n,
    remoteAddress: "10.0.0.9",
    destinationPort: 80,
    sourcePort: 51000,
    localAddress: "10.0.0.5"
  }
} as const

const table: ReadonlyArray<readonly [DaemonMessage, string]> = [
  //                                                                    A    B    C    D    E    F    G    H    I
  [version("1.29.0"), "ok   X    X    d    ok   X    X    X    X"],
  [env, "X    ok   X    ok   1    X    X    X    X"],
  [pong, "X    X    ok   d    1    1    1    ok   ok"],
  [{ _tag: "OperatorPing", value: 5n }, "X    X    ok   d    ok   ok   ok   ok   ok"],
  [log("Warn"), "X    ok   ok   d    ok   ok   ok   ok   ok"],
  [log("Error"), "X    ok   ok   d    ok   ok   ok   ok   ok"],
  [log("Info"), "X    ok   X    d    ok   ok   ok   ok   X"],
  [{ _tag: "Close", value: "the end" }, "X    X    X    d    X    X    X    X    X"],
  [{ _tag: "Tcp", value: newConnection }, "X    X    X    d    ok   X    ok   ok   X"],
  [{ _tag: "TcpSteal", value: newConnection }, "X    X    X    d    ok   X    ok   X    X"],
  [{ _tag: "TcpOutgoing", value: closing }, "X    X    X    d    ok   ok   X    X    X"],
  [{ _tag: "UdpOutgoing", value: closing }, "X    X    X    d    ok   X    X    X    X"],
  [{ _tag: "SeqpacketOutgoing", value: closing }, "X    X    X    d    ok   X    X    X    X"],
  [accessed, "X    X    X    d    1    X    X    X    X"],
  [resolved, "X    X    X    d    1    1    X    X    X"],
  [{ _tag: "Vpn", value: { _tag: "Packet", value: Uint8Array.of(1) } }, "X    X    X    d    X    X    X    X    X"],
  [
    { _tag: "PauseTarget", value: { _tag: "PauseResponse", changed: true, containerPaused: true } },
    "X    X    X    d    X    X    X    X    X"
  ],
  [
    { _tag: "ReverseDnsLookup", value: { _tag: "Ok", value: { hostname: { _tag: "Ok", value: "h" } } } },
    "X    X    X    d    X    X    X    X    X"
  ]
]

const nameOf = (message: DaemonMessage): string =>
  message._tag === "LogMessage" ? `LogMessage ${message.value.level._tag}` : message._tag

const cells = table.flatMap(([message, row]) =>
  row.split(/ +/).map((cell, at) => {
    const column = columns[at]
    if (column === undefined) throw new Error(`the row of ${nameOf(message)} has too many cells`)
    return { name: nameOf(message), message, cell: cell as Cell, column: column[0], client: column[1] }
  })
)

describe("wire.md §6.2: which daemon message is acceptable when", () => {
  it("has a row for every message and a cell for every column", () => {
    expect(new Set(table.map(([message]) => message._tag)).size).toBe(16)
    expect(cells).toHaveLength(table.length * columns.length)
  })

  it.each(columns)("a client of the column %s is alive", (_, client) => {
    expect(client().fatal).toBeUndefined()
  })

  it.each(cells)("$name in $column: $cell", ({ message, cell, client }) => {
    const once = client().hear(message)
    switch (cell) {
      case "X":
        return expect(once.fatal).toMatch(/^wire\.md §6\.\d/)
      case "ok":
        return expect(once.fatal).toBeUndefined()
      case "1":
        expect(once.fatal).toBeUndefined()
        return expect(once.hear(message).fatal).toMatch(/^wire\.md §6\.[26]\b/)
      case "d":
        expect(once.fatal).toBeUndefined()
        return expect(once.hear(env).fatal).toBe("wire.md §6.6 GetEnvVarsRequest")
    }
  })

  it.each(["portForward", "reversePortForward", "dump"] as const)(
    "%s: the version must be the very next message",
    (kind) => {
      for (const [message] of table) {
        const { fatal } = new Driver({ kind }).start().hear(message)
        if (message._tag === "SwitchProtocolVersionResponse") expect(fatal).toBeUndefined()
        else expect(fatal).toMatch(/^wire\.md §6\.2 F, G, H/)
      }
    }
  )

  it("F: a connect answer without uid is fatal although connect answers are not", () => {
    const answer = { _tag: "Err", error: { _tag: "NotImplemented" } } as const
    const forward = (): Driver => afterSwitch("portForward")().ask(connecting)
    expect(forward().hear({ _tag: "TcpOutgoing", value: { _tag: "Connect", value: answer } }).fatal).toBe(
      "wire.md §6.2 F"
    )
    const answered = forward().hear({
      _tag: "TcpOutgoing",
      value: { _tag: "ConnectV2", value: { uid: 1n, connect: answer } }
    })
    expect(answered.fatal).toBeUndefined()
  })

  it("H: an error, or one result too many, is fatal (wire.md §6.4)", () => {
    const result = (value: Extract<DaemonMessage, { _tag: "Tcp" }>["value"]): DaemonMessage => ({ _tag: "Tcp", value })
    const ok = result({ _tag: "SubscribeResult", value: { _tag: "Ok", value: 80 } })
    const dump = (): Driver => afterSwitch("dump")().ask({ _tag: "Mirror", port: 80 })
    expect(dump().hear(ok).fatal).toBeUndefined()
    expect(dump().hear(ok, ok).fatal).toBe("wire.md §6.4")
    const error = { _tag: "Err", error: { _tag: "PortAlreadyStolen", value: 80 } } as const
    expect(dump().hear(result({ _tag: "SubscribeResult", value: error })).fatal).toBe("wire.md §6.4")
  })

  it("a client that has failed says and does nothing more", () => {
    const dead = new Driver({ kind: "cli" }).start().hear(pong)
    dead.outputs = []
    dead.hear(version("1.29.0")).ask(access).later(1_000_000).put({ _tag: "Closed" })
    expect(dead.outputs).toEqual([])
  })
})
