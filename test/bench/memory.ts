/**
 * Benchmark of the operator's memory: at rest, with one and with twenty busy sessions, and what each further session
 * costs that is open and idle. The operators are started as the image starts them, in cgroups of the chart's limit.
 */

import { setTimeout as pause } from "node:timers/promises"
import type { RawSession } from "../../lab/client/raw-session.ts"
import { download, source } from "../charts/attacks.ts"
import { clusterNames, type ClusterName, type Memory, Operators, roles } from "./memory/operators.ts"
import { spread } from "./spread.ts"

const kibibyte = 1024
const mebibyte = 1024 * 1024
/** Size of one answer to a busy session. */
const answerSize = 256 * kibibyte
/** Time between looks at resident memory, ms. */
const lookEvery = 100
/** Time for what the start of sessions leaves behind, ms. */
const settle = 5_000

type Figures = Map<string, Array<number>>

const note = (figures: Figures, key: string, figure: number): void =>
  void figures.set(key, [...(figures.get(key) ?? []), figure])

/** The greatest resident memory of each operator while something goes on. */
const maxDuring = async (operators: Operators, work: Promise<unknown>): Promise<Map<ClusterName, number>> => {
  const greatest = new Map<ClusterName, number>()
  let isOver = false
  const over = work.finally(() => (isOver = true))
  while (!isOver) {
    for (const name of clusterNames) greatest.set(name, Math.max(greatest.get(name) ?? 0, operators.resident(name)))
    await pause(lookEvery)
  }
  await over
  return greatest
}

/** Asks for the environment and fetches an answer over a new connection, again and again. */
const keepBusy = async (session: RawSession, port: number, nextUid: () => bigint, until: number): Promise<void> => {
  while (performance.now() < until) {
    const env = session.hear(({ _tag }) => (_tag === "GetEnvVarsResponse" ? true : undefined))
    session.say({ _tag: "GetEnvVarsRequest", value: { envVarsFilter: new Set(), envVarsSelect: new Set(["*"]) } })
    await env
    await download(session, port, nextUid(), () => {})
  }
}

/** Resident memory of fresh operators: at rest, and the greatest while sessions are busy. */
const measureBusy = async (figures: Figures, seconds: number): Promise<void> => {
  const operators = new Operators()
  const server = await source(answerSize)
  let uids = 1n
  try {
    await operators.start(1)
    await pause(settle)
    for (const name of clusterNames) note(figures, `${name} at rest`, operators.resident(name) / mebibyte)
    for (const [what, count] of [
      ["1 busy", 1],
      ["20 busy", 19]
    ] as const) {
      await operators.open(count)
      const until = performance.now() + seconds * 1_000
      const busy = operators.sessions.map((session) => keepBusy(session, server.port, () => uids++, until))
      for (const [name, greatest] of await maxDuring(operators, Promise.all(busy)))
        note(figures, `${name} ${what}`, greatest / mebibyte)
    }
  } finally {
    server.close()
    await operators.close()
  }
}

type Kind = keyof Memory
const kinds: ReadonlyArray<Kind> = ["rss", "heapUsed", "external"]

/** The cost of each session beyond the first few. The first ones pay for what all share. */
const measureIdle = async (figures: Figures, first: number, steps: ReadonlyArray<number>): Promise<void> => {
  const operators = new Operators()
  try {
    await operators.start(6)
    const collected = async (more: number): Promise<Map<ClusterName, Memory>> => {
      await operators.open(more)
      await operators.replaceEnded()
      await pause(settle)
      return new Map(await Promise.all(clusterNames.map(async (at) => [at, await operators.collected(at)] as const)))
    }
    let before = await collected(first)
    for (const more of steps) {
      const after = await collected(more)
      for (const name of clusterNames)
        for (const kind of kinds) {
          const grown = (after.get(name)?.[kind] ?? 0) - (before.get(name)?.[kind] ?? 0)
          note(figures, `${name} ${kind}`, grown / more / kibibyte)
        }
      before = after
    }
  } finally {
    await operators.close()
  }
}

/** `isShort`: once, with fewer sessions. */
export async function* memory(isShort = false): AsyncGenerator<string> {
  const repetitions = isShort ? 1 : 3
  const figures: Figures = new Map()
  for (let repetition = 0; repetition < repetitions; repetition++) {
    await measureBusy(figures, isShort ? 3 : 10)
    await measureIdle(figures, 20, isShort ? [80] : [150, 150])
  }
  const row = (head: string, cells: ReadonlyArray<string>): string =>
    ["", head.padEnd(16), ...cells.map((text) => text.padEnd(16))].join(" ").trimEnd()
  const rows = (kinds: ReadonlyArray<string>): ReadonlyArray<string> => [
    row("", kinds),
    ...clusterNames.map((name) =>
      row(
        roles[name],
        kinds.map((kind) => spread(figures.get(`${name} ${kind}`) ?? []))
      )
    )
  ]
  yield "resident memory of an operator, MiB: median (least–most)"
  yield* rows(["at rest", "1 busy", "20 busy"])
  yield "each idle session, KiB after a collection of garbage: median (least–most)"
  yield* rows(kinds)
}
