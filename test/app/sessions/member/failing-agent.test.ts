import { describe, expect, it } from "vitest"
import { failingAgent } from "../../../../src/app/sessions/member/failing-agent.ts"
import { type DaemonMessage, daemonMessage } from "../../../../src/domain/protocol/daemon-message.ts"
import type { FrameHandlers } from "../../../../src/ports/frame-channel.ts"

/** A connection, and all that its client and the watch over the agent hear. */
const connection = () => {
  const seen: Array<string> = []
  let agent: FrameHandlers | undefined
  const channel = failingAgent(
    {
      send: () => {},
      queuedBytes: () => 0,
      pause: () => {},
      resume: () => {},
      close: () => void seen.push("closed"),
      open: (handlers) => {
        agent = handlers
      }
    },
    (why) => void seen.push(`failed: ${why}`)
  )
  channel.open({
    message: (bytes) => void seen.push(`message ${bytes.length}`),
    ended: (reason) => void seen.push(`ended: ${reason}`),
    drained: () => {},
    ignored: () => {}
  })
  return { seen, says: (message: DaemonMessage) => agent?.message(daemonMessage.encode(message)) }
}

describe("a client's connection to an agent", () => {
  it("is lost when a part of the agent fails, and the client is not told to end its session", () => {
    const { says, seen } = connection()
    const value = "Background task `TcpStealerTask` failed: `port redirector failed: iptables: Bad rule`"
    says({ _tag: "Close", value })
    says({ _tag: "Pong" })
    expect(seen).toEqual(["closed", `failed: ${value}`, `ended: the agent failed: ${value}`])
  })

  it("passes on what the agent says to this client alone", () => {
    const { says, seen } = connection()
    says({ _tag: "Close", value: "Invalid HTTP filter: unclosed group" })
    expect(seen).toEqual([expect.stringMatching(/^message /u)])
  })
})
