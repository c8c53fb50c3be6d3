import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { clientMessage } from "../../../src/domain/protocol/client-message.ts"
import { daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import {
  type Claim,
  claimPort,
  connectionName,
  lockFromClient,
  lockToClient,
  noLocks,
  type PortLocks,
  releaseConnection,
  releasePort,
  stolenPorts
} from "../../../src/domain/relay/port-locks.ts"
import { ok, stealHeader, stealPort, stolen, unsteal } from "./scenario.ts"

const one = connectionName("one")
const two = connectionName("two")

const after = (...claims: ReadonlyArray<readonly [typeof one, Claim]>): PortLocks =>
  claims.reduce((locks, [connection, claim]) => claimPort(locks, connection, { port: 80, claim })[0], noLocks)

describe("wire.md §8.22: ports of two connections of one session", () => {
  it.each([
    ["whole", "whole", "Refused"],
    ["whole", "filtered", "Refused"],
    ["filtered", "whole", "Refused"],
    ["filtered", "filtered", "Granted"]
  ] as const)("held %s, wanted %s by another: %s", (held, wanted, outcome) => {
    expect(claimPort(after([one, held]), two, { port: 80, claim: wanted })[1]._tag).toBe(outcome)
    expect(claimPort(after([one, held]), two, { port: 81, claim: wanted })[1]._tag).toBe("Granted")
  })

  it("a connection replaces its own subscription, if no other is in the way", () => {
    expect(claimPort(after([one, "filtered"]), one, { port: 80, claim: "whole" })[1]._tag).toBe("Granted")
    expect(claimPort(after([one, "filtered"], [two, "filtered"]), one, { port: 80, claim: "whole" })[1]).toEqual({
      _tag: "Refused",
      holder: two
    })
  })

  it("a refused claim changes nothing, and a port is free again when its connection ends or unsubscribes", () => {
    const locks = after([one, "whole"])
    expect(claimPort(locks, two, { port: 80, claim: "whole" })[0]).toBe(locks)
    expect(releaseConnection(locks, one)).toEqual(noLocks)
    expect(releasePort(locks, one, 80)).toEqual(noLocks)
    expect(releasePort(locks, two, 80)).toBe(locks)
  })

  it("a silent holder loses every port to a newcomer, but only if no lively one is in the way too", () => {
    const silent = (name: typeof one): boolean => name === one
    const [locks] = claimPort(after([one, "whole"]), one, { port: 90, claim: "whole" })
    const [taken, claimed] = claimPort(locks, two, { port: 80, claim: "whole" }, silent)
    expect(claimed).toEqual({ _tag: "Granted", replaced: [one] })
    expect(taken).toEqual(new Map([[80, new Map([[two, { claim: "whole" }]])]]))
    const shared = after([one, "filtered"], [two, "filtered"])
    const three = connectionName("three")
    expect(claimPort(shared, three, { port: 80, claim: "whole" }, silent)).toEqual([
      shared,
      { _tag: "Refused", holder: two }
    ])
    expect(claimPort(shared, three, { port: 80, claim: "filtered" }, silent)[1]).toEqual({
      _tag: "Granted",
      replaced: []
    })
  })

  it("never has two holders of which one takes the whole port", () => {
    const act = fc.record({
      connection: fc.constantFrom(one, two, connectionName("three")),
      port: fc.constantFrom(80, 81),
      what: fc.constantFrom<Claim | "release" | "end">("whole", "filtered", "release", "end")
    })
    fc.assert(
      fc.property(fc.array(act), (acts) => {
        let locks = noLocks
        for (const { connection, port, what } of acts) {
          if (what === "end") locks = releaseConnection(locks, connection)
          else if (what === "release") locks = releasePort(locks, connection, port)
          else [locks] = claimPort(locks, connection, { port, claim: what })
          for (const holders of locks.values()) {
            expect(holders.size).toBeGreaterThan(0)
            if ([...holders.values()].some(({ claim }) => claim === "whole")) expect(holders.size).toBe(1)
          }
        }
      })
    )
  })

  it("on the wire: the later connection gets PortAlreadyStolen and its router is not asked", () => {
    const first = lockFromClient(noLocks, one, clientMessage.encode(stealPort(80)))
    expect(first.answer).toBeUndefined()
    const second = lockFromClient(first.locks, two, clientMessage.encode(stealHeader(80, "x: y")))
    expect(second.holder).toBe(one)
    expect(second.answer && daemonMessage.decode(second.answer)).toMatchObject({
      value: { _tag: "TcpSteal", value: stolen(80) }
    })
    const later = lockFromClient(first.locks, two, clientMessage.encode(stealPort(80)), () => true)
    expect([later.answer, later.replaced]).toEqual([undefined, [one]])
    const mirrored = clientMessage.encode({ _tag: "Tcp", value: { _tag: "PortSubscribe", value: 80 } })
    expect(lockFromClient(first.locks, two, mirrored)).toEqual({ locks: first.locks })
    const released = lockFromClient(first.locks, one, clientMessage.encode(unsteal(80)))
    expect(released.locks).toEqual(noLocks)
  })

  it("on the wire: a subscription that fails holds nothing, one that succeeds stays", () => {
    const { locks } = lockFromClient(noLocks, one, clientMessage.encode(stealPort(80)))
    const result = (value: typeof ok extends (port: number) => infer R ? R : never): Uint8Array =>
      daemonMessage.encode({ _tag: "TcpSteal", value })
    expect(lockToClient(locks, one, result(ok(80)))).toBe(locks)
    expect(lockToClient(locks, one, result(stolen(81)))).toBe(locks)
    expect(lockToClient(locks, one, result(stolen(80)))).toEqual(noLocks)
    const blockedAction = { _tag: "Steal", value: { _tag: "All", value: 80 } } as const
    expect(
      lockToClient(
        locks,
        one,
        result({
          _tag: "SubscribeResult",
          value: { _tag: "Err", error: { _tag: "ForbiddenWithReason", blockedAction, policyName: null, reason: "no" } }
        })
      )
    ).toEqual(noLocks)
  })

  it("lists each stolen port with its filters once, whoever holds it", () => {
    const messages = [
      [one, stealHeader(8080, "x-user: ann")],
      [one, stealPort(443)],
      [two, stealHeader(8080, "x-user: ann")],
      [connectionName("three"), stealHeader(8080, "x-user: \u202ebob")]
    ] as const
    const locks = messages.reduce(
      (held, [connection, message]) => lockFromClient(held, connection, clientMessage.encode(message)).locks,
      noLocks
    )
    expect(stolenPorts(locks)).toEqual([
      { port: 443 },
      { port: 8080, filter: "header=x-user: ann" },
      { port: 8080, filter: "header=x-user: \ufffdbob" }
    ])
    expect(stolenPorts(releaseConnection(locks, one)).length).toBe(2)
  })

  it("leaves bytes that do not decode to the router", () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(lockFromClient(noLocks, one, Uint8Array.of(2, 0, 9, ...bytes))).toEqual({ locks: noLocks })
        lockToClient(noLocks, one, Uint8Array.of(2, 3, 1, ...bytes))
      })
    )
  })

  it("counts a steal whose indices are written longer than they need be, as an agent does", () => {
    const steal = clientMessage.encode(stealPort(80))
    const [variant = 0, ...rest] = steal
    const overlong = Uint8Array.of(0xfb, variant, 0, ...rest)
    const { locks } = lockFromClient(noLocks, one, overlong)
    expect(lockFromClient(locks, two, steal).holder).toBe(one)
  })
})
