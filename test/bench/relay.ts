/**
 * Benchmarks of the message path against relays that do not understand what they carry: HAProxy and nginx, where they
 * are installed, and a plain relay with `ws`. All measurements of a table are interleaved; a ratio is taken within a
 * repetition.
 *
 * The generator (relay/generator, in Go) is both ends of a relay, on a CPU of its own, and speaks the protocol.
 */

import { availableParallelism } from "node:os"
import { type Relay, relaysOf, Workshop } from "./relay/relays.ts"
import { median, spread } from "./spread.ts"

interface Measured {
  readonly MBps: number
  readonly messages: number
  readonly seconds: number
  readonly per?: ReadonlyArray<number>
  readonly latencyNs?: { readonly p50: number; readonly p99: number }
}

/** One line of a table. */
interface Cell {
  readonly name: string
  readonly members: number
  readonly args: ReadonlyArray<string>
  /** Whether only the product can carry it. */
  readonly forRouters?: boolean
}

type Running = ReadonlyArray<readonly [relay: Relay, pid: number]>

/** Every relay for every cell, again and again. */
const measureAll = (
  workshop: Workshop,
  running: Running,
  cells: ReadonlyArray<Cell>,
  repetitions: number
): ReadonlyMap<string, ReadonlyArray<Measured>> => {
  const found = new Map<string, Array<Measured>>()
  for (let repetition = 0; repetition < repetitions; repetition++) {
    for (const cell of cells) {
      for (const [relay, pid] of running) {
        if (cell.forRouters === true && !relay.isRouter) continue
        const key = `${cell.name}|${relay.name}`
        const measured = workshop.measure<Measured>(relay, pid, cell.members, cell.args)
        found.set(key, [...(found.get(key) ?? []), measured])
      }
    }
  }
  return found
}

/** Medians and their spread, and the medians of the ratios to the relays that stand before. */
function* table(
  running: Running,
  cells: ReadonlyArray<Cell>,
  found: ReadonlyMap<string, ReadonlyArray<Measured>>,
  [unit, valueOf, digits]: readonly [string, (measured: Measured) => number, number]
): Generator<string> {
  for (const { name } of cells) {
    yield `\n${name}`
    for (const [relay] of running) {
      const own = found.get(`${name}|${relay.name}`)
      if (own === undefined) continue
      const ratios = running.flatMap(([other]) => {
        const theirs = found.get(`${name}|${other.name}`)
        if (theirs === undefined || other.isRouter || relay.name === other.name) return []
        const all = own.map((measured, at) => {
          const against = theirs[at]
          return against === undefined ? 0 : valueOf(measured) / valueOf(against)
        })
        return [`×${median(all).toFixed(2)} ${other.name}`]
      })
      yield `  ${relay.name.padEnd(11)} ${spread(own.map(valueOf), digits).padEnd(24)} ${unit}  ${ratios.join("  ")}`
    }
  }
}

const throughput = (traffics: ReadonlyArray<string>, seconds: number): ReadonlyArray<Cell> =>
  traffics.flatMap((traffic) =>
    [64, 1024, 65_536].map((size) => ({
      name: `${traffic} ${size} B`,
      members: 1,
      args: ["-traffic", traffic, "-size", String(size), "-time", `${seconds}s`]
    }))
  )

const fanOut = (seconds: number): ReadonlyArray<Cell> =>
  ["steal-up", "steal-down"].flatMap((traffic) =>
    [1, 3].map((members) => ({
      name: `${traffic} 1024 B, ${members} ${members === 1 ? "member" : "members"}`,
      members,
      args: ["-traffic", traffic, "-size", "1024", "-time", `${seconds}s`],
      forRouters: true
    }))
  )

/** The client writes to all members in turn, and the third does not read as fast as the others. */
const slowThird = (seconds: number): ReadonlyArray<Cell> =>
  [
    ["nobody slow", []],
    ["the third reads 1 MB/s", ["-slow", "2", "-slow-rate", "1000000"]]
  ].map(([name, args]) => ({
    name: `steal-up 1024 B, the first two of 3 members, ${String(name)}`,
    members: 3,
    args: ["-traffic", "steal-up", "-size", "1024", "-time", `${seconds}s`, ...(args as ReadonlyArray<string>)],
    forRouters: true
  }))

const roundTrips = (calls: number): ReadonlyArray<Cell> => [
  {
    name: "echo 64 B, one at a time",
    members: 1,
    args: ["-traffic", "echo", "-size", "64", "-warm-calls", "1000", "-calls", String(calls)]
  }
]

/** Every byte of every message, in every relay: a fast relay that garbles is none. */
function* checkBytes(workshop: Workshop, running: Running, isShort: boolean): Generator<string> {
  const [sizes, fans] = isShort
    ? [[64, 65_536], [3]]
    : [
        [64, 1024, 65_536, 300_000],
        [1, 3]
      ]
  for (const [relay, pid] of running.filter(([{ isRouter }]) => isRouter)) {
    for (const traffic of ["up", "down", "steal-up", "steal-down", "both"]) {
      for (const size of sizes) {
        for (const members of fans) {
          const count = size > 10_000 ? "200" : "2000"
          const args = ["-traffic", traffic, "-size", String(size), "-check", "-count", count]
          workshop.measure(relay, pid, members, args)
        }
      }
    }
    yield `${relay.name}: every byte of every message is right`
  }
}

const mbps = ["MB/s", ({ MBps }: Measured) => MBps, 0] as const
const firstTwo = [
  "MB/s",
  ({ MBps, messages, per = [] }: Measured) => (MBps * ((per[0] ?? 0) + (per[1] ?? 0))) / Math.max(1, messages),
  0
] as const
const microseconds = (quantile: "p50" | "p99") =>
  [`µs ${quantile}`, ({ latencyNs }: Measured) => (latencyNs?.[quantile] ?? 0) / 1_000, 0] as const

async function* compare(isTls: boolean, isShort: boolean): AsyncGenerator<string> {
  const [seconds, repetitions] = isShort ? [0.4, 3] : [0.8, 5]
  const workshop = new Workshop(isTls)
  try {
    const running: Array<readonly [Relay, number]> = []
    for (const relay of relaysOf(workshop)) running.push([relay, await workshop.start(relay)])
    yield `\n${isTls ? "TLS on both sides" : "plain"}: ${running.map(([{ name }]) => name).join(", ")}`
    yield* checkBytes(workshop, running, isShort)
    const streams = throughput(isShort ? ["up", "steal-down"] : ["up", "down", "steal-up", "steal-down"], seconds)
    yield* table(running, streams, measureAll(workshop, running, streams, repetitions), mbps)
    if (isShort) return
    const fans = fanOut(seconds)
    yield* table(running, fans, measureAll(workshop, running, fans, repetitions), mbps)
    const slow = slowThird(2.5)
    yield* table(running, slow, measureAll(workshop, running, slow, repetitions), firstTwo)
    const trips = roundTrips(5_000)
    const tripped = measureAll(workshop, running, trips, repetitions)
    yield* table(running, trips, tripped, microseconds("p50"))
    yield* table(running, trips, tripped, microseconds("p99"))
  } finally {
    workshop.close()
  }
}

/** `isShort`: two minutes at most, one direction of each kind, without TLS, latency and many members. */
export async function* relay(isShort = false): AsyncGenerator<string> {
  if (availableParallelism() < 2) throw new Error("relay: the relay and the generator need a CPU each; there is one")
  yield* compare(false, isShort)
  if (!isShort) yield* compare(true, false)
}
