/** Outgoing connections with dials and a clock that the test moves, so that order and limits are exact. */

import { describe, expect, it } from "vitest"
import type { After, AgentOutput } from "../../../../lab/agent/agent-output.ts"
import { AgentOutgoing, type OutgoingLimits } from "../../../../lab/agent/outgoing/agent-outgoing.ts"
import type { Dialled, Peer, PeerEvents } from "../../../../lab/agent/outgoing/peer.ts"
import type { DaemonMessage } from "../../../../src/domain/protocol/daemon-message.ts"
import type { SocketAddress } from "../../../../src/domain/protocol/network-messages.ts"

const limits: OutgoingLimits = { connectTimeoutMs: 5000, writeTimeoutMs: 30_000, bufferedBytes: 10 }
const address = (port: number): SocketAddress => ({ _tag: "Ip", value: { ip: "10.0.0.1", port } })

/** An outgoing side; the test completes its dials and moves its clock. */
const setUp = () => {
  const sent: Array<DaemonMessage> = []
  const logged: Array<string> = []
  const drained: Array<() => void> = []
  let keepsUp = true
  let holds = 0
  const output: AgentOutput = {
    send: (message) => {
      sent.push(message)
      return keepsUp
    },
    log: (_level, message) => logged.push(message),
    drained: (resume) => drained.push(resume),
    version: () => "1.29.0",
    hold: () => {
      holds++
      return () => holds--
    }
  }
  const timers = new Set<{ readonly run: () => void; readonly after: number }>()
  const after: After = (milliseconds, run) => {
    const timer = { run, after: milliseconds }
    timers.add(timer)
    return () => timers.delete(timer)
  }
  const dials: Array<{ readonly port: number; readonly result: (dialled: Dialled) => void; cancelled: boolean }> = []
  const outgoing = new AgentOutgoing(
    "TcpOutgoing",
    output,
    (to, result) => {
      const dial = { port: to._tag === "Ip" ? to.value.port : 0, result, cancelled: false }
      dials.push(dial)
      return { cancel: () => (dial.cancelled = true) }
    },
    { after, limits }
  )
  const peer = () => {
    const calls: Array<string> = []
    const pending: Array<() => void> = []
    let events: PeerEvents | undefined
    const made: Peer = {
      remoteAddress: address(1),
      localAddress: address(2),
      start: (given) => {
        events = given
      },
      write: (bytes, done) => {
        calls.push(`write ${bytes.length}`)
        pending.push(done)
      },
      end: () => calls.push("end"),
      close: () => calls.push("close"),
      destroy: (reason) => {
        calls.push("destroy")
        events?.close(reason)
      },
      pause: () => calls.push("pause"),
      resume: () => calls.push("resume")
    }
    return { made, calls, pending, events: () => events ?? expect.fail("not started") }
  }
  return {
    outgoing,
    sent,
    logged,
    dials,
    peer,
    holds: () => holds,
    slow: () => {
      keepsUp = false
    },
    drain: () => {
      keepsUp = true
      for (const resume of drained.splice(0)) resume()
    },
    /** Lets the timers of `milliseconds` run. */
    pass: (milliseconds: number) => {
      for (const timer of [...timers]) {
        if (timer.after > milliseconds) continue
        timers.delete(timer)
        timer.run()
      }
    },
    timers
  }
}

const connectV2 = (uid: bigint) => ({ _tag: "ConnectV2", value: { uid, remoteAddress: address(Number(uid)) } }) as const
const legacy = (port: number) => ({ _tag: "Connect", value: { remoteAddress: address(port) } }) as const
const write = (size: number) => ({ _tag: "Write", value: { connectionId: 0n, bytes: new Uint8Array(size) } }) as const

describe("connecting", () => {
  it("answers uids in the order of completion, with ids in the same order", () => {
    const { outgoing, dials, sent, peer } = setUp()
    outgoing.handle(connectV2(1n))
    outgoing.handle(connectV2(2n))
    dials[1]?.result({ _tag: "Open", peer: peer().made })
    dials[0]?.result({ _tag: "Open", peer: peer().made })
    expect(sent).toMatchObject([
      { value: { value: { uid: 2n, connect: { value: { connectionId: 0n } } } } },
      { value: { value: { uid: 1n, connect: { value: { connectionId: 1n } } } } }
    ])
  })

  it("makes legacy connects strictly one after the other", () => {
    const { outgoing, dials, sent, peer } = setUp()
    outgoing.handle(legacy(1))
    outgoing.handle(legacy(2))
    expect(dials.map(({ port }) => port)).toEqual([1])
    dials[0]?.result({ _tag: "Open", peer: peer().made })
    expect(dials.map(({ port }) => port)).toEqual([1, 2])
    expect(sent).toHaveLength(1)
  })

  it("gives up after the time-out, and takes no late success", () => {
    const { outgoing, dials, sent, peer, pass } = setUp()
    outgoing.handle(legacy(1))
    outgoing.handle(legacy(2))
    pass(5000)
    expect(dials[0]?.cancelled).toBe(true)
    expect(sent).toMatchObject([
      {
        value: {
          _tag: "Connect",
          value: { _tag: "Err", error: { value: { rawOsError: null, kind: { _tag: "TimedOut" } } } }
        }
      }
    ])
    const latePeer = peer()
    dials[0]?.result({ _tag: "Open", peer: latePeer.made })
    expect(latePeer.calls).toEqual(["destroy"])
    expect(sent).toHaveLength(1)
    expect(dials).toHaveLength(2)
  })

  it("is cancelled when the client leaves", () => {
    const { outgoing, dials, timers } = setUp()
    outgoing.handle(connectV2(1n))
    outgoing.handle(legacy(2))
    outgoing.close()
    expect(dials.map(({ cancelled }) => cancelled)).toEqual([true, true])
    expect(timers.size).toBe(0)
  })
})

describe("a connection", () => {
  const connected = () => {
    const world = setUp()
    const peer = world.peer()
    world.outgoing.handle(connectV2(1n))
    world.dials[0]?.result({ _tag: "Open", peer: peer.made })
    world.sent.length = 0
    return { ...world, peer }
  }

  it("says nothing more after the client has closed it", () => {
    const { outgoing, peer, sent } = connected()
    outgoing.handle({ _tag: "Close", value: { connectionId: 0n } })
    peer.events().data(new Uint8Array(1))
    peer.events().end()
    peer.events().close(undefined)
    expect(peer.calls).toEqual(["close"])
    expect(sent).toEqual([])
  })

  it("logs a failure before its Close", () => {
    const { peer, sent, logged } = connected()
    peer.events().close(Object.assign(new Error("reset"), { errno: -104 }))
    expect(logged).toEqual(["outgoing connection 0 failed: Connection reset by peer (os error 104)"])
    expect(sent).toEqual([{ _tag: "TcpOutgoing", value: { _tag: "Close", value: 0n } }])
  })

  it("pauses the peer while the client does not keep up", () => {
    const { peer, slow, drain } = connected()
    slow()
    peer.events().data(new Uint8Array(1))
    peer.events().data(new Uint8Array(1))
    expect(peer.calls).toEqual(["pause"])
    drain()
    expect(peer.calls).toEqual(["pause", "resume"])
  })

  it("stops reading the client while too much waits for the peer", () => {
    const { outgoing, peer, holds } = connected()
    outgoing.handle(write(10))
    expect(holds()).toBe(0)
    outgoing.handle(write(1))
    expect(holds()).toBe(1)
    peer.pending[0]?.()
    expect(holds()).toBe(0)
  })

  it("ends when the peer does not take data in time", () => {
    const { outgoing, logged, sent, pass, timers } = connected()
    outgoing.handle(write(3))
    pass(30_000)
    expect(logged).toEqual(["outgoing connection 0 failed: Connection timed out (os error 110)"])
    expect(sent).toHaveLength(1)
    expect(timers.size).toBe(0)
  })

  it("does not write after a half-close", () => {
    const { outgoing, peer, sent } = connected()
    outgoing.handle(write(0))
    outgoing.handle(write(3))
    peer.events().end()
    expect(peer.calls).toEqual(["end"])
    expect(sent).toEqual([])
  })
})
