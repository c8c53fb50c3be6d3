import { describe, expect, it } from "vitest"
import { type AgentUser, makeAgentLockTable } from "../../../../src/app/sessions/member/agent-lock-table.ts"
import { type ClientMessage, clientMessage } from "../../../../src/domain/protocol/client-message.ts"
import { daemonMessage } from "../../../../src/domain/protocol/daemon-message.ts"
import { readSteal } from "../../../../src/domain/relay/port-locks.ts"
import { fakeChannel } from "../../../support/fake-channel.ts"

const steal = (port: number): ClientMessage => ({
  _tag: "TcpSteal",
  value: { _tag: "PortSubscribe", value: { _tag: "All", value: port } }
})
const filtered = (port: number): ClientMessage => ({
  _tag: "TcpSteal",
  value: { _tag: "PortSubscribe", value: { _tag: "FilteredHttp", port, filter: "user: ann" } }
})
const unsteal = (port: number): ClientMessage => ({ _tag: "TcpSteal", value: { _tag: "PortUnsubscribe", value: port } })
const mirror: ClientMessage = { _tag: "Tcp", value: { _tag: "PortSubscribe", value: 80 } }
const has = (port: number): Uint8Array =>
  daemonMessage.encode({ _tag: "TcpSteal", value: { _tag: "SubscribeResult", value: { _tag: "Ok", value: port } } })
const refused = "SubscribeResult Err PortAlreadyStolen"

/** Connections of several sessions to agents of one cluster. */
const start = () => {
  const table = makeAgentLockTable()
  const watch = { rounds: 0 }
  const unconfirmed: Array<readonly [port: number, since: number]> = []
  const connect = (
    session: string,
    policy: AgentUser["policy"] = "abort",
    agent = "agent-1",
    opened = true,
    link = 1,
    answers = true
  ) => {
    const agentEnd = fakeChannel()
    const answering = {
      ...agentEnd,
      send: (bytes: Uint8Array) => {
        agentEnd.send(bytes)
        const steals = readSteal(bytes)
        if (answers && steals?.claim !== undefined) agentEnd.receive(has(steals.port))
      }
    }
    const channel = table.guard(
      agent,
      answering,
      { session, link, policy },
      { rounds: () => watch.rounds, unconfirmed: (...port) => void unconfirmed.push(port) }
    )
    const heard: Array<string> = []
    const open = (): void =>
      channel.open({
        message: (bytes) => {
          const decoded = daemonMessage.decode(bytes)
          if (decoded._tag !== "Decoded") return void heard.push(decoded._tag)
          const { value: message } = decoded
          if (
            message._tag === "TcpSteal" &&
            message.value._tag === "SubscribeResult" &&
            message.value.value._tag === "Err"
          ) {
            heard.push(`SubscribeResult Err ${message.value.value.error._tag}`)
          } else if (
            message._tag === "TcpSteal" &&
            message.value._tag === "SubscribeResult" &&
            message.value.value._tag === "Ok"
          ) {
            if (!answers) heard.push(`SubscribeResult Ok ${message.value.value.value}`)
          } else if (message._tag === "Close") heard.push(`Close ${message.value}`)
          else if (message._tag === "LogMessage") heard.push(`${message.value.level._tag} ${message.value.message}`)
          else heard.push(message._tag)
        },
        ended: (reason) => heard.push(`ended ${reason}`),
        drained: () => {},
        ignored: () => {}
      })
    if (opened) open()
    return {
      heard,
      agentEnd,
      channel,
      open,
      say: (message: ClientMessage) => channel.send(clientMessage.encode(message)),
      asked: () =>
        agentEnd.sent.flatMap((bytes) => {
          const decoded = clientMessage.decode(bytes)
          return decoded._tag === "Decoded" && decoded.value._tag === "TcpSteal" ? [decoded.value.value._tag] : []
        })
    }
  }
  return { connect, watch, unconfirmed }
}

describe("the ports of an agent that sessions share", () => {
  it("are refused to a second session without asking the agent; other ports and agents and mirroring are free", () => {
    const { connect } = start()
    const [one, two, elsewhere] = [connect("s1"), connect("s2"), connect("s2", "abort", "agent-2")]
    one.say(steal(80))
    two.say(steal(80))
    two.say(filtered(80))
    expect([two.asked(), two.heard]).toEqual([[], [refused, refused]])
    two.say(steal(81))
    two.say(mirror)
    elsewhere.say(steal(80))
    expect(two.agentEnd.sent).toHaveLength(2)
    expect([two.heard.length, elsewhere.asked(), elsewhere.heard, one.heard]).toEqual([2, ["PortSubscribe"], [], []])
  })

  it("are asked for one after the other, as an agent answers its clients in no order", () => {
    const { connect } = start()
    const silent = (link: number) => connect("s1", "abort", "agent-1", true, link, false)
    const [one, two, three] = [silent(1), silent(2), silent(3)]
    one.say(steal(80))
    two.say(steal(80))
    three.say(steal(80))
    two.say(steal(81))
    expect([one.asked(), two.asked(), three.asked()]).toEqual([["PortSubscribe"], ["PortSubscribe"], []])
    one.agentEnd.receive(has(80))
    expect([two.asked().length, three.asked().length]).toEqual([2, 0])
    // One that is gone holds up nobody.
    two.channel.close()
    expect(three.asked()).toEqual(["PortSubscribe"])
  })

  it("are reported where the agent answers a ping before it confirms them", () => {
    const { connect, unconfirmed, watch } = start()
    const one = connect("s1", "abort", "agent-1", true, 1, false)
    const pong = (): void => one.agentEnd.receive(daemonMessage.encode({ _tag: "Pong" }))
    pong()
    one.say(steal(80))
    watch.rounds = 3
    one.say(steal(81))
    pong()
    one.agentEnd.receive(has(80))
    pong()
    one.agentEnd.receive(has(81))
    pong()
    expect(unconfirmed).toEqual([
      [80, 0],
      [81, 3]
    ])
  })

  it("are asked for again after an agent has refused them by Close", () => {
    const { connect } = start()
    const one = connect("s1", "abort", "agent-1", true, 1, false)
    one.say(steal(80))
    one.agentEnd.receive(daemonMessage.encode({ _tag: "Close", value: "no target" }))
    one.say(steal(80))
    expect(one.asked()).toEqual(["PortSubscribe", "PortSubscribe"])
  })

  it("are not asked for any more where the wish is out of date when its turn comes", () => {
    const { connect } = start()
    const silent = (link: number) => connect("s1", "abort", "agent-1", true, link, false)
    const [one, two] = [silent(1), silent(2)]
    one.say(steal(80))
    two.say(steal(80))
    two.say(unsteal(80))
    one.agentEnd.receive(has(80))
    expect([two.asked(), two.heard]).toEqual([["PortUnsubscribe"], ["SubscribeResult Ok 80"]])
  })

  it("are answered in the agent's place where a later link of the session has them", () => {
    const { connect } = start()
    const [dead, alive] = [
      connect("s1", "abort", "agent-1", true, 1, false),
      connect("s1", "abort", "agent-1", true, 2)
    ]
    alive.say(steal(80))
    dead.say(steal(80))
    expect([dead.asked(), dead.heard]).toEqual([[], ["SubscribeResult Ok 80"]])
  })

  it("are shared by filters", () => {
    const { connect } = start()
    const [one, two] = [connect("s1"), connect("s2")]
    one.say(filtered(80))
    two.say(filtered(80))
    expect([one.heard, two.heard]).toEqual([[], []])
    two.say(steal(80))
    expect(two.heard).toEqual([refused])
    // Its subscription is given up: its router has forgotten the port.
    expect(two.asked()).toEqual(["PortSubscribe", "PortUnsubscribe"])
  })

  it.each([
    ["unsubscribes", (one: ReturnType<ReturnType<typeof start>["connect"]>) => one.say(unsteal(80))],
    ["closes", (one) => one.channel.close()],
    ["loses the agent", (one) => one.agentEnd.end("reset")]
  ] as ReadonlyArray<readonly [string, (one: ReturnType<ReturnType<typeof start>["connect"]>) => void]>)(
    "are free again when the holder %s",
    (_what, leave) => {
      const { connect } = start()
      const [one, two] = [connect("s1"), connect("s2")]
      one.say(steal(80))
      leave(one)
      two.say(steal(80))
      expect([two.asked(), two.heard]).toEqual([["PortSubscribe"], []])
    }
  )

  it("with override are taken over, and the session that had them is ended with the reason", () => {
    const { connect } = start()
    const [one, two] = [connect("s1"), connect("s2", "override")]
    one.say(steal(80))
    two.say(steal(80))
    expect([two.asked(), two.heard]).toEqual([["PortSubscribe"], []])
    expect(one.heard).toEqual(["Close another session has taken port 80 (on_concurrent_steal=override)"])
  })

  it("with continue are taken over, and who had them is told", () => {
    const { connect } = start()
    const [one, two] = [connect("s1"), connect("s2", "continue")]
    one.say(filtered(80))
    two.say(steal(80))
    expect([two.asked(), two.heard]).toEqual([["PortSubscribe"], []])
    expect(one.heard).toEqual([
      "Warn another session has taken port 80 (on_concurrent_steal=continue); this session gets nothing from it " +
        "any more"
    ])
  })

  it("refused before anybody listens are answered as soon as somebody does", () => {
    const { connect } = start()
    connect("s1").say(steal(80))
    const two = connect("s2", "abort", "agent-1", false)
    two.say(steal(80))
    two.open()
    expect(two.heard).toEqual([refused])
  })
})
