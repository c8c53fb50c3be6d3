import { mkdtemp, rm } from "node:fs/promises"
import * as net from "node:net"
import { tmpdir } from "node:os"
import * as path from "node:path"
import type { Duplex } from "node:stream"
import { Effect, type Scope } from "effect"
import { startEndpointsController } from "../../../../lab/cluster/controllers/endpoints-controller.ts"
import { startWorkloadControllers } from "../../../../lab/cluster/controllers/workload-controllers.ts"
import type { ContainerProgram } from "../../../../lab/cluster/node/container-program.ts"
import { type Kubelet, type KubeletOptions, startKubelet } from "../../../../lab/cluster/node/kubelet.ts"
import { localNodeStore } from "../../../../lab/cluster/node/node-store.ts"
import type { KubeObject, ResourceRef } from "../../../../lab/cluster/schema/kube-object.ts"
import { ObjectStore } from "../../../../lab/cluster/store/object-store.ts"
import { namespaces, pods } from "../../../../lab/cluster/store/resource-refs.ts"
import { isPodReady } from "../../../../lab/cluster/store/store-access.ts"

export interface TestCluster {
  readonly store: ObjectStore
  readonly kubelet: Kubelet
  readonly directory: string
}

const newStore = (): ObjectStore => {
  const store = new ObjectStore({ now: () => Date.now(), random: () => Math.random() })
  if (store.get(namespaces, undefined, "default") === undefined) {
    store.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "default" } })
  }
  return store
}

/** Each test needs a subnet of its own: test files run at the same time. */
export const testCluster = (
  subnet: number,
  images: Readonly<Record<string, ContainerProgram>>,
  options: Partial<Omit<KubeletOptions, "store">> & { readonly store?: ObjectStore } = {}
): Effect.Effect<TestCluster, never, Scope.Scope> =>
  Effect.gen(function* () {
    const store = options.store ?? newStore()
    const directory = yield* Effect.acquireRelease(
      Effect.promise(() => mkdtemp(path.join(tmpdir(), "kubelet-"))),
      (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true }))
    )
    yield* startWorkloadControllers(store)
    yield* startEndpointsController(store)
    const kubelet = yield* startKubelet({
      nodeName: "node-1",
      directory,
      subnet,
      images: new Map(Object.entries(images)),
      restartBackOff: { initial: "10 millis", max: "40 millis" },
      ...options,
      store: localNodeStore(store)
    })
    return { store, kubelet, directory }
  }).pipe(Effect.orDie)

/** Calls `find` after each event of the store until it gives something. */
export const until = <A>(
  store: ObjectStore,
  refs: ReadonlyArray<ResourceRef>,
  find: () => A | undefined
): Effect.Effect<A> =>
  Effect.callback<A>((resume) => {
    const check = (): void => {
      const found = find()
      if (found !== undefined) resume(Effect.succeed(found))
    }
    const unwatch = refs.map((ref) => store.watch(ref, {}, check))
    check()
    return Effect.sync(() => unwatch.forEach((stop) => stop()))
  })

export const podWhere = (
  store: ObjectStore,
  name: string,
  condition: (pod: KubeObject) => boolean = isPodReady
): Effect.Effect<KubeObject> =>
  until(store, [pods], () => {
    const pod = store.get(pods, "default", name)
    return pod !== undefined && condition(pod) ? pod : undefined
  })

export const podGone = (store: ObjectStore, name: string): Effect.Effect<true> =>
  until(store, [pods], () => (store.get(pods, "default", name) === undefined ? true : undefined))

export const pod = (
  name: string,
  spec: Record<string, unknown>,
  metadata: Record<string, unknown> = {}
): KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { ...metadata, name, namespace: "default" },
  spec
})

/** All text of the other side until it ends; the error's code, such as ECONNRESET, if the connection fails. */
export const readAll = (socket: Duplex): Promise<string> =>
  new Promise((resolve) => {
    let text = ""
    socket.on("data", (bytes: Buffer) => (text += bytes.toString()))
    socket.on("end", () => resolve(text))
    socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    socket.on("close", () => resolve(text))
  })

/** Sends a text, ends, and gives the answer. */
export const talk = (endpoint: { readonly ip: string; readonly port: number }, text: string): Promise<string> => {
  const socket = net.connect({ host: endpoint.ip, port: endpoint.port, allowHalfOpen: true })
  const answer = readAll(socket)
  socket.end(text)
  return answer
}

/** The next line of a log; `undefined` at its end. */
export const nextLine = (lines: AsyncIterator<string>): Effect.Effect<string | undefined> =>
  Effect.promise(async () => {
    const { done, value } = await lines.next()
    return done === true ? undefined : value
  })
