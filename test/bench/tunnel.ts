/**
 * Benchmarks of tunnels against a member that can be dialled, with a TLS connection for each lane, and against
 * Konnectivity and remotedialer, where Go can build them. All take turns within a repetition, and ratios are taken
 * there. Each side has a CPU of its own, with the generator of its load.
 */

import { availableParallelism, loadavg } from "node:os"
import { median, spread } from "./spread.ts"
import type { Measured, Order } from "./tunnel/lanes.ts"
import { members } from "./tunnel/members.ts"
import { type Carrier, Workshop } from "./tunnel/programs.ts"

/** A measurement of a carrier by an order. */
interface Row {
  readonly name: string
  readonly unit: string
  readonly digits: number
  readonly of: Sample
}
type Sample = (sample: { readonly measured: Measured; readonly cpu: number; readonly order: Order }) => number

const mebibyte = 1024
/** The measurement of an order that does not come to an end. */
const stoodStill: Measured = { p50: Infinity, p99: Infinity, most: Infinity, seconds: Infinity }

const moved = (what: "up" | "down", size: number, mib: number) => {
  const order: Order = { what, size, kib: mib * mebibyte }
  const name = `${what} ${size >= 1024 ? `${size / 1024} KiB` : `${size} B`}`
  const rows: ReadonlyArray<Row> = [
    { name, unit: "MiB/s", digits: 1, of: ({ measured }) => mib / measured.seconds },
    { name, unit: "CPU-s/GiB", digits: 2, of: ({ cpu }) => (cpu * mebibyte) / mib }
  ]
  return { order, rows }
}

const quantileRows = (name: string, unit: string, divisor: number): ReadonlyArray<Row> =>
  (["p50", "p99", "most"] as const).map((quantile) => ({
    name,
    unit: `${unit} ${quantile}`,
    digits: unit === "ms" ? 1 : 0,
    of: ({ measured }) => (measured[quantile] ?? 0) / divisor
  }))

/** The measurements, each an order and the rows that are made of its answer. */
const measurements = (isShort: boolean) => {
  const [large, small, busy] = isShort ? [192, 64, 512] : [256, 64, 1024]
  return [
    { order: { what: "echo", calls: 3_000 } as Order, rows: quantileRows("echo 64 B", "µs", 1) },
    moved("up", 65_536, large),
    moved("down", 65_536, large),
    moved("up", 1_024, small),
    moved("down", 1_024, small),
    {
      order: { what: "busy", kib: busy * mebibyte, size: 65_536, pause: 10 } as Order,
      rows: quantileRows(`beats under ${busy} MiB in 4 lanes`, "ms", 1_000)
    }
  ]
}

/** Makes a carrier anew where the one before stands still. */
interface Contender {
  readonly name: string
  readonly start: () => Promise<Carrier>
}

type Figures = Map<string, Array<number>>

const note = (figures: Figures, key: string, figure: number): void =>
  void figures.set(key, [...(figures.get(key) ?? []), figure])

const keyOf = (name: string, row: Row): string => `${name}|${row.name}|${row.unit}`

/** Every carrier for every measurement, again and again; the carrier that begins changes. */
const measureAll = async (contenders: ReadonlyArray<Contender>, isShort: boolean): Promise<Figures> => {
  const figures: Figures = new Map()
  const carriers = await Promise.all(contenders.map(({ start }) => start()))
  for (const carrier of carriers) await carrier.obey({ what: "check", kib: 8 * mebibyte })
  /** Orders during which a carrier stood still, once: by name and order. */
  const hopeless = new Set<string>()
  for (let repetition = 0; repetition < (isShort ? 3 : 5); repetition++) {
    for (const { order, rows } of measurements(isShort)) {
      for (let turn = 0; turn < carriers.length; turn++) {
        const at = (turn + repetition) % carriers.length
        const [contender, carrier] = [contenders[at], carriers[at]]
        if (contender === undefined || carrier === undefined) continue
        const key = `${contender.name} ${JSON.stringify(order)}`
        const before = carrier.cpu()
        const measured = hopeless.has(key) ? undefined : await carrier.obey(order)
        const sample = { measured: measured ?? stoodStill, order, cpu: carrier.cpu() - before }
        for (const row of rows) note(figures, keyOf(contender.name, row), row.of(sample))
        if (measured !== undefined || hopeless.has(key)) continue
        hopeless.add(key)
        carrier.end()
        carriers[at] = await contender.start()
      }
    }
  }
  for (const carrier of carriers) carrier.end()
  return figures
}

/** The median of the ratios of a repetition. */
const ratio = (own: ReadonlyArray<number>, theirs: ReadonlyArray<number>): string =>
  `×${median(own.map((figure, at) => figure / (theirs[at] ?? 0))).toFixed(2)}`

function* table(carriers: ReadonlyArray<Contender>, figures: Figures, isShort: boolean): Generator<string> {
  const [first] = carriers
  for (const row of measurements(isShort).flatMap(({ rows }) => rows)) {
    yield `\n${row.name}, ${row.unit}`
    for (const carrier of carriers) {
      const own = figures.get(keyOf(carrier.name, row)) ?? []
      const others = carrier.name === "tunnel" ? carriers : carriers.slice(0, 1)
      const ratios = others.flatMap((other) =>
        other === carrier || first === undefined
          ? []
          : [`${ratio(own, figures.get(keyOf(other.name, row)) ?? [])} ${other.name}`]
      )
      const figure = Number.isFinite(median(own)) ? spread(own, row.digits) : "stands still"
      yield `  ${carrier.name.padEnd(13)} ${figure.padEnd(26)} ${ratios.join("  ")}`.trimEnd()
    }
  }
}

/** The loss of a lane by another one whose reader takes 1 KiB a second, and which is there or not in turns. */
async function* slowReader(workshop: Workshop, isShort: boolean): AsyncGenerator<string> {
  const carrier = await workshop.tunnel()
  const order: Order = { what: "down", size: 65_536, kib: (isShort ? 128 : 256) * mebibyte }
  const seconds = async (size: number): Promise<number> => {
    await carrier.obey({ what: "stall", size })
    return ((await carrier.obey(order)) ?? stoodStill).seconds
  }
  const ratios: Array<number> = []
  await seconds(0)
  for (let repetition = 0; repetition < (isShort ? 7 : 15); repetition++) {
    const alone = await seconds(0)
    const beside = await seconds(1_024)
    // Against what is before it and behind it, since the machine changes.
    ratios.push((alone + (await seconds(0))) / 2 / beside)
  }
  yield `\ndown 64 KiB beside a lane whose reader takes 1 KiB/s, MiB/s against those without: ×${spread(ratios, 2)}`
  carrier.end()
}

const loadNow = (): string =>
  `load of the machine: ${loadavg()
    .map((load) => load.toFixed(1))
    .join(" ")}`

/** `isShort`: two minutes at most, without Konnectivity and remotedialer, and with fewer storms. */
export async function* tunnel(isShort = false): AsyncGenerator<string> {
  if (availableParallelism() < 2) throw new Error("tunnel: each side needs a CPU; there is one")
  const workshop = new Workshop()
  try {
    yield loadNow()
    await workshop.writeCertificates()
    const problem = isShort ? "left out by --short" : workshop.buildOthers()
    if (problem !== undefined) yield `without Konnectivity and remotedialer: ${problem}`
    const others: ReadonlyArray<Contender> = [
      { name: "konnectivity", start: () => workshop.konnectivity() },
      { name: "remotedialer", start: () => workshop.remotedialer() }
    ]
    const contenders: ReadonlyArray<Contender> = [
      { name: "direct", start: () => workshop.direct() },
      { name: "tunnel", start: () => workshop.tunnel() },
      ...(problem === undefined ? others : [])
    ]
    yield* table(contenders, await measureAll(contenders, isShort), isShort)
    yield* slowReader(workshop, isShort)
    yield loadNow()
    yield* members(workshop, isShort)
    yield loadNow()
  } finally {
    workshop.close()
  }
}
