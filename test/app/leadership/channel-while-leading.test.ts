import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { LeaseTerm } from "../../../src/app/kernel/term.ts"
import { channelWhileLeading } from "../../../src/app/leadership/channel-while-leading.ts"
import { defaultLeaseTimes } from "../../../src/domain/leadership/lease-times.ts"
import { fakeChannel } from "../../support/fake-channel.ts"

const newTerm = () => {
  const time = { now: 0 }
  return { time, term: new LeaseTerm(0, 0, defaultLeaseTimes, () => time.now) }
}

/** Opens a channel; `hear` is called for each message that it passes. */
const open = (hear: (message: number) => void = () => {}, { term, time } = newTerm()) => {
  const socket = fakeChannel()
  const heard: Array<number> = []
  let ended = 0
  const channel = channelWhileLeading(term, socket)
  channel.open({
    message: (bytes) => {
      const [message = -1] = bytes
      heard.push(message)
      hear(message)
    },
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

  it("passes nothing after the router has closed it, be it kept back or just arriving", () => {
    const { channel, heard, socket, term, time } = open((message) => {
      if (message === 1) channel.close()
    })
    time.now = 15_000
    for (const message of [1, 2]) socket.receive(Uint8Array.of(message))
    term.renewed(15_000)
    socket.receive(Uint8Array.of(3))
    term.renewed(15_000)
    expect([heard, socket.isClosed()]).toEqual([[1], true])
  })

  it("passes nothing of a channel that was closed for another one in the same renewal", () => {
    const younger = open(() => older.channel.close())
    const older = open(undefined, younger)
    younger.time.now = 15_000
    for (const { socket } of [younger, older]) socket.receive(Uint8Array.of(1))
    younger.term.renewed(15_000)
    expect([younger.heard, older.heard]).toEqual([[1], []])
  })

  it("passes each message once, in order, and none after an end, whatever happens when", () => {
    const event = fc.oneof(
      { weight: 6, arbitrary: fc.constant("message" as const) },
      { weight: 2, arbitrary: fc.constantFrom("uncertain" as const, "renewed" as const) },
      { weight: 1, arbitrary: fc.constantFrom("pause", "resume", "close", "gone", "over") }
    )
    const nested = fc.array(fc.constantFrom("message", "pause", "resume", "close", "gone", "over"), { maxLength: 2 })
    fc.assert(
      fc.property(fc.array(event, { maxLength: 40 }), fc.array(nested, { maxLength: 20 }), (events, reactions) => {
        let sent = 0
        let isEnded = false
        const late: Array<number> = []
        const { channel, heard, socket, term, time } = open((message) => {
          if (isEnded) late.push(message)
          for (const what of reactions.shift() ?? []) happen(what)
        })
        const ends: Readonly<Record<string, () => void>> = {
          close: channel.close,
          gone: () => socket.end("gone"),
          over: () => term.end()
        }
        const happen = (what: string): void => {
          if (what === "message") return socket.receive(Uint8Array.of(sent++))
          if (what === "uncertain") time.now += 15_000
          if (what === "renewed") term.renewed(time.now)
          if (what === "pause") channel.pause()
          if (what === "resume") channel.resume()
          isEnded ||= ends[what] !== undefined
          ends[what]?.()
        }
        events.forEach(happen)
        term.renewed(time.now)
        expect(late).toEqual([])
        expect(heard).toEqual(heard.map((_, index) => index))
        if (!isEnded) expect(heard).toHaveLength(sent)
      })
    )
  })
})
