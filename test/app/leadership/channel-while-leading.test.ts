import { describe, expect, it } from "vitest"
import { LeaseTerm } from "../../../src/app/kernel/term.ts"
import { channelWhileLeading } from "../../../src/app/leadership/channel-while-leading.ts"
import { usualLeaseTimes } from "../../../src/domain/leadership/lease-times.ts"
import { fakeChannel } from "../../support/fake-channel.ts"

const open = () => {
  const time = { now: 0 }
  const term = new LeaseTerm(0, 0, usualLeaseTimes, () => time.now)
  const socket = fakeChannel()
  const heard: Array<number> = []
  let ended = 0
  const channel = channelWhileLeading(term, socket)
  channel.open({
    message: (bytes) => heard.push(bytes[0] ?? -1),
    ended: () => ended++,
    drained: () => {},
    ignored: () => {}
  })
  return { time, term, socket, heard, channel, ended: () => ended }
}

describe("a client's channel while its operator leads", () => {
  it("passes what comes as long as nobody else can have been elected", () => {
    const { heard, socket, time } = open()
    socket.receive(Uint8Array.of(1))
    time.now = 14_999
    socket.receive(Uint8Array.of(2))
    expect(heard).toEqual([1, 2])
  })

  it("keeps back what comes later, and passes it in order once the lease is renewed", () => {
    const { heard, socket, term, time } = open()
    time.now = 15_000
    socket.receive(Uint8Array.of(1))
    expect([heard, socket.isPaused()]).toEqual([[], true])
    term.renewed(15_000)
    socket.receive(Uint8Array.of(2))
    expect([heard, socket.isPaused()]).toEqual([[1, 2], false])
  })

  it("drops it when the term is over", () => {
    const { heard, socket, term, time } = open()
    time.now = 15_000
    socket.receive(Uint8Array.of(1))
    term.end()
    socket.receive(Uint8Array.of(2))
    expect(heard).toEqual([])
  })

  it("leaves the router's brake on", () => {
    const { channel, socket, term, time } = open()
    time.now = 15_000
    channel.pause()
    term.renewed(15_000)
    expect(socket.isPaused()).toBe(true)
    channel.resume()
    expect(socket.isPaused()).toBe(false)
  })

  it("tells of the end in any case", () => {
    const { ended, socket, time } = open()
    time.now = 20_000
    socket.end("gone")
    expect(ended()).toBe(1)
  })
})
