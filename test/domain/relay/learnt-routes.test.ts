import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { clientBulk, daemonBulk } from "../../../src/domain/protocol/bulk.ts"
import { clientMessage } from "../../../src/domain/protocol/client-message.ts"
import { daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import { LearntRoutes, type Route } from "../../../src/domain/relay/learnt-routes.ts"
import { step } from "../../../src/domain/relay/router.ts"
import { a, Scenario } from "./scenario.ts"
import { compareFastPath } from "./support/fast-path.ts"

const write = (id: bigint, text: string): Uint8Array =>
  clientMessage.encode({
    _tag: "TcpOutgoing",
    value: { _tag: "Write", value: { connectionId: id, bytes: new TextEncoder().encode(text) } }
  })

/** Lets the router decide about a message, and learns from it. */
const learnt = (routes: LearntRoutes<Route>, s: Scenario, bytes: Uint8Array): void => {
  const before = s.state
  const decided = step(before, { _tag: "FromClient", bytes, now: s.now })
  routes.learn(before, bytes, decided, (route) => route)
}

describe("the fast route of bulk", () => {
  it("is what step would decide, whatever comes: 60,000 messages", () => {
    let [messages, passed, repeated] = [0, 0, 0]
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const compared = compareFastPath(String(seed), 2_000)
        messages += compared.messages
        passed += compared.passed
        repeated += compared.repeated
      }),
      { numRuns: 30 }
    )
    expect(messages).toBeGreaterThanOrEqual(60_000)
    // Without routes the comparison would say nothing.
    expect(passed / messages).toBeGreaterThan(0.15)
    expect(repeated / messages).toBeGreaterThan(0.02)
  })

  it("is known after the first message of a connection, until the router's state changes", () => {
    const s = Scenario.connected()
    const routes = new LearntRoutes<Route>("client")
    const routeOf = (bytes: Uint8Array) => routes.routeOf(s.state, bytes, bytes.length)
    expect(routeOf(write(7n, "first"))).toBeUndefined()
    learnt(routes, s, write(7n, "first"))
    expect(routeOf(write(7n, "second, which is longer"))).toEqual({ member: a, idAt: 2, idLength: 1, id: undefined })
    expect(routeOf(write(8n, "of another connection"))).toBeUndefined()
    s.client({ _tag: "Ping" })
    expect(routeOf(write(7n, "third"))).toBeUndefined()
  })

  it("is forgotten with the state in which it was learnt", () => {
    const s = Scenario.connected()
    const routes = new LearntRoutes<Route>("client")
    const before = s.state
    learnt(routes, s, write(7n, "in one state"))
    s.client({ _tag: "Ping" })
    learnt(routes, s, write(8n, "in another"))
    const bytes = write(7n, "in the first state again")
    expect(routes.routeOf(before, bytes, bytes.length)).toBeUndefined()
  })

  it("is not learnt from a decision that does more than pass the message on", () => {
    const s = Scenario.connected()
    const routes = new LearntRoutes<Route>("client")
    const close = clientMessage.encode({ _tag: "TcpOutgoing", value: { _tag: "Close", value: { connectionId: 7n } } })
    const stray = clientMessage.encode({
      _tag: "TcpSteal",
      value: { _tag: "Data", value: { connectionId: 7n, bytes: new Uint8Array(3) } }
    })
    for (const bytes of [close, stray, clientMessage.encode({ _tag: "Ping" })]) {
      learnt(routes, s, bytes)
      expect(routes.routeOf(s.state, bytes, bytes.length)).toBeUndefined()
    }
  })

  it("is refused to what is not exactly one whole message", () => {
    const s = Scenario.connected()
    const routes = new LearntRoutes<Route>("client")
    learnt(routes, s, write(7n, "first"))
    const bytes = write(7n, "whole")
    expect(routes.routeOf(s.state, bytes, bytes.length)).toBeDefined()
    expect(routes.routeOf(s.state, bytes, bytes.length - 1)).toBeUndefined()
    expect(routes.routeOf(s.state, bytes, bytes.length + 1)).toBeUndefined()
  })
})

describe("bulk messages", () => {
  const payload = fc.uint8Array({ maxLength: 400 })
  const id = fc.bigInt({ min: 0n, max: (1n << 64n) - 1n })

  it("are measured by their head, as their codec writes them", () => {
    fc.assert(
      fc.property(id, payload, (connectionId, bytes) => {
        const sent = clientMessage.encode({ _tag: "TcpSteal", value: { _tag: "Data", value: { connectionId, bytes } } })
        expect(clientBulk.measure(sent, 0, Math.min(sent.length, 32))).toBe(sent.length)
        const got = daemonMessage.encode({
          _tag: "UdpOutgoing",
          value: { _tag: "Read", value: { _tag: "Ok", value: { connectionId, bytes } } }
        })
        expect(daemonBulk.measure(got, 0, Math.min(got.length, 32))).toBe(got.length)
        expect(got.subarray(daemonBulk.idAt, daemonBulk.prefix)).toEqual(
          daemonMessage.encode({ _tag: "Tcp", value: { _tag: "Close", value: { connectionId } } }).subarray(2)
        )
      })
    )
  })

  it("are not measured while a number of their head is not whole", () => {
    const value = { connectionId: 1n << 40n, bytes: new Uint8Array(300) }
    const got = daemonMessage.encode({ _tag: "UdpOutgoing", value: { _tag: "Read", value: { _tag: "Ok", value } } })
    const measured = Array.from({ length: 32 }, (_, end) => daemonBulk.measure(got.slice(0, end), 0, end))
    expect([...new Set(measured)]).toEqual([0, got.length])
  })

  it("are recognised only if their codec finds them sound and as long", () => {
    const noise = fc.tuple(
      fc.constantFrom([3, 1], [2, 3], [4, 1], [16, 0], [3, 1, 0], [1, 1], [2, 1]),
      fc.array(fc.oneof(fc.nat(255), fc.constantFrom(0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff, 0)), { maxLength: 24 })
    )
    fc.assert(
      fc.property(noise, fc.boolean(), ([tags, rest], isClients) => {
        const bulk = isClients ? clientBulk : daemonBulk
        const bytes = Uint8Array.from([...tags, ...rest])
        const length = bulk.measure(bytes, 0, bytes.length)
        if (length === 0 || length > bytes.length) return
        const checked = (isClients ? clientMessage : daemonMessage).check(bytes)
        expect(checked).toEqual({ _tag: "Sound", used: length })
      }),
      { numRuns: 2_000 }
    )
  })
})
