/** Connections over a network with cuts, silence, slow readers and dead processes. */

import fc from "fast-check"
import { beforeEach, describe, expect, it } from "vitest"
import { Kernel } from "../../../../lab/simulation/kernel/kernel.ts"
import { SimProcess } from "../../../../lab/simulation/kernel/sim-process.ts"
import { Network } from "../../../../lab/simulation/world/network.ts"
import { makePipe } from "../../../../lab/simulation/world/pipe.ts"
import type { FrameChannel } from "../../../../src/ports/frame-channel.ts"

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
const bytes = (value: string): Uint8Array => new TextEncoder().encode(value)

const make = (seed = "1") => {
  const kernel = new Kernel(seed, 0)
  const network = new Network(kernel)
  const [left, right] = ["left", "right"].map((name) => new SimProcess(kernel, name, () => {})) as [
    SimProcess,
    SimProcess
  ]
  const connect = (pulse?: number) =>
    makePipe(kernel, network, {
      what: "test",
      left: { place: "x", process: left },
      right: { place: "y", process: right },
      ...(pulse === undefined ? {} : { pulse })
    })
  return { kernel, network, left, right, connect }
}

const listen = (channel: FrameChannel) => {
  const heard: Array<string> = []
  let ended: string | undefined
  let drained = 0
  channel.open({
    message: (message) => heard.push(text(message)),
    ended: (reason) => {
      ended = reason
    },
    drained: () => {
      drained++
    },
    ignored: () => {}
  })
  return { heard, ended: () => ended, drained: () => drained }
}

let world = make()
beforeEach(() => {
  world = make()
})

describe("a pipe", () => {
  it("delivers in order whatever the delays, and waits while the route is cut", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.nat(30), fc.constantFrom("cut", "heal")), { maxLength: 40 }),
        fc.string(),
        (deeds, seed) => {
          const { connect, kernel, network } = make(seed)
          const [a, b] = connect()
          const { heard } = listen(b)
          let sent = 0
          for (const deed of deeds) {
            if (deed === "cut") network.cut("x", "y")
            else if (deed === "heal") network.heal("x", "y")
            else {
              a.send(bytes(String(sent++)))
              kernel.run(kernel.now + Number(deed))
            }
          }
          network.healAll()
          kernel.run(kernel.now + 1_000)
          expect(heard).toEqual(Array.from({ length: sent }, (_, i) => String(i)))
        }
      )
    )
  })

  it("lets nothing through the cut direction only", () => {
    const { connect, kernel, network } = world
    const [a, b] = connect()
    const [atA, atB] = [listen(a), listen(b)]
    network.cut("x", "y")
    a.send(bytes("there"))
    b.send(bytes("back"))
    kernel.run(60_000)
    expect([atA.heard, atB.heard]).toEqual([["back"], []])
    network.heal("x", "y")
    kernel.run(61_000)
    expect(atB.heard).toEqual(["there"])
  })

  it("says goodbye after what was sent, and never after its own close", () => {
    const { connect, kernel } = world
    const [a, b] = connect()
    const [atA, atB] = [listen(a), listen(b)]
    a.send(bytes("last"))
    a.close()
    a.send(bytes("too late"))
    kernel.run(1_000)
    expect(atB.heard).toEqual(["last"])
    expect(atB.ended()).toBe("closed by the other side")
    expect(atA.ended()).toBeUndefined()
  })

  it(
    "is reset when a process dies or the network resets it; of a silent one the right end learns by keep-alive, " +
      "after minutes",
    () => {
      for (const how of ["dies", "reset", "silent"] as const) {
        const { connect, kernel, network, right } = make()
        const [a, b] = connect()
        const [atA, atB] = [listen(a), listen(b)]
        if (how === "dies") right.kill()
        for (const connection of how === "dies" ? [] : network.between("y", "x")) {
          if (how === "reset") connection.reset()
          else connection.goSilent()
        }
        a.send(bytes("?"))
        kernel.run(140_000)
        expect(atA.ended(), how).toBe(how === "silent" ? undefined : "connection reset")
        expect(atB.ended(), how).toBe(how === "reset" ? "connection reset" : undefined)
        kernel.run(200_000)
        expect(atA.ended(), how).toBe(how === "silent" ? undefined : "connection reset")
        expect(atB.ended(), how).toBe(
          { dies: undefined, reset: "connection reset", silent: "connection timed out" }[how]
        )
        expect(atB.heard).toEqual([])
      }
    }
  )

  it("with a pulse ends after two unanswered pings: silent, cut, or with a paused process", () => {
    for (const how of ["well", "silent", "cut", "paused"] as const) {
      const { connect, kernel, network, right } = make()
      const [a] = connect(30_000)
      const { ended } = listen(a)
      kernel.run(10_000)
      if (how === "silent") for (const connection of network.connections) connection.goSilent()
      if (how === "cut") network.cut("y", "x")
      if (how === "paused") right.pause()
      kernel.run(89_000)
      expect(ended(), how).toBeUndefined()
      kernel.run(91_000)
      expect(ended(), how).toBe(how === "well" ? undefined : "two pings were not answered")
    }
  })

  it("holds what a paused receiver does not take, and tells the sender when it was taken", () => {
    const { connect, kernel } = world
    const [a, b] = connect()
    const atA = listen(a)
    b.pause()
    const atB = listen(b)
    const big = new Uint8Array(200 * 1024)
    for (let i = 0; i < 3; i++) a.send(big)
    kernel.run(1_000)
    expect(a.queuedBytes()).toBe(600 * 1024 - 256 * 1024)
    expect(atB.heard).toEqual([])
    b.resume()
    kernel.run(2_000)
    expect(atB.heard).toHaveLength(3)
    expect(a.queuedBytes()).toBe(0)
    expect(atA.drained()).toBe(1)
  })

  it("is slow on a slow link", () => {
    const { connect, kernel, network } = world
    const [a, b] = connect()
    const { heard } = listen(b)
    network.setBandwidth("x", "y", 10)
    a.send(new Uint8Array(100_000))
    kernel.run(9_000)
    expect(heard).toHaveLength(0)
    kernel.run(11_000)
    expect(heard).toHaveLength(1)
  })

  it("is forgotten by the network when both ends are over", () => {
    const { connect, kernel, network } = world
    const [a, b] = connect()
    listen(b)
    expect(network.connections).toHaveLength(1)
    a.close()
    kernel.run(1_000)
    expect(network.connections).toHaveLength(0)
  })
})
