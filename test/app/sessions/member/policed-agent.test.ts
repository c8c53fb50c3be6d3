import { describe, expect, it } from "vitest"
import { policedAgent } from "../../../../src/app/sessions/member/policed-agent.ts"
import { type ClientMessage, clientMessage } from "../../../../src/domain/protocol/client-message.ts"
import { type DaemonMessage, daemonMessage } from "../../../../src/domain/protocol/daemon-message.ts"
import { policy } from "../../../domain/policies/policies.ts"
import { fakeChannel } from "../../../support/fake-channel.ts"

const steal = (port: number): ClientMessage => ({
  _tag: "TcpSteal",
  value: { _tag: "PortSubscribe", value: { _tag: "All", value: port } }
})
const filtered = (port: number): ClientMessage => ({
  _tag: "TcpSteal",
  value: { _tag: "PortSubscribe", value: { _tag: "FilteredHttp", port, filter: "x-user: ann" } }
})
const mirror: ClientMessage = { _tag: "Tcp", value: { _tag: "PortSubscribe", value: 80 } }

const start = (spec: object) => {
  const agent = fakeChannel()
  const channel = policedAgent(agent, [policy(spec, "guard")])
  const heard: Array<DaemonMessage> = []
  const open = (): void =>
    channel.open({
      message: (bytes) => {
        const decoded = daemonMessage.decode(bytes)
        if (decoded._tag === "Decoded") heard.push(decoded.value)
      },
      ended: () => {},
      drained: () => {},
      ignored: () => {}
    })
  const say = (message: ClientMessage): void => channel.send(clientMessage.encode(message))
  const sent = () =>
    agent.sent.map((bytes) => {
      const decoded = clientMessage.decode(bytes)
      return decoded._tag === "Decoded" ? decoded.value : undefined
    })
  return { agent, channel, heard, open, say, sent }
}

/** The answer in the place of an agent. */
const refusal = (channel: "Tcp" | "TcpSteal", reason: string) => ({
  _tag: channel,
  value: {
    _tag: "SubscribeResult",
    value: { _tag: "Err", error: expect.objectContaining({ _tag: "ForbiddenWithReason", policyName: "guard", reason }) }
  }
})

describe("an agent in a pod with policies", () => {
  it("does not hear what they forbid, which is answered in its place", () => {
    const { agent, heard, open, say, sent } = start({ block: ["steal", "mirror"] })
    say(steal(80))
    expect(heard, "the router does not listen yet").toEqual([])
    open()
    say(mirror)
    say({ _tag: "Ping" })
    expect(sent()).toEqual([{ _tag: "Ping" }])
    agent.receive(daemonMessage.encode({ _tag: "Pong" }))
    expect(heard).toEqual([
      refusal("TcpSteal", "it blocks stealing"),
      refusal("Tcp", "it blocks mirroring"),
      { _tag: "Pong" }
    ])
  })

  it("gives up the subscription that a forbidden one would have replaced", () => {
    const { heard, open, say, sent } = start({ block: ["steal-without-filter"] })
    open()
    say(steal(81))
    say(filtered(80))
    say(steal(80))
    say(steal(80))
    expect(sent()).toEqual([filtered(80), { _tag: "TcpSteal", value: { _tag: "PortUnsubscribe", value: 80 } }])
    expect(heard).toHaveLength(3)
  })

  it("has no guard where they say nothing about traffic", () => {
    const { agent, channel } = start({ targetPath: "deploy/web" })
    expect(channel).toBe(agent)
  })
})
