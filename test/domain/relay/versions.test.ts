import { describe, expect, it } from "vitest"
import { readableError } from "../../../src/domain/relay/versions.ts"
import { a, announce, b, c, logOf, ok, ready, Scenario, version } from "./scenario.ts"

describe("version agreement", () => {
  it("wire.md §8.1: one answer per switch, however often it is repeated and however many members answer", () => {
    const s = Scenario.connected({}, { members: [a, b, c] })
    s.client(announce("1.29.0")).client(announce("1.29.0"))
    for (const member of [b, a, c, a, c, b]) s.member(member, version("1.29.0"))
    expect(s.toClient()).toEqual([version("1.29.0"), version("1.29.0")])
    s.member(a, version("1.29.0"))
    expect(s.toClient()).toEqual([])
    expect(s.has("Dropped")).toEqual([{ _tag: "Dropped", what: "strayVersion" }])
  })

  it.each([
    ["1.29.0", "1.22.0", "1.22.0"],
    ["1.19.4", "1.29.0", "1.19.4"],
    ["1.30.0", "1.31.0", "1.30.0"],
    ["1.30.0-rc.1", "1.31.0", "1.29.0"],
    ["1.20.0-rc.1", "1.31.0", "1.20.0"],
    ["1.29.0", "1.35.0", "1.29.0"],
    ["1.29.0", "1.29.0-rc.1", "1.29.0"]
  ])("client %s and default %s agree on %s", (client, agent, agreed) => {
    const s = Scenario.connected({ [a]: agent })
    s.client(announce(client)).member(a, version(agent))
    expect(s.toClient()).toEqual([version(agreed)])
  })

  it("wire.md §8.17: no member but the default is waited for", () => {
    const s = Scenario.connected().client(announce("1.29.0"))
    s.member(a, version("1.29.0"))
    expect(s.toClient()).toEqual([version("1.29.0")])
    s.member(b, version("1.20.0"))
    expect(s.toClient()).toEqual([])
  })

  it("the router introduces itself to learn a member's version, and swallows the answer", () => {
    const s = new Scenario().put({ _tag: "MemberConnected", member: a })
    expect(s.toMember(a)).toEqual([announce("1.29.0")])
    expect(s.member(a, version("1.29.0")).toClient()).toEqual([])
  })

  it("errors are put in a form that the client can read (wire.md §5.8)", () => {
    const blockedAction = { _tag: "Mirror", value: 80 } as const
    const withReason = { _tag: "ForbiddenWithReason", blockedAction, policyName: null, reason: "no" } as const
    expect(readableError(withReason, "1.17.0")).toBe(withReason)
    expect(readableError(withReason, "1.16.0")).toEqual({ _tag: "Forbidden", blockedAction, policyName: null })
    expect(readableError(withReason, "1.11.0")).toEqual({ _tag: "PortAlreadyStolen", value: 80 })
    const failure = { _tag: "SystemFailure", canRetry: true, code: 1, message: "lost" } as const
    expect(readableError(failure, "1.28.0")).toBe(failure)
    expect(readableError(failure, "1.27.9")._tag).toBe("RemoteIO")
    expect(readableError({ _tag: "OpenLocal" }, "1.13.3")._tag).toBe("OpenLocal")
    expect(readableError({ _tag: "OpenLocal" }, "1.13.2")._tag).toBe("RemoteIO")
  })
})

describe("handshake", () => {
  const info = { _tag: "LogMessage", value: { message: "hello", level: { _tag: "Info" } } } as const
  const warn = { _tag: "LogMessage", value: { message: "careful", level: { _tag: "Warn" } } } as const

  it("wire.md §8.16: nothing unsolicited before ReadyForLogs: logs, pings, traffic", () => {
    const s = Scenario.connected()
    s.client({ _tag: "Ping" }).client(announce("1.29.0"))
    s.member(b, warn).member(a, warn).member(b, { _tag: "OperatorPing", value: 7n }).steal(b, ok(80))
    s.steal(b, {
      _tag: "NewConnectionV1",
      value: {
        connectionId: 3n,
        remoteAddress: "10.0.0.9",
        destinationPort: 80,
        sourcePort: 1,
        localAddress: "10.0.0.5"
      }
    })
    s.lose(b)
    expect(s.toClient()).toEqual([])
    expect(s.toMember(b).slice(-2)).toEqual([
      { _tag: "OperatorPong", value: 7n },
      { _tag: "TcpSteal", value: { _tag: "ConnectionUnsubscribe", value: 3n } }
    ])
    s.member(a, { _tag: "Pong" }).member(a, version("1.29.0"))
    expect(s.toClient()).toEqual([{ _tag: "Pong" }, version("1.29.0")])
    s.client(ready)
    expect(s.toClient().map(logOf)).toEqual([expect.stringContaining("the session goes on without cluster cluster-b")])
  })

  it("log lines wait for a version switch that is under way", () => {
    const s = Scenario.connected().client(ready).client(announce("1.29.0")).member(b, warn)
    expect(s.toClient()).toEqual([])
    s.member(a, version("1.29.0"))
    expect(s.toClient()).toEqual([version("1.29.0"), warn])
  })

  it.each([
    ["1.13.4", [info]],
    ["1.13.3", []]
  ] as const)("Info lines to a client of %s", (announced, expected) => {
    const s = Scenario.connected().client(announce(announced)).member(a, version(announced)).client(ready)
    s.toClient()
    expect(s.member(b, info).toClient()).toEqual(expected)
  })

  it("what the client says before the default is connected goes out in order when it is", () => {
    const s = new Scenario().put({ _tag: "MemberConnected", member: b })
    s.toMember(b)
    s.client({ _tag: "GetEnvVarsRequest", value: { envVarsFilter: new Set(), envVarsSelect: new Set(["*"]) } })
    s.client({ _tag: "Ping" })
    expect([s.toMember(a), s.toMember(b)]).toEqual([[], []])
    s.put({ _tag: "MemberConnected", member: a })
    expect(s.toMember(a).map((message) => message._tag)).toEqual(["SwitchProtocolVersion", "GetEnvVarsRequest", "Ping"])
    expect(s.toMember(b)).toEqual([{ _tag: "Ping" }])
  })

  it("what is held is bounded", () => {
    const s = new Scenario()
    const large = new Uint8Array(600_000)
    s.put({ _tag: "FromClient", bytes: large })
    expect(s.take()).toEqual([])
    s.put({ _tag: "FromClient", bytes: large })
    expect(s.take()).toMatchObject([{ _tag: "DropClient" }])
  })
})
