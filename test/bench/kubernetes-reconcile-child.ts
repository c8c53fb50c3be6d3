/**
 * One side of the benchmark of reconciling, in a process of its own: reads and patches OBJECTS, WORKERS at a time:
 * `node kubernetes-reconcile-child.ts ours|plain KUBECONFIG OBJECTS WORKERS MARK`.
 */

import { KubeConfig } from "@kubernetes/client-node"
import { Deferred, Effect } from "effect"
import { makeKubeApi, pathOf } from "../../src/adapters/kubernetes/kube-api-http.ts"
import { makeController } from "../../src/app/kernel/controller.ts"
import type { KubeObject } from "../../src/ports/kube-api.ts"
import { nameOf, sessionRef } from "./kubernetes-objects.ts"
import { rawRequests } from "./raw-requests.ts"

export interface ReconcileResult {
  readonly perSecond: number
  readonly cpuMicros: number
}

/** The label that a patch sets. It names the last run, so that every patch is a write. */
const patchOf = (object: KubeObject, mark: string) => ({
  metadata: { resourceVersion: object.metadata.resourceVersion, annotations: { "braid.example.com/bench": mark } }
})

type Run = (config: KubeConfig, names: ReadonlyArray<string>, workers: number, mark: string) => Promise<void>

/** Our controllers' kernel: `workers` keys at a time, the next key as soon as one is done. */
const ours: Run = (config, names, workers, mark) =>
  Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const api = yield* makeKubeApi(config, "bench")
        const all = yield* Deferred.make<void>()
        let next = 0
        let done = 0
        const controller = yield* makeController({
          name: "bench",
          reconcile: (name) =>
            Effect.gen(function* () {
              const object = yield* api.get(sessionRef, name)
              yield* api.mergePatch(sessionRef, name, patchOf(object, mark))
              if (++done === names.length) yield* Deferred.succeed(all, undefined)
              enqueueNext()
              return undefined
            })
        })
        const enqueueNext = (): void => {
          const name = names[next++]
          if (name !== undefined) controller.enqueue(name)
        }
        for (let i = 0; i < workers; i++) enqueueNext()
        yield* Deferred.await(all)
      })
    )
  )

/** The same requests, by the same HTTP client, in plain loops. */
const plain: Run = async (config, names, workers, mark) => {
  const { close, send } = await rawRequests(config)
  const call = async (method: "GET" | "PATCH", name: string, value?: object): Promise<KubeObject> => {
    const response = await send(
      method,
      pathOf(sessionRef, undefined, name),
      value === undefined ? undefined : { type: "application/merge-patch+json", value }
    )
    if (response.statusCode !== 200)
      throw new Error(`${method} ${name}: ${response.statusCode} ${await response.body.text()}`)
    return (await response.body.json()) as KubeObject
  }
  let next = 0
  const loop = async (): Promise<void> => {
    for (let name = names[next++]; name !== undefined; name = names[next++])
      await call("PATCH", name, patchOf(await call("GET", name), mark))
  }
  await Promise.all(Array.from({ length: workers }, loop))
  await close()
}

const main = async ([
  side = "",
  kubeconfig = "",
  objects = "",
  workers = "",
  mark = ""
]: ReadonlyArray<string>): Promise<void> => {
  const run = side === "ours" ? ours : plain
  const config = new KubeConfig()
  config.loadFromFile(kubeconfig)
  const names = Array.from({ length: Number(objects) }, (_, index) => nameOf(index))
  // Warms up the code and connections of the process, and the objects at the server.
  await run(config, names.slice(0, 50), Number(workers), `${mark} warm`)
  const [start, cpu] = [performance.now(), process.cpuUsage()]
  await run(config, names, Number(workers), mark)
  const seconds = (performance.now() - start) / 1_000
  const { system, user } = process.cpuUsage(cpu)
  const result: ReconcileResult = { perSecond: names.length / seconds, cpuMicros: (system + user) / names.length }
  console.log(JSON.stringify(result))
}

await main(process.argv.slice(2))
process.exit(0)
