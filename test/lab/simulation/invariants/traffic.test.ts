/** Invariants over traffic (N1, S1 to S4), with frames by hand. */

import { describe, expect, it } from "vitest"
import { strictClient } from "../../../../lab/simulation/invariants/n01-strict-client.ts"
import { oneRouterEpoch } from "../../../../lab/simulation/invariants/s01-one-router-epoch.ts"
import { statefulToDefaultOnce } from "../../../../lab/simulation/invariants/s02-stateful-to-default-once.ts"
import { oneOwnerPerId } from "../../../../lab/simulation/invariants/s03-one-owner-per-id.ts"
import { oneAnswerInOrder } from "../../../../lab/simulation/invariants/s04-one-answer-in-order.ts"
import type { TimedEvent } from "../../../../lab/simulation/world/world-event.ts"
import { clientMessage } from "../../../../src/domain/protocol/client-message.ts"
import { daemonMessage, type DaemonMessage } from "../../../../src/domain/protocol/daemon-message.ts"
import { at, find, findAtRest, makeWorld, sessionId } from "./fixture.ts"

const lookup = (node: string): Uint8Array => clientMessage.encode({ _tag: "GetAddrInfoRequest", value: { node } })
const address = (ip: string): Uint8Array =>
  daemonMessage.encode({ _tag: "GetAddrInfoResponse", value: { _tag: "Ok", value: [{ name: "x", ip }] } })
const connect = (ms: number, connection: number, client = "s1"): TimedEvent =>
  at(ms, { _tag: "ClientConnected", client, connection, sessionId })
const says = (ms: number, connection: number, bytes: Uint8Array, client = "s1"): TimedEvent =>
  at(ms, { _tag: "ClientSaid", client, connection, bytes })
const hears = (ms: number, connection: number, bytes: Uint8Array, client = "s1"): TimedEvent =>
  at(ms, { _tag: "ClientHeard", client, connection, bytes })
const agentHears = (ms: number, connection: number, bytes: Uint8Array, cluster = "a"): TimedEvent =>
  at(ms, { _tag: "AgentHeard", cluster, agent: `agent-${connection}`, connection, bytes })
const agentSays = (ms: number, connection: number, bytes: Uint8Array, cluster = "a"): TimedEvent =>
  at(ms, { _tag: "AgentSaid", cluster, agent: `agent-${connection}`, connection, bytes })

const [one, two, three] = [lookup("one"), lookup("two"), lookup("three")]

describe("S1", () => {
  const story = (delayMs: number) => [
    connect(0, 1),
    says(0, 1, one),
    agentHears(1, 101, one),
    says(1, 1, two),
    connect(10, 2),
    says(10, 2, three),
    agentHears(11, 102, three),
    agentHears(11 + delayMs, 101, two)
  ]
  it("finds bytes of an old epoch long after the next one began", () =>
    expect(find(oneRouterEpoch, story(8_000))).toContain("Connection 1 of s1 still passes"))
  it("lets arrive what was on its way", () => expect(find(oneRouterEpoch, story(100))).toBeUndefined())
})

describe("S2", () => {
  const said = [connect(0, 1), says(0, 1, one), says(1, 1, two)]
  it("holds for frames in order", () =>
    expect(find(statefulToDefaultOnce, [...said, agentHears(2, 101, one), agentHears(2, 101, two)])).toBeUndefined())
  it("finds swapped frames", () =>
    expect(find(statefulToDefaultOnce, [...said, agentHears(2, 101, two)])).toContain("not what s1 said"))
  it("finds a repeated frame", () =>
    expect(find(statefulToDefaultOnce, [...said, agentHears(2, 101, one), agentHears(2, 101, one)])).toContain(
      "Frame 2"
    ))
  it("finds a frame in another cluster", () =>
    expect(find(statefulToDefaultOnce, [...said, agentHears(2, 101, one, "b")])).toContain("not the default"))
  it("finds two agents that serve one connection", () =>
    expect(find(statefulToDefaultOnce, [...said, agentHears(2, 101, one), agentHears(2, 102, one)])).toContain(
      "reached both"
    ))
  it("tells two clients that say the same apart only by number", () => {
    const both = [...said, connect(0, 2, "s2"), says(0, 2, one, "s2"), agentHears(2, 101, one), agentHears(2, 102, one)]
    expect(find(statefulToDefaultOnce, both)).toBeUndefined()
    const world = makeWorld()
    expect(findAtRest(statefulToDefaultOnce, world, "left", both)).toEqual([])
    expect(findAtRest(statefulToDefaultOnce, world, "left", [...both, agentHears(3, 103, one)])[0]).toContain(
      "another agent connection"
    )
  })
  it("finds lost frames at rest", () => {
    const world = makeWorld()
    world.pass(60_000)
    expect(findAtRest(statefulToDefaultOnce, world, "healed", [...said, agentHears(2, 101, one)])).toEqual([
      "Of 2 stateful frames of s1 only 1 reached the default agent."
    ])
    const gone = at(3, { _tag: "ClientEnded", client: "s1", rule: undefined, message: "killed" })
    expect(findAtRest(statefulToDefaultOnce, world, "healed", [...said, agentHears(2, 101, one), gone])).toEqual([])
  })
})

describe("S3", () => {
  const request = (connectionId: bigint, uri: string): Uint8Array =>
    daemonMessage.encode({
      _tag: "TcpSteal",
      value: {
        _tag: "HttpRequest",
        value: {
          connectionId,
          requestId: 0,
          port: 80,
          internalRequest: { method: "GET", uri, headers: [], version: "HTTP/1.1", body: new Uint8Array() }
        }
      }
    } satisfies DaemonMessage)
  const close = (connectionId: bigint): Uint8Array =>
    daemonMessage.encode({ _tag: "TcpSteal", value: { _tag: "Close", value: { connectionId } } })
  const response = (connectionId: bigint): Uint8Array =>
    clientMessage.encode({
      _tag: "TcpSteal",
      value: {
        _tag: "HttpResponse",
        value: {
          connectionId,
          requestId: 0,
          port: 80,
          internalResponse: { status: 200, version: "HTTP/1.1", headers: [], body: new Uint8Array() }
        }
      }
    })
  const two = [
    connect(0, 1),
    agentSays(1, 101, request(0n, "/a")),
    agentSays(1, 102, request(0n, "/b"), "b"),
    hears(2, 1, request(0n, "/a")),
    hears(2, 1, request(1n, "/b"))
  ]
  it("holds when answers go to their owners", () =>
    expect(
      find(oneOwnerPerId, [
        ...two,
        says(3, 1, response(1n)),
        agentHears(4, 102, response(0n), "b"),
        says(5, 1, response(0n)),
        agentHears(6, 101, response(0n))
      ])
    ).toBeUndefined())
  it("finds an answer at the wrong agent", () =>
    expect(find(oneOwnerPerId, [...two, says(3, 1, response(1n)), agentHears(4, 101, response(0n))])).toContain(
      "did not give"
    ))
  it("finds an answer for what was never opened", () =>
    expect(find(oneOwnerPerId, [...two, agentHears(4, 101, response(7n))])).toContain("never opened"))
  it("finds two agents behind one id", () =>
    expect(
      find(oneOwnerPerId, [...two, agentSays(3, 102, request(0n, "/c"), "b"), hears(4, 1, request(0n, "/c"))])
    ).toContain("not by its owner agent-101 in a"))
  it("finds an id that is used again", () =>
    expect(
      find(oneOwnerPerId, [
        ...two,
        hears(3, 1, close(0n)),
        agentSays(3, 101, request(1n, "/c")),
        hears(4, 1, request(0n, "/c"))
      ])
    ).toContain("used and closed before"))
  it("finds a request from nowhere", () =>
    expect(find(oneOwnerPerId, [connect(0, 1), hears(1, 1, request(0n, "/a"))])).toContain("no agent opened"))
})

describe("S4", () => {
  const asked = [connect(0, 1), says(0, 1, one), agentHears(1, 101, one), says(1, 1, two), agentHears(1, 101, two)]
  const answered = [agentSays(2, 101, address("10.0.0.1")), agentSays(2, 101, address("10.0.0.2"))]
  const [ping, pong] = [clientMessage.encode({ _tag: "Ping" }), daemonMessage.encode({ _tag: "Pong" })]
  it("holds for answers in order", () => {
    const events = [...asked, ...answered, hears(3, 1, address("10.0.0.1")), hears(3, 1, address("10.0.0.2"))]
    expect(find(oneAnswerInOrder, events)).toBeUndefined()
  })
  it("finds swapped answers of one kind", () =>
    expect(find(oneAnswerInOrder, [...asked, ...answered, hears(3, 1, address("10.0.0.2"))])).toContain(
      "Answer 1 that s1 hears"
    ))
  it("finds an answer of another cluster", () =>
    expect(
      find(oneAnswerInOrder, [...asked, agentSays(2, 102, address("10.0.0.9"), "b"), hears(3, 1, address("10.0.0.9"))])
    ).toContain("Answer 1"))
  it("finds a surplus Pong", () => {
    expect(find(oneAnswerInOrder, [connect(0, 1), says(0, 1, ping), hears(1, 1, pong)])).toBeUndefined()
    expect(find(oneAnswerInOrder, [connect(0, 1), says(0, 1, ping), hears(1, 1, pong), hears(1, 1, pong)])).toBe(
      "s1 hears a surplus answer to a ping."
    )
  })
  it("finds a missing answer at rest", () => {
    const world = makeWorld()
    world.pass(60_000)
    expect(findAtRest(oneAnswerInOrder, world, "healed", [connect(0, 1), says(0, 1, ping)])).toEqual([
      "s1 still waits for 1 answers to a ping."
    ])
    expect(findAtRest(oneAnswerInOrder, world, "healed", [connect(0, 1), says(0, 1, ping), hears(1, 1, pong)])).toEqual(
      []
    )
  })
})

describe("N1", () => {
  const ended = (rule: string | undefined, message: string): TimedEvent =>
    at(0, { _tag: "ClientEnded", client: "s1", rule, message })
  it("finds a protocol error", () => {
    expect(find(strictClient, [ended("wire.md §6.6 Ping", "received an unexpected pong")])).toContain("unexpected pong")
    expect(
      find(strictClient, [ended("wire.md §6.14", "the connection was lost: a message that ends too early")])
    ).toContain("ends too early")
    expect(
      find(strictClient, [
        at(0, { _tag: "ClientEvent", client: "s1", event: { _tag: "Lost", reason: "a text frame" } })
      ])
    ).toContain("text frame")
    expect(
      find(strictClient, [
        at(0, {
          _tag: "ClientEvent",
          client: "s1",
          event: { _tag: "Ignored", what: "surplusLookup", message: "GetAddrInfoResponse" }
        })
      ])
    ).toContain("surplusLookup")
  })
  it("takes losses and an operator's word", () => {
    const fine = [
      ended(undefined, "left"),
      ended("operator-api.md §8.7", "no attempt"),
      ended("wire.md §6.2 E", "the session was closed: over"),
      ended("wire.md §6.14", "the connection was lost: connection reset"),
      ended("wire.md §6.2 F, G, H: next at start", "the version 1.2.2 is below 1.3.1")
    ]
    expect(find(strictClient, fine)).toBeUndefined()
  })
})
