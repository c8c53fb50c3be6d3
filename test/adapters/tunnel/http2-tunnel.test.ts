import { once } from "node:events"
import { createServer, connect as connectTcp, type Socket } from "node:net"
import type { Duplex } from "node:stream"
import { text } from "node:stream/consumers"
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { CellTunnel, DialOptions, Tunnel } from "../../../src/ports/tunnel.ts"
import { listenLocally } from "../../support/listen-locally.ts"
import { startCell, type TestCell } from "../../support/tunnels.ts"
import { untilTrue } from "../../support/until-true.ts"

let cell: TestCell
beforeAll(async () => {
  cell = await startCell()
})
afterAll(() => cell.close())

/** Both ends of a new tunnel. */
const both = async (
  options: Partial<DialOptions> = {}
): Promise<{ readonly here: CellTunnel; readonly there: Tunnel }> => {
  const at = cell.tunnels.length
  const there = await cell.dial(options)
  return { here: await cell.tunnel(at), there }
}

const lost = (lane: Duplex): Promise<string> =>
  new Promise((resolve) => {
    lane.once("error", ({ message }) => resolve(message)).once("close", () => resolve("no error"))
    lane.resume()
  })

describe("a tunnel", () => {
  it("carries lanes side by side, whole and in both directions, and each half may end first", async () => {
    const { here } = await both({
      // An answer that begins when the question has ended needs both halves.
      serve: (lane) => void text(lane).then((asked) => lane.end(asked.toUpperCase()))
    })
    const asked = Array.from({ length: 20 }, (_, at) => `lane ${at} `.repeat(20_000))
    const answers = await Promise.all(
      asked.map((question) => {
        const lane = here.openLane()
        lane.end(question)
        return text(lane)
      })
    )
    expect(answers).toEqual(asked.map((question) => question.toUpperCase()))
    await untilTrue("no lane is left", () => here.lanes() === 0)
  })

  it("has lines of a control lane, and delivers first those that came before they were listened for", async () => {
    const { here, there } = await both()
    const [atCell, atOutpost] = [new Array<string>(), new Array<string>()]
    there.send("hello")
    const long = "ü".repeat(300_000)
    there.send(long)
    here.send("welcome")
    await untilTrue("they came", () => here.received() > 500_000 || here.received() > 262_144)
    here.listen((line) => atCell.push(line))
    there.listen((line) => atOutpost.push(line))
    there.send("")
    here.send("answer")
    await untilTrue("all lines", () => atCell.length === 3 && atOutpost.length === 2)
    expect([atCell, atOutpost]).toEqual([
      ["hello", long, ""],
      ["welcome", "answer"]
    ])
  })

  it("has a binding that both of its ends know and no other tunnel has", async () => {
    const [one, other] = [await both(), await both()]
    expect(one.here.binding).toMatch(/^[0-9a-f]{64}$/u)
    expect(one.there.binding).toBe(one.here.binding)
    expect(other.there.binding).not.toBe(one.here.binding)
  })

  it("counts what comes on all lanes", async () => {
    const { here, there } = await both()
    const before = [here.received(), there.received()]
    const lane = here.openLane()
    lane.write(Buffer.alloc(10_000))
    await once(lane, "data")
    const after = [here.received(), there.received()]
    after.forEach((count, at) => expect(count).toBeGreaterThan((before[at] ?? 0) + 1_000))
  })

  it.each([["the cell"], ["the outpost"]])(
    "that %s destroys ends on both sides at once, with the reason",
    async (who) => {
      const served = new Array<Duplex>()
      const { here, there } = await both({ serve: (lane) => void served.push(lane) })
      const lane = here.openLane()
      await untilTrue("the lane is there", () => served.length === 1)
      const failures = Promise.all([lost(lane), ...served.map(lost)])
      const [near, far] = who === "the cell" ? [here, there] : [there, here]
      near.destroy("as the test wants")
      near.destroy("and for no second reason")
      expect(await Effect.runPromise(near.ended)).toBe("as the test wants")
      expect(await Effect.runPromise(far.ended)).toBe("as the test wants")
      const ended = "the tunnel has ended: as the test wants"
      expect(await failures).toEqual([ended, ended])
      for (const tunnel of [here, there]) tunnel.send("to nowhere")
      expect(await lost(here.openLane())).toBe(ended)
      expect(here.lanes()).toBe(0)
    }
  )

  it.each([
    [
      "because of a line that does not end",
      (tunnel: Tunnel) => tunnel.send("x".repeat(1024 * 1024 + 1)),
      /more than 1048576/
    ],
    [
      "because nothing is read",
      (tunnel: Tunnel) => {
        for (let sent = 0; sent < 60; sent++) tunnel.send("x".repeat(100_000))
      },
      /does not read the control lane/
    ]
  ])("ends %s", async (what, send, reason) => {
    const { here, there } = await both()
    if (what.includes("line")) here.listen(() => undefined)
    send(there)
    expect(await Effect.runPromise(there.ended)).toMatch(reason)
    expect(await Effect.runPromise(here.ended)).toMatch(reason)
  })

  it("says why it ends in the middle of much that comes, and while a line is read", async () => {
    for (let round = 0; round < 10; round++) {
      const { here, there } = await both({ serve: (lane) => void lane.write(Buffer.alloc(4_000_000)) })
      here.listen((line) => here.destroy(`${line} is no message`))
      await Promise.all([0, 1, 2].map(() => once(here.openLane(), "data")))
      there.send("x")
      expect(await Effect.runPromise(there.ended)).toBe("x is no message")
    }
  })

  it("shows a lane that the other side gives up as broken, not as finished", async () => {
    let served: Duplex | undefined
    const { here } = await both({ serve: (lane) => void (served = lane) })
    for (const kill of [(lane: Duplex) => lane.destroy(), (lane: Duplex) => lane.destroy(new Error("x"))]) {
      const lane = here.openLane()
      await untilTrue("the lane is there", () => served !== undefined)
      const failure = lost(lane)
      lane.write("half of an answer")
      if (served !== undefined) kill(served)
      served = undefined
      expect(await failure).not.toBe("no error")
      const next = here.openLane()
      await untilTrue("the lane is there", () => served !== undefined)
      const failed = served === undefined ? undefined : lost(served)
      kill(next)
      served = undefined
      expect(await failed).not.toBe("no error")
    }
  })

  it("goes on when one lane is not read, and the lane holds no more than its window", async () => {
    let written = 0
    const { here } = await both({
      serve: (lane) => {
        lane.once("data", (first: Buffer) => {
          if (first.toString() !== "flood") return void lane.write(first)
          const more = (): void => {
            written += 65_536
            if (lane.write(Buffer.alloc(65_536))) more()
          }
          lane.on("drain", more)
          more()
        })
      }
    })
    const stalled = Array.from({ length: 30 }, () => here.openLane())
    for (const lane of stalled) lane.write("flood")
    await untilTrue("they are full", () => written > 30 * 200_000)
    const live = here.openLane()
    live.write("alive")
    const [answer] = await once(live, "data")
    expect(String(answer)).toBe("alive")
    expect(written).toBeLessThan(30 * 700_000)
    here.destroy("the end")
  })

  it("stands after thousands of lanes were given up, as watches are that begin again", async () => {
    let served = 0
    const { here } = await both({
      serve: (lane) => {
        served++
        lane.write("begun")
      }
    })
    for (let round = 0; round < 30; round++) {
      const lanes = Array.from({ length: 100 }, () => here.openLane())
      await Promise.all(lanes.map((lane) => once(lane, "data")))
      for (const lane of lanes) lane.destroy()
    }
    expect(served).toBe(3_000)
    const lane = here.openLane()
    expect(String((await once(lane, "data"))[0])).toBe("begun")
  })

  it("refuses lanes above its bound at once, and has room again when lanes have ended", async () => {
    const { here } = await both()
    const lanes = Array.from({ length: 900 }, () => here.openLane())
    for (const lane of lanes) lane.write("x")
    expect(await lost(here.openLane())).toMatch(/^900 requests and sessions go to cluster-b already/)
    await Promise.all(lanes.map((lane) => once(lane, "data")))
    lanes[0]?.destroy()
    await untilTrue("one has gone", () => here.lanes() === 899)
    const lane = here.openLane()
    lane.write("again")
    expect(String((await once(lane, "data"))[0])).toBe("again")
    here.destroy("the end")
  })

  it("that is drained opens no lane, and ends with its last one", async () => {
    const { here, there } = await both()
    const lane = here.openLane()
    lane.write("x")
    await once(lane, "data")
    here.drain()
    expect(await lost(here.openLane())).toMatch(/is being replaced/)
    lane.write("y")
    expect(String((await once(lane, "data"))[0])).toBe("y")
    lane.end()
    lane.resume()
    expect(await Effect.runPromise(there.ended)).toBe("another tunnel has taken its place")
    const { here: idle } = await both()
    idle.drain()
    expect(await Effect.runPromise(idle.ended)).toBe("another tunnel has taken its place")
  })

  it("ends with the scope in which it was dialled", async () => {
    const scope = Effect.runSync(Scope.make())
    const at = cell.tunnels.length
    await cell.dial({}, scope)
    const here = await cell.tunnel(at)
    await Effect.runPromise(Scope.close(scope, Exit.void))
    expect(await Effect.runPromise(here.ended)).toBe("the member's operator has ended the tunnel")
  })
})

describe("a connection that breaks under a tunnel", () => {
  const sockets = new Array<Socket>()
  const middle = createServer((near) => {
    const far = connectTcp(Number(cell.address.split(":")[1]), "127.0.0.1")
    for (const one of [near, far]) sockets.push(one.on("error", () => undefined))
    near.pipe(far).pipe(near)
  })
  let address = ""
  beforeAll(async () => {
    address = `127.0.0.1:${await listenLocally(middle)}`
  })
  afterAll(() => {
    for (const socket of sockets) socket.destroy()
    middle.close()
  })

  it.each([
    ["closed", (socket: Socket) => socket.destroy()],
    ["reset", (socket: Socket) => socket.resetAndDestroy()],
    ["filled with other bytes", (socket: Socket) => void socket.write("no TLS at all")]
  ])("%s: both sides are told, and lanes fail", async (_what, harm) => {
    sockets.length = 0
    const { here, there } = await both({ address })
    const lane = here.openLane()
    lane.write("x")
    await once(lane, "data")
    const failure = lost(lane)
    for (const socket of sockets) harm(socket)
    const reasons = await Promise.all([here, there].map(({ ended }) => Effect.runPromise(ended)))
    for (const reason of reasons) expect(reason).toMatch(/^the connection (broke: .+|was closed.*)/)
    expect(await failure).toMatch(/^the tunnel has ended: the connection /)
  })

  it("swallowed by a middle that says nothing: destroying it needs nobody at the other end", async () => {
    sockets.length = 0
    const { here } = await both({ address })
    for (const socket of sockets) socket.unpipe().pause()
    const lane = here.openLane()
    lane.write(Buffer.alloc(8_000_000))
    const failure = lost(lane)
    here.destroy("silent for 90 s")
    expect(await Effect.runPromise(here.ended)).toBe("silent for 90 s")
    expect(await failure).toBe("the tunnel has ended: silent for 90 s")
    // Its socket goes too, though its last bytes were never taken.
    const [, far] = sockets
    await untilTrue("the socket is closed", () => far?.destroyed === true || (far?.write("x"), false))
  })
})
