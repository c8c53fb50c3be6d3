/**
 * One side of the benchmark of caches, in a process of its own: `node --expose-gc kubernetes-cache-child.ts
 * ours|theirs|reading KUBECONFIG OBJECTS ROUNDS`.
 */

import { CustomObjectsApi, type KubernetesObject, makeInformer, KubeConfig } from "@kubernetes/client-node"
import { Effect, Exit, Scope } from "effect"
import { makeKubeApi, pathOf } from "../../src/adapters/kubernetes/kube-api-http.ts"
import { makeReflector } from "../../src/app/kernel/reflector.ts"
import { turns } from "../support/turns.ts"
import { sessionRef } from "./kubernetes-objects.ts"
import { rawRequests } from "./raw-requests.ts"

export interface CacheResult {
  readonly listMs: number
  readonly listCpuMs: number
  /** Heap and buffers per cached object. */
  readonly bytes: number
  /** Per round; the first two rounds warm up and are left out. */
  readonly eventMicros: ReadonlyArray<number>
  readonly eventCpuMicros: ReadonlyArray<number>
}

/** A cache that has all objects. */
interface Filled {
  readonly size: () => number
  readonly stop: () => Promise<void>
}
/** `empty`: the state after a list without items, at a version from which a watch begins with every existing object. */
type Fill = (config: KubeConfig, objects: number, empty: boolean) => Promise<Filled>

const fromTheStart = "0"

const ours: Fill = async (config, objects, empty) => {
  const scope = Scope.makeUnsafe()
  const api = await Effect.runPromise(makeKubeApi(config, "bench").pipe(Scope.provide(scope)))
  const source = empty ? { ...api, list: () => Effect.succeed({ items: [], resourceVersion: fromTheStart }) } : api
  let seen = 0
  return new Promise((resolve, reject) => {
    const filled = (): void =>
      resolve({ size: () => made?.all().length ?? 0, stop: () => Effect.runPromise(Scope.close(scope, Exit.void)) })
    const made = Effect.runSync(
      makeReflector(source, sessionRef, () => {
        if (++seen === objects) setImmediate(filled)
      }).pipe(
        Scope.provide(scope),
        Effect.tapCause((cause) => Effect.sync(() => reject(new Error(String(cause)))))
      )
    )
  })
}

const theirs: Fill = (config, objects, empty) => {
  const api = config.makeApiClient(CustomObjectsApi)
  const { group, plural, version } = sessionRef
  const list = async () =>
    empty
      ? { items: [], metadata: { resourceVersion: fromTheStart } }
      : await api.listClusterCustomObject({ group, version, plural })
  const informer = makeInformer<KubernetesObject>(config, pathOf(sessionRef, undefined), list)
  return new Promise((resolve, reject) => {
    let seen = 0
    informer.on("add", () => {
      if (++seen === objects)
        setImmediate(() => resolve({ size: () => informer.list().length, stop: () => informer.stop() }))
    })
    informer.on("error", reject)
    void informer.start()
  })
}

/** The same bytes, read and thrown away: the cost that no cache can avoid. */
const reading: Fill = async (config, objects, empty) => {
  const { close, send } = await rawRequests(config)
  const { body } = await send(
    "GET",
    `${pathOf(sessionRef, undefined)}${empty ? `?watch=true&resourceVersion=${fromTheStart}` : ""}`
  )
  let lines = 0
  await new Promise<void>((resolve) => {
    body
      .on("error", () => {})
      .on("end", resolve)
      .on("data", (chunk: Buffer) => {
        for (let end = chunk.indexOf("\n"); end >= 0; end = chunk.indexOf("\n", end + 1)) lines++
        if (empty && lines >= objects) resolve()
      })
  })
  return { size: () => (empty ? Math.min(lines, objects) : objects), stop: close }
}

const sides: Readonly<Record<string, Fill>> = { ours, theirs, reading }

const collect = (): void => {
  for (let i = 0; i < 4; i++) globalThis.gc?.()
}

const memory = (): number => {
  const { external, heapUsed } = process.memoryUsage()
  return heapUsed + external
}

const main = async ([side = "", kubeconfig = "", objects = "", rounds = ""]: ReadonlyArray<string>): Promise<void> => {
  const fill = sides[side]
  if (fill === undefined) throw new Error(`no side ${side}; there are ${Object.keys(sides).join(", ")}`)
  const count = Number(objects)
  const config = new KubeConfig()
  config.loadFromFile(kubeconfig)
  const measure = async (empty: boolean) => {
    const [start, cpu] = [performance.now(), process.cpuUsage()]
    const filled = await fill(config, count, empty)
    const ms = performance.now() - start
    const { system, user } = process.cpuUsage(cpu)
    if (filled.size() !== count) throw new Error(`${side} holds ${filled.size()} objects of ${count}`)
    return { filled, ms, cpuMs: (system + user) / 1_000 }
  }

  collect()
  const before = memory()
  const listed = await measure(false)
  // All reads behind the list have ended now.
  await turns()
  collect()
  const bytes = (memory() - before) / count
  await listed.filled.stop()

  const events: Array<{ readonly ms: number; readonly cpuMs: number }> = []
  for (let round = 0; round < Number(rounds); round++) {
    collect()
    const { filled, ms, cpuMs } = await measure(true)
    await filled.stop()
    events.push({ ms, cpuMs })
  }
  const micros = (read: (event: { readonly ms: number; readonly cpuMs: number }) => number) =>
    events.slice(2).map((event) => (read(event) * 1_000) / count)
  const result: CacheResult = {
    listMs: listed.ms,
    listCpuMs: listed.cpuMs,
    bytes,
    eventMicros: micros(({ ms }) => ms),
    eventCpuMicros: micros(({ cpuMs }) => cpuMs)
  }
  console.log(JSON.stringify(result))
}

await main(process.argv.slice(2))
process.exit(0)
