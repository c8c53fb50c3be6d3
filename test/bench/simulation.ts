/** Benchmarks of the simulation: virtual time per real time, and latencies that a client sees over a slow network. */

import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Kernel } from "../../lab/simulation/kernel/kernel.ts"
import { SimProcess } from "../../lab/simulation/kernel/sim-process.ts"
import type { SimClient } from "../../lab/simulation/world/sim-client.ts"
import { defaultPlan, World } from "../../lab/simulation/world/world.ts"
import { median, spread } from "./spread.ts"

const minute = 60_000
const repetitions = 5

const sleepers = 500
const naps = 60
const sleeper = (index: number) => Effect.repeat(Effect.sleep(900 + (index % 200)), { times: naps - 1 })

/** Real ms for 500 fibers that sleep one second 60 times, under our kernel. */
const ownClock = (): number => {
  const kernel = new Kernel("bench", 0)
  const process = new SimProcess(kernel, "bench", () => {})
  const start = performance.now()
  for (let i = 0; i < sleepers; i++) process.run(sleeper(i))
  kernel.run(2 * minute)
  return performance.now() - start
}

/** Real ms for the same fibers under the stock TestClock. */
const stockClock = async (): Promise<number> => {
  const start = performance.now()
  await Effect.runPromise(
    Effect.gen(function* () {
      for (let i = 0; i < sleepers; i++) yield* Effect.forkScoped(sleeper(i))
      yield* TestClock.adjust(2 * minute)
    }).pipe(Effect.scoped, Effect.provide(TestClock.layer()))
  )
  return performance.now() - start
}

interface Life {
  readonly factor: number
  readonly steps: number
  readonly ms: number
}

/**
 * Normal life: every session in every cluster, pings every 30 s, heartbeats every 10 s, one stolen request per session
 * every 10 s. Throws if a session does not live, so that nothing broken is measured.
 */
const normalLife = (sessions: number, clusters: number, minutes: number): Life => {
  const names = Array.from({ length: clusters }, (_, i) => `cluster-${i}`)
  const world = new World({
    ...defaultPlan,
    seed: "bench",
    clusters: names.map((name) => ({ name, pods: 1 })),
    defaultCluster: "cluster-0"
  })
  world.pass(2_000)
  const clients = Array.from({ length: sessions }, (_, i): SimClient => {
    const client = world.startClient({ name: `s${i}`, user: "ann", shape: "exec", target: "deployment.myapp" })
    client.do({ _tag: "Steal", type: { _tag: "FilteredHttp", port: 80, filter: `^x-user: s${i}$` } })
    return client
  })
  world.pass(minute)
  const steps = world.kernel.steps
  const start = performance.now()
  for (let round = 0; round < minutes * 6; round++) {
    const requests = clients.map((_, i) =>
      world.request(names[(round + i) % clusters] ?? "", `/${i}`, [["x-user", `s${i}`]])
    )
    world.pass(10_000)
    const astray = requests.filter(({ answer }) => answer?.by !== "client").length
    if (astray > 0) throw new Error(`${astray} of ${sessions} requests were not answered by their session`)
  }
  const ms = performance.now() - start
  return { factor: (minutes * minute) / ms, steps: world.kernel.steps - steps, ms }
}

/**
 * Virtual ms that a client waits, with the primary so far from its members (one way): for a file of the default
 * cluster, and for the answer to a request.
 */
const atDistance = (ms: number): { readonly stateful: number; readonly stolen: number } => {
  const world = new World({
    ...defaultPlan,
    seed: "bench",
    clusters: [
      { name: "a", pods: 1 },
      { name: "b", pods: 1 }
    ],
    defaultCluster: "a"
  })
  for (const member of ["a", "b"]) {
    world.network.setLatency("primary", member, ms, ms)
    world.network.setLatency(member, "primary", ms, ms)
  }
  const client = world.startClient({ name: "s1", user: "ann", shape: "exec", target: "deployment.myapp" })
  for (const [from, to] of [
    ["primary", client.place],
    [client.place, "primary"]
  ] as const)
    world.network.setLatency(from, to, 5, 5)
  client.do({ _tag: "Steal", type: { _tag: "All", value: 80 } })
  world.pass(minute)
  let answeredAt = 0
  world.observe((event) => {
    if (event._tag === "ClientEvent" && event.event._tag === "Resolved") answeredAt = event.at
  })
  const asked = world.now
  client.do({ _tag: "Resolve", node: "myapp" })
  world.pass(10_000)
  const request = world.request("b", "/distance")
  world.pass(10_000)
  if (answeredAt === 0 || request.answer?.by !== "client") throw new Error("the session at a distance does not live")
  return { stateful: answeredAt - asked, stolen: request.answer.at - request.enteredAt }
}

export const simulation = async function* (): AsyncGenerator<string> {
  const own = Array.from({ length: repetitions }, ownClock)
  const stock: Array<number> = []
  for (let i = 0; i < repetitions; i++) stock.push(await stockClock())
  yield (
    `clock: ${sleepers} fibers sleep ${naps} times: stock TestClock / ours = ` +
      `${(median(stock) / median(own)).toFixed(1)} (ms: ${spread(stock)} / ${spread(own)})`
  )

  // The same machine at the same moment: a virtual second of a world costs as much as so many fibers that only wake.
  const wakeUp = (1_000 * median(own)) / (sleepers * naps)
  yield "normal life (pings 30 s, heartbeats 10 s, a stolen request per session each 10 s), real ms per virtual second:"
  const small: Array<number> = []
  for (const [sessions, clusters, minutes] of [
    [25, 10, 8],
    [50, 10, 4],
    [100, 10, 2]
  ] as const) {
    const runs = Array.from({ length: repetitions }, () => normalLife(sessions, clusters, minutes))
    const perUnit = runs.map(({ ms }) => (ms * 1_000) / (sessions * clusters * minutes))
    if (small.length === 0) small.push(...perUnit)
    const perSecond = runs.map(({ factor }) => 1_000 / factor)
    const perStep = runs.map(({ ms, steps }) => (1_000 * ms) / steps)
    yield (
      `  ${sessions} sessions × ${clusters} clusters × ${minutes} min: ${spread(perSecond, 2)} ms, ` +
        `${(1_000 / median(perSecond)).toFixed(0)} × real time, as ` +
        `${((1_000 * median(perSecond)) / wakeUp).toFixed(0)} wake-ups of a bare fiber; ` +
        `${spread(perStep, 1)} µs a step; µs per session, cluster and minute: ${spread(perUnit)}, ` +
        `×${(median(perUnit) / median(small)).toFixed(2)} of the smallest`
    )
  }

  yield (
    "distance between primary and members, one way → virtual ms that the client waits for a name of the default, a " +
      "caller at b for the client's answer:"
  )
  for (const ms of [0, 20, 80, 150]) {
    const { stateful, stolen } = atDistance(ms)
    yield `  ${String(ms).padStart(3)} ms → ${stateful} ms, ${stolen} ms`
  }
}
