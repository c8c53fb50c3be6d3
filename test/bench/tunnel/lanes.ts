/**
 * The load of the benchmark of tunnels: lanes whose first bytes say what the far end does. The programs in Go have the
 * same (others/measure).
 */

import { once } from "node:events"
import type { Duplex } from "node:stream"
import { setTimeout as pause } from "node:timers/promises"

/** `e`: sends back all that comes; `s`: takes so many KiB, and answers with one byte; `d`: sends so many KiB. */
type Mode = "e" | "s" | "d"
const headLength = 9
const kibibyte = 1024

const headOf = (mode: Mode, kib = 0, size = 0): Buffer => {
  const head = Buffer.alloc(headLength)
  head.write(mode)
  head.writeUInt32BE(kib, 1)
  head.writeUInt32BE(size, 5)
  return head
}

/** Writes so many bytes in messages of one size, as fast as they are taken; others get their turns. */
const send = (lane: Duplex, bytes: number, size: number): void => {
  const message = Buffer.alloc(size, "x")
  let left = bytes
  let turns = 0
  const go = (): void => {
    while (left > 0) {
      left -= size
      if (!lane.write(message)) return
      if (++turns % 64 === 0) return void setImmediate(go)
    }
  }
  lane.on("drain", go)
  go()
}

/** Takes so many bytes in all, and fails if more come, or if the lane ends before. */
const receive = (lane: Duplex, bytes: number): Promise<void> =>
  new Promise((resolve, reject) => {
    let left = bytes
    lane.on("data", (chunk: Buffer) => {
      left -= chunk.length
      if (left === 0) resolve()
      if (left < 0) reject(new Error("more came than was sent"))
    })
    lane.once("close", () => reject(new Error(`the lane ended ${left} bytes early`)))
  })

/** The far end of a lane. */
export const serve = (lane: Duplex): void => {
  lane.on("error", () => undefined)
  lane.once("data", (first: Buffer) => {
    const [bytes, size] = [first.readUInt32BE(1) * kibibyte, first.readUInt32BE(5)]
    const mode = String.fromCharCode(first[0] ?? 0)
    if (first.length > headLength) lane.unshift(first.subarray(headLength))
    if (mode === "e") lane.pipe(lane)
    if (mode === "d") send(lane, bytes, size)
    if (mode === "s")
      void receive(lane, bytes).then(
        () => lane.write("k"),
        () => lane.destroy()
      )
  })
}

export type Open = () => Promise<Duplex>

/** A command, as it comes in a line of JSON. `pause`: between two echoes, ms. */
export interface Order {
  readonly what: "check" | "up" | "down" | "echo" | "busy" | "stall"
  readonly kib?: number
  readonly size?: number
  readonly calls?: number
  readonly pause?: number
}

/** Latencies in µs, where the order measures them, and the time that it took. */
export interface Measured {
  readonly p50?: number
  readonly p99?: number
  readonly most?: number
  readonly seconds: number
}

const begin = async (open: Open, mode: Mode, { kib, size }: Order): Promise<Duplex> => {
  const lane = await open()
  lane.on("error", () => undefined)
  lane.write(headOf(mode, kib, size))
  return lane
}

const up = async (open: Open, order: Order): Promise<void> => {
  const { kib = 0, size = 1 } = order
  const lane = await begin(open, "s", order)
  const taken = receive(lane, 1)
  send(lane, kib * kibibyte, size)
  await taken
  lane.destroy()
}

const down = async (open: Open, order: Order): Promise<void> => {
  const lane = await begin(open, "d", order)
  await receive(lane, (order.kib ?? 0) * kibibyte)
  lane.destroy()
}

const quantiles = (all: ReadonlyArray<number>): Omit<Measured, "seconds"> => {
  const sorted = all.toSorted((one, other) => one - other)
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  return { p50: at(0.5), p99: at(0.99), most: at(1) }
}

/** Sends 64 bytes and waits for them, again and again. */
const echo = async (open: Open, rest: number, goesOn: () => boolean): Promise<Omit<Measured, "seconds">> => {
  const lane = await begin(open, "e", { what: "echo" })
  const message = Buffer.alloc(64, "a")
  const times: Array<number> = []
  let came = 0
  let arrived = (): void => undefined
  lane.on("data", ({ length }: Buffer) => {
    came += length
    if (came >= message.length) arrived()
  })
  while (goesOn()) {
    const begun = performance.now()
    await new Promise<void>((resolve) => {
      came = 0
      arrived = resolve
      lane.write(message)
    })
    times.push((performance.now() - begun) * 1_000)
    if (rest > 0) await pause(rest)
  }
  lane.destroy()
  return quantiles(times)
}

/** An echo every few ms beside four lanes, two each way. */
const busy = async (open: Open, { kib = 0, pause: rest = 0, ...order }: Order): Promise<Omit<Measured, "seconds">> => {
  let isBusy = true
  const beats = echo(open, rest, () => isBusy)
  const quarter = { ...order, kib: kib / 4 }
  await Promise.all([up, down, up, down].map((move) => move(open, quarter)))
  isBusy = false
  return beats
}

/** Sends bytes of all values in writes of all lengths, and compares what comes back. */
const check = async (open: Open, { kib = 0 }: Order): Promise<void> => {
  const lane = await begin(open, "e", { what: "check" })
  const sent = Buffer.alloc(kib * kibibyte)
  for (let at = 0; at < sent.length; at++) sent[at] = (at * 31) >> 3
  const whole = (async () => {
    let at = 0
    for await (const chunk of lane) {
      const bytes = chunk as Buffer
      if (sent.compare(bytes, 0, bytes.length, at, at + bytes.length) !== 0) throw new Error("a byte is wrong")
      at += bytes.length
      if (at === sent.length) return
    }
    throw new Error("the lane ended early")
  })()
  for (let [at, length] = [0, 1]; at < sent.length; length = ((length * 3) % 70_001) + 1) {
    if (!lane.write(sent.subarray(at, at + length))) await Promise.race([once(lane, "drain"), whole])
    at += length
  }
  await whole
}

let stalled: Duplex | undefined

/** Lets the far end send without end to a reader of some bytes a second; with no bytes that lane ends. */
const stall = async (open: Open, { size = 0 }: Order): Promise<void> => {
  stalled?.destroy()
  if (size === 0) return
  const lane = await begin(open, "d", { what: "stall", kib: 4 * kibibyte * kibibyte - 1, size: 64 * kibibyte })
  const reads = setInterval(() => lane.read(Math.min(size, lane.readableLength)), 1_000)
  lane.once("close", () => clearInterval(reads))
  stalled = lane
}

/** Carries out an order on lanes of one kind. */
export const obey = async (open: Open, order: Order): Promise<Measured> => {
  const begun = performance.now()
  const done = async (): Promise<Omit<Measured, "seconds"> | void> => {
    switch (order.what) {
      case "check":
        return check(open, order)
      case "up":
        return up(open, order)
      case "down":
        return down(open, order)
      case "busy":
        return busy(open, order)
      case "stall":
        return stall(open, order)
      case "echo": {
        let left = order.calls ?? 0
        return echo(open, order.pause ?? 0, () => left-- > 0)
      }
    }
  }
  const measured = await done()
  return { ...measured, seconds: (performance.now() - begun) / 1_000 }
}
