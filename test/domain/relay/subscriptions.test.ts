import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { ClientMessage } from "../../../src/domain/protocol/client-message.ts"
import type { DaemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import type { ResponseError } from "../../../src/domain/protocol/response-error.ts"
import { limits } from "../../../src/domain/relay/limits.ts"
import {
  a,
  announce,
  b,
  c,
  logOf,
  ok,
  ready,
  Scenario,
  stealHeader,
  stealMethod,
  stealPort,
  stolen,
  unsteal
} from "./scenario.ts"

const accepted = (port: number): DaemonMessage => ({ _tag: "TcpSteal", value: ok(port) })
const refused = (port: number): DaemonMessage => ({ _tag: "TcpSteal", value: stolen(port) })
const refusal = (error: ResponseError): DaemonMessage => ({
  _tag: "TcpSteal",
  value: { _tag: "SubscribeResult", value: { _tag: "Err", error } }
})
const mirrorPort = (port: number): ClientMessage => ({ _tag: "Tcp", value: { _tag: "PortSubscribe", value: port } })

const logs = (messages: ReadonlyArray<DaemonMessage>): ReadonlyArray<string> =>
  messages.filter((message) => message._tag === "LogMessage").map(logOf)
const answers = (messages: ReadonlyArray<DaemonMessage>): ReadonlyArray<DaemonMessage> =>
  messages.filter((message) => message._tag !== "LogMessage")

const readyClient = (...args: Parameters<typeof Scenario.connected>): Scenario => {
  const s = Scenario.connected(...args).client(ready)
  s.take()
  return s
}

describe("wire.md §8.4: subscription results", () => {
  it("one result, when every live member has answered, in the channel of the request", () => {
    const s = readyClient().client(stealPort(80)).client(mirrorPort(80))
    s.steal(b, ok(80)).steal(a, ok(80))
    expect(s.toClient()).toEqual([accepted(80)])
    s.member(a, { _tag: "Tcp", value: ok(80) })
    expect(s.toClient()).toEqual([])
    s.member(b, { _tag: "Tcp", value: ok(80) })
    expect(s.toClient()).toEqual([{ _tag: "Tcp", value: ok(80) }])
  })

  it("an error of one member within the bound is the result, and the others are unsubscribed", () => {
    const s = readyClient({}, { members: [a, b, c] })
      .client(stealPort(80))
      .steal(a, ok(80))
    s.take()
    s.steal(b, stolen(80))
    const said = s.toClient()
    expect(answers(said)).toEqual([refused(80)])
    expect(logs(said)).toEqual([expect.stringContaining("cluster cluster-b refuses the subscription of port 80")])
    expect([s.toMember(a), s.toMember(b), s.toMember(c)]).toEqual([[unsteal(80)], [], [unsteal(80)]])
    expect(answers(s.steal(c, ok(80)).toClient())).toEqual([])
    s.lose(c).put({ _tag: "MemberConnected", member: c })
    expect(s.toMember(c)).not.toContainEqual(stealPort(80))
  })

  it("only the default is waited for beyond the bound; a late error leaves a member out, with one warning", () => {
    const s = readyClient().client(stealPort(80)).later(10_000)
    expect(s.toClient()).toEqual([])
    s.steal(a, ok(80))
    expect(s.later(1999).toClient()).toEqual([])
    expect(s.later(1).toClient()).toEqual([accepted(80)])
    s.take()
    s.steal(b, stolen(80))
    const said = s.toClient()
    expect(logs(said)).toEqual([
      expect.stringContaining("cluster cluster-b takes no part in the subscription of port 80")
    ])
    expect(answers(said)).toEqual([])
    expect([s.toMember(a), s.toMember(b)]).toEqual([[], []])
    s.lose(b).put({ _tag: "MemberConnected", member: b })
    s.member(b, { _tag: "SwitchProtocolVersionResponse", value: "1.29.0" })
    expect(
      s.toMember(b).map((one) => one._tag),
      "on a new connection it is asked again"
    ).toEqual(["SwitchProtocolVersion", "TcpSteal", "ReadyForLogs"])
  })

  it.each([
    ["cluster", 2],
    ["agent", 1]
  ] as const)("a refusal by a %s, asked for twice, is told %i times", (memberKind, times) => {
    const s = readyClient({}, { memberKind })
    for (let i = 0; i < 2; i++) s.client(stealPort(80)).steal(b, stolen(80)).steal(a, ok(80))
    expect(logs(s.toClient())).toHaveLength(times)
  })

  it("a member that refuses a mirror subscription is asked again when it is back, and not before", () => {
    const s = readyClient()
      .client(mirrorPort(80))
      .member(a, { _tag: "Tcp", value: ok(80) })
      .later(2000)
    s.take()
    s.member(b, { _tag: "Tcp", value: stolen(80) })
    expect(s.later(10 * limits.askAgainAfter).toMember(b)).toEqual([])
    s.lose(b).put({ _tag: "MemberConnected", member: b })
    s.member(b, { _tag: "SwitchProtocolVersionResponse", value: "1.29.0" })
    expect(s.toMember(b).map((said) => said._tag)).toEqual(["SwitchProtocolVersion", "Tcp", "ReadyForLogs"])
  })

  it("a member where somebody else has the port is asked again until it is free", () => {
    const s = readyClient().client(stealPort(80)).steal(a, ok(80)).later(2000)
    s.take()
    s.steal(b, stolen(80))
    const every = limits.askAgainAfter
    expect(s.has("WakeAt")).toEqual([{ _tag: "WakeAt", at: s.now + every }])
    expect(logs(s.toClient())).toEqual([
      "cluster cluster-b takes no part in the subscription of port 80 until it is free, which is tried every 30 " +
        "s: PortAlreadyStolen"
    ])
    for (let times = 0; times < 3; times++) {
      expect(s.later(every - 1).toMember(b)).toEqual([])
      expect([s.later(1).toMember(b), s.toMember(a)]).toEqual([[stealPort(80)], []])
      s.take()
      expect(s.steal(b, stolen(80)).toClient()).toEqual([])
    }
    expect(s.later(every).steal(b, ok(80)).toClient()).toEqual([])
    s.take()
    expect([s.later(every).toMember(b), s.has("WakeAt")]).toEqual([[], []])
  })

  it("a member whose policy forbids the port is told with the policy's name, and asked again when it is back", () => {
    const s = readyClient().client(stealPort(80)).steal(a, ok(80)).later(2000)
    s.take()
    const blockedAction = { _tag: "Steal", value: { _tag: "All", value: 80 } } as const
    s.member(b, refusal({ _tag: "ForbiddenWithReason", blockedAction, policyName: "calm", reason: "no steal." }))
    expect(logs(s.toClient())).toEqual([
      'cluster cluster-b takes no part in the subscription of port 80: its mirrord policy "calm" forbids it: no steal'
    ])
    expect(s.has("WakeAt")).toEqual([])
    expect(s.later(limits.askAgainAfter).toMember(b)).toEqual([])
    s.lose(b).put({ _tag: "MemberConnected", member: b })
    expect(s.toMember(b)).toContainEqual(stealPort(80))
  })

  it("is not asked again for what the client has given back", () => {
    const s = readyClient().client(stealPort(80)).steal(a, ok(80)).later(2000).steal(b, stolen(80)).client(unsteal(80))
    s.take()
    expect(s.later(2 * limits.askAgainAfter).toMember(b)).toEqual([])
  })

  it("an error that comes after the bound is late, even if nobody ticked in between", () => {
    const s = readyClient().client(stealPort(80)).steal(a, ok(80))
    s.now += 2000
    s.steal(b, stolen(80))
    expect(answers(s.toClient())).toEqual([accepted(80)])
  })

  it("the default is waited for, however long ago the others have answered", () => {
    const s = readyClient().client(stealPort(80)).steal(b, ok(80)).later(60_000)
    expect([s.toClient(), s.has("WakeAt")]).toEqual([[], []])
    expect(s.steal(a, ok(80)).toClient()).toEqual([accepted(80)])
  })

  it("an older request that fails leaves the newer subscription of its port alone", () => {
    const s = readyClient().client(stealPort(80)).client(stealHeader(80, "x"))
    s.take()
    s.steal(b, stolen(80))
    expect([s.toMember(a), s.toMember(b)]).toEqual([[], []])
    s.steal(a, ok(80)).steal(b, ok(80)).steal(a, ok(80))
    expect(answers(s.toClient())).toEqual([refused(80), accepted(80)])
    s.lose(b).put({ _tag: "MemberConnected", member: b })
    expect(s.toMember(b)).toContainEqual(stealHeader(80, "x"))
  })

  it("a member lost while pending counts as answered", () => {
    const s = readyClient().client(stealPort(80)).steal(a, ok(80)).lose(b)
    expect(answers(s.toClient())).toEqual([accepted(80)])
  })

  it("subscribe, unsubscribe, subscribe gives two results, matched in the order of the requests", () => {
    const s = readyClient().client(stealPort(80)).client(unsteal(80)).client(stealPort(80))
    expect(s.toMember(b)).toEqual([stealPort(80), unsteal(80), stealPort(80)])
    s.steal(a, ok(80)).steal(a, stolen(80)).steal(b, ok(80)).steal(b, ok(80))
    const said = answers(s.toClient())
    expect(said).toEqual([accepted(80), refused(80)])
  })

  it.each<[string, ResponseError]>([
    ["an error that every client dies of", { _tag: "NotImplemented" }],
    [
      "a policy error of another port",
      { _tag: "Forbidden", blockedAction: { _tag: "Mirror", value: 81 }, policyName: null }
    ],
    ["an error that is too new for the client", { _tag: "SystemFailure", canRetry: false, code: 1, message: "lost" }]
  ])("%s becomes PortAlreadyStolen", (_, error) => {
    const s = readyClient().client(stealPort(80))
    s.member(a, refusal(error))
    expect(answers(s.toClient())).toEqual([refused(80)])
  })

  it("a policy error reaches the client as its version can read it", () => {
    const blockedAction = { _tag: "Steal", value: { _tag: "All", value: 80 } } as const
    const error = { _tag: "ForbiddenWithReason", blockedAction, policyName: "p", reason: "no" } as const
    const old = readyClient().client(announce("1.16.0")).client(stealPort(80)).member(a, refusal(error))
    old.member(a, { _tag: "SwitchProtocolVersionResponse", value: "1.16.0" })
    expect(answers(old.toClient())).toContainEqual(refusal({ _tag: "Forbidden", blockedAction, policyName: "p" }))
    const current = readyClient().client(announce("1.29.0")).client(stealPort(80)).member(a, refusal(error))
    expect(answers(current.toClient())).toEqual([refusal(error)])
  })

  it("one result per request, whatever the interleaving, and never one before the default's", () => {
    const act = fc.record({
      what: fc.constantFrom("subscribe", "unsubscribe", "a ok", "b ok", "b err", "lose b", "return b", "wait"),
      port: fc.constantFrom(80, 81)
    })
    fc.assert(
      fc.property(fc.array(act, { maxLength: 40 }), (acts) => {
        const s = readyClient()
        const owed = { 80: 0, 81: 0 } as Record<number, number>
        let [asked, got] = [0, 0]
        for (const { what, port } of acts) {
          if (what === "subscribe") {
            asked++
            owed[port] = (owed[port] ?? 0) + 1
            s.client(stealPort(port))
          } else if (what === "unsubscribe") s.client(unsteal(port))
          else if (what === "a ok") {
            if (owed[port]) owed[port]--
            s.steal(a, ok(port))
          } else if (what === "b ok") s.steal(b, ok(port))
          else if (what === "b err") s.steal(b, stolen(port))
          else if (what === "lose b") s.lose(b)
          else if (what === "return b") s.put({ _tag: "MemberConnected", member: b })
          else s.later(700)
          got += answers(s.toClient()).length
          expect(got).toBeLessThanOrEqual(asked)
          // Nothing is ever scheduled in the past: a shell that obeys would spin.
          for (const { at } of s.has("WakeAt")) expect(at).toBeGreaterThan(s.now - 700)
          s.take()
        }
        for (const port of [80, 81]) for (let i = owed[port] ?? 0; i > 0; i--) s.steal(a, ok(port))
        s.later(2000)
        expect(got + answers(s.toClient()).length).toBe(asked)
      }),
      { numRuns: 500 }
    )
  })
})

describe("wire.md §8.11: replay", () => {
  it("a returning member gets version, ReadyForLogs and active subscriptions; its answers are swallowed", () => {
    const s = readyClient().client(announce("1.29.0"))
    s.client(stealPort(80)).client(mirrorPort(90)).client(stealPort(81)).client(unsteal(81))
    s.lose(b)
    s.take()
    s.put({ _tag: "MemberConnected", member: b })
    expect(s.toMember(b)).toEqual([announce("1.29.0"), stealPort(80), mirrorPort(90)])
    s.member(b, { _tag: "SwitchProtocolVersionResponse", value: "1.29.0" })
    expect(s.toMember(b)).toEqual([ready])
    s.steal(b, ok(80)).member(b, { _tag: "Tcp", value: ok(90) })
    expect(s.toClient()).toEqual([])
    expect([s.toMember(a), s.toMember(b), s.has("Dropped")]).toEqual([[], [], []])
  })
})

describe("wire.md §8.14: Close", () => {
  it.each([a, b])("of %s in place of the result of a filtered subscription rejects that subscription", (member) => {
    const s = readyClient().client(stealHeader(80, "(")).client(stealPort(81))
    s.take()
    s.member(member, { _tag: "Close", value: "bad regex" })
    const said = s.toClient()
    expect(answers(said)).toEqual([refused(80)])
    expect(logs(said)).toEqual([expect.stringContaining("bad regex")])
    expect(s.toMember(member === a ? b : a)).toEqual([unsteal(80)])
    expect(s.toMember(member)).toEqual([])
    expect([s.has("DisconnectMember"), s.has("EndSession"), s.has("DropClient")]).toEqual([[], [], []])
  })

  it("of another member ends that member only, with one warning", () => {
    const s = readyClient().client(stealPort(80)).member(b, { _tag: "Close", value: "no target" })
    expect(s.has("DisconnectMember").map((one) => one.member)).toEqual([b])
    expect(logs(s.toClient())).toEqual([expect.stringContaining("no target")])
    s.steal(a, ok(80))
    expect(answers(s.toClient())).toEqual([accepted(80)])
  })

  it("of the default ends the session with its text", () => {
    const s = readyClient().member(a, { _tag: "Close", value: "bye" })
    expect(s.take()).toMatchObject([{ _tag: "ToClient" }, { _tag: "EndSession", reason: "bye" }])
    expect(s.client(stealPort(80)).take()).toEqual([])
  })

  it("a filter that is refused on replay does not come again", () => {
    const s = readyClient().lose(b).client(stealHeader(80, "x")).steal(a, ok(80))
    for (let i = 0; i < 3; i++)
      s.put({ _tag: "MemberConnected", member: b }).member(b, { _tag: "Close", value: "bad regex" }).lose(b)
    expect(s.toMember(b).filter((one) => one._tag === "TcpSteal")).toHaveLength(1)
    expect(s.has("EndSession")).toEqual([])
  })
})

describe("wire.md §8.19: what a member is too old for", () => {
  it("ReadyForLogs waits for the member's version, and never reaches a member that would not understand it", () => {
    for (const [version, expected] of [
      ["1.3.0", []],
      ["1.3.1", [ready]]
    ] as const) {
      const s = readyClient()
      s.lose(b).put({ _tag: "MemberConnected", member: b })
      expect(s.toMember(b)).not.toContainEqual(ready)
      expect(s.member(b, { _tag: "SwitchProtocolVersionResponse", value: version }).toMember(b)).toEqual(expected)
    }
  })

  it("a filter kind: the member is left out with one warning, the others are subscribed", () => {
    const s = readyClient({ [b]: "1.19.0" })
      .client(stealMethod(80))
      .steal(a, ok(80))
    expect(s.toMember(b)).toEqual([])
    const said = s.toClient()
    expect(answers(said)).toEqual([accepted(80)])
    expect(logs(said)).toEqual([
      expect.stringMatching(/cluster cluster-b takes no part .* 1\.19\.0, the filter needs 1\.20\.0/)
    ])
    s.lose(b).put({ _tag: "MemberConnected", member: b })
    s.member(b, { _tag: "SwitchProtocolVersionResponse", value: "1.19.0" })
    expect(logs(s.toClient()).filter((text) => text.includes("takes no part"))).toEqual([])
    s.lose(b).put({ _tag: "MemberConnected", member: b })
    s.toMember(b)
    s.member(b, { _tag: "SwitchProtocolVersionResponse", value: "1.20.0" })
    expect(s.toMember(b)).toEqual([ready, stealMethod(80)])
    expect(answers(s.steal(b, ok(80)).toClient())).toEqual([])
  })

  it("nobody left: the client gets PortAlreadyStolen", () => {
    const s = readyClient({ [a]: "1.19.0", [b]: "1.19.0" }).client(stealMethod(80))
    expect(answers(s.toClient())).toEqual([refused(80)])
  })

  it("the default too old: the others are waited for as long as ever", () => {
    const s = readyClient({ [a]: "1.19.0" }).client(stealMethod(80))
    expect(answers(s.toClient())).toEqual([])
    s.steal(b, ok(80))
    expect(answers(s.toClient())).toEqual([accepted(80)])
    const silent = readyClient({ [a]: "1.19.0" })
      .client(stealMethod(80))
      .later(2000)
    expect(answers(silent.toClient())).toEqual([refused(80)])
    expect(silent.toMember(b)).toEqual([stealMethod(80), unsteal(80)])
  })

  it("a member whose version is not known yet gets such a subscription after its version", () => {
    const s = new Scenario()
    for (const member of [a, b]) s.put({ _tag: "MemberConnected", member })
    s.take()
    s.client(stealMethod(80))
    expect([s.toMember(a), s.toMember(b)]).toEqual([[], []])
    for (const member of [a, b]) s.member(member, { _tag: "SwitchProtocolVersionResponse", value: "1.29.0" })
    expect([s.toMember(a), s.toMember(b)]).toEqual([[stealMethod(80)], [stealMethod(80)]])
    s.steal(a, ok(80)).steal(b, ok(80))
    expect(answers(s.toClient())).toEqual([accepted(80)])
  })

  describe("a subscription that waits for a member's version", () => {
    const waiting = (): Scenario => {
      const s = readyClient().lose(b).put({ _tag: "MemberConnected", member: b })
      s.take()
      s.client(stealMethod(80))
      expect([s.toMember(a), s.toMember(b)]).toEqual([[stealMethod(80)], []])
      return s
    }
    const learned: DaemonMessage = { _tag: "SwitchProtocolVersionResponse", value: "1.29.0" }

    it("and is unsubscribed: the result comes all the same, the member never gets it", () => {
      const s = waiting().client(unsteal(80)).steal(a, ok(80))
      expect(answers(s.toClient())).toEqual([accepted(80)])
      s.toMember(b)
      expect(s.member(b, learned).toMember(b)).toEqual([ready])
    })

    it("and is replaced: both results come, the member gets the newer one", () => {
      const s = waiting().client(stealPort(80))
      expect(s.toMember(b)).toEqual([stealPort(80)])
      s.member(b, learned).steal(a, ok(80)).steal(a, ok(80)).steal(b, ok(80))
      expect(answers(s.toClient())).toEqual([accepted(80), accepted(80)])
    })

    it("and is refused by another: the member is not told to end what it never had", () => {
      const s = waiting().steal(a, stolen(80))
      expect(answers(s.toClient())).toEqual([refused(80)])
      expect(s.toMember(b)).toEqual([])
    })
  })

  it("a request behind an earlier one of its port is never scheduled in the past", () => {
    const s = readyClient({ [a]: "1.19.0" })
      .client(stealPort(80))
      .client(stealMethod(80))
      .later(5000)
    expect(s.has("WakeAt")).toEqual([])
    s.steal(a, ok(80)).later(2000)
    expect(answers(s.toClient())).toEqual([accepted(80), refused(80)])
  })

  it("ReadyForLogs needs 1.3.1", () => {
    const s = Scenario.connected({ [b]: "1.3.0" }).client(ready)
    expect([s.toMember(a), s.toMember(b)]).toEqual([[ready], []])
  })
})

it("each message looks at an open request a few times, however many are open", () => {
  const s = readyClient({}, { members: [a] })
  const open = 500
  for (let request = 0; request < open; request++) s.client(stealPort(80))
  let looks = 0
  const watched = s.state.requests.map(
    (request) =>
      new Proxy(request, {
        get: (target, name, receiver): unknown => {
          looks++
          return Reflect.get(target, name, receiver)
        }
      })
  )
  expect(watched).toHaveLength(open)
  s.state = { ...s.state, requests: watched }
  s.later(1)
  expect(looks).toBeGreaterThan(0)
  expect(looks).toBeLessThan(10 * open)
})

it("subscriptions are bounded: one too many is refused", () => {
  const s = readyClient({}, { members: [a] })
  for (let port = 1; port <= limits.subscriptions; port++) s.client(stealPort(port)).steal(a, ok(port))
  s.take()
  const said = s.client(stealPort(5000)).toClient()
  expect(answers(said)).toEqual([refused(5000)])
  expect(s.toMember(a)).toEqual([])
})
