/**
 * A cluster with a real node: control plane, containerd, kubelet, kube-proxy and CoreDNS in a world of this machine.
 * The installation on it is that of `node-playground.ts`.
 */

import { type ChildProcess, execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { Effect, type Scope } from "effect"
import { asObjects, at } from "../../../src/domain/json.ts"
import { kubeconfigYaml } from "../../cluster/kubeconfig.ts"
import { nodes } from "../../cluster/store/resource-refs.ts"
import { seen } from "../awaited.ts"
import { type ControlPlane, nodeServices, startControlPlane } from "../kubernetes/control-plane.ts"
import type { Programs } from "../kubernetes/programs.ts"
import { failed, openCluster, type RealCluster } from "../kubernetes/real-cluster.ts"
import { PlaygroundError } from "../readiness.ts"
import { startProgram } from "../started-program.ts"
import {
  containerdConfiguration,
  kubeletConfiguration,
  networkConfiguration,
  proxyConfiguration
} from "./node-configuration.ts"
import { type NodeFiles, nodeImages } from "./node-files.ts"
import { endOf, killProgram, startWorld, type World, worldName } from "./node-world.ts"

const run = promisify(execFile)
const coredns = fileURLToPath(new URL("coredns.yaml", import.meta.url))

/** A cluster with a real node. */
export interface NodeCluster extends RealCluster {
  readonly world: World
  /** URL of the API server as pods and other clusters reach it. */
  readonly serverForOthers: string
  /** Ends the kubelet as by SIGKILL; containers go on. */
  readonly stopKubelet: () => Promise<void>
  readonly startKubelet: () => Promise<void>
}

export interface NodeClusterOptions {
  readonly name: string
  /** Its place among the clusters of this machine, from 1 on: the node is 10.99.0.n, its pods are 10.244.n.0/24. */
  readonly number: number
  readonly programs: Programs
  readonly files: NodeFiles
  readonly directory: string
}

/** Repeats an action until it succeeds, for as long as the program that it asks runs. */
const untilItWorks = async (action: () => Promise<unknown>, program: ChildProcess): Promise<void> => {
  for (;;) {
    try {
      await action()
      return
    } catch (error) {
      if (program.exitCode !== null || program.signalCode !== null) throw error
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}

/** Starts containerd in a world, and gives it the images. */
export const startContainerd = async (
  world: World,
  pods: string,
  { images }: Pick<NodeFiles, "images">
): Promise<ChildProcess> => {
  const etc = join(world.folder, "root/etc")
  await mkdir(join(etc, "cni/net.d"), { recursive: true })
  await writeFile(join(etc, "cni/net.d/10-node.conflist"), networkConfiguration(pods))
  await writeFile(join(etc, "containerd/config.toml"), containerdConfiguration(nodeImages.pause))
  const containerd = startProgram(world.inside(["containerd"]), join(world.folder, "containerd.log"))
  const ctr = (...args: ReadonlyArray<string>) => {
    const [file, ...rest] = world.inside(["ctr", "--namespace", "k8s.io", ...args])
    return run(file, rest)
  }
  await untilItWorks(() => ctr("version"), containerd)
  await Promise.all(images.map((image) => ctr("images", "import", image)))
  return containerd
}

/** Writes a kubeconfig for a component of the cluster, which talks to the API server in its own network. */
const componentKubeconfig = async (
  { caPem, credentialsFor, directory, server }: ControlPlane,
  user: string,
  groups: ReadonlyArray<string> = []
): Promise<string> => {
  const { cert, key } = await credentialsFor(user, groups)
  const path = join(directory, `${user.replaceAll(":", "-")}.kubeconfig`)
  const credentials = { certPem: cert, keyPem: key }
  await writeFile(path, kubeconfigYaml({ cluster: "own", server, caPem, user, credentials }), { mode: 0o600 })
  return path
}

/** Starts the scheduler, the kubelet and the proxy; the result starts a kubelet. */
const startNode = async (
  world: World,
  plane: ControlPlane,
  { files, name }: NodeClusterOptions
): Promise<() => ChildProcess> => {
  const { directory } = plane
  const node = name
  const write = async (file: string, text: string): Promise<string> => {
    const path = join(directory, file)
    await writeFile(path, text, { mode: 0o600 })
    return path
  }
  const log = (program: string): string => join(world.folder, `${program}.log`)
  const scheduler = await componentKubeconfig(plane, "system:kube-scheduler")
  startProgram(
    world.inside([files.scheduler, `--kubeconfig=${scheduler}`, "--leader-elect=false", "--bind-address=127.0.0.1"]),
    log("kube-scheduler")
  )
  const serving = await plane.servingCertificate(node, world.address)
  const kubelet = await write(
    "kubelet.json",
    kubeletConfiguration({
      address: world.address,
      clientCa: join(directory, "ca.crt"),
      certificate: await write("kubelet.crt", serving.cert),
      key: await write("kubelet.key", serving.key),
      resolver: await write("resolv.conf", `nameserver ${nodeServices.dns}\n`)
    })
  )
  const own = await componentKubeconfig(plane, `system:node:${node}`, ["system:nodes"])
  const proxy = await write(
    "kube-proxy.json",
    proxyConfiguration(await componentKubeconfig(plane, "system:kube-proxy"), node)
  )
  startProgram(world.inside([files.kubeProxy, `--config=${proxy}`]), log("kube-proxy"))
  const flags = [`--kubeconfig=${own}`, `--hostname-override=${node}`, `--node-ip=${world.address}`]
  return () => startProgram(world.inside([files.kubelet, `--config=${kubelet}`, ...flags]), log("kubelet"))
}

/** The world of a cluster and all that runs in it, until the scope ends. */
const startParts = (options: NodeClusterOptions) =>
  Effect.gen(function* () {
    const { directory, files, name, number, programs } = options
    const attempt = <A>(what: string, make: () => Promise<A>) =>
      Effect.tryPromise({ try: make, catch: failed(`${what} of ${name}`) })
    const world = yield* Effect.acquireRelease(
      attempt("the world", () =>
        startWorld({
          name: worldName(name),
          address: `10.99.0.${number}`,
          folder: join(directory, name, "world")
        })
      ),
      ({ close }) => Effect.promise(close)
    )
    const runtime = attempt("containerd", () => startContainerd(world, `10.244.${number}.0/24`, files))
    const plane = Effect.acquireRelease(
      attempt("the control plane", () =>
        startControlPlane({
          name,
          programs,
          serviceAccounts: true,
          audit: true,
          network: {
            address: world.address,
            inNetwork: world.inNetwork,
            forward: async (port) => void (await world.forward({ host: "127.0.0.1", port }, port))
          }
        })
      ),
      (started) => Effect.promise(() => started.close())
    )
    const [, started] = yield* Effect.all([runtime, plane], { concurrency: "unbounded" })
    const makeKubelet = yield* attempt("the node", () => startNode(world, started, options))
    yield* attempt("CoreDNS", () => started.apply(readFileSync(coredns, "utf8")))
    return { world, plane: started, makeKubelet }
  })

const isReady = (cluster: RealCluster, name: string): boolean =>
  asObjects(at(cluster.store.get(nodes, undefined, name), "status", "conditions")).some(
    ({ status, type }) => type === "Ready" && status === "True"
  )

/** Starts a cluster, and waits until its node is ready. All of it ends with the scope. */
export const startNodeCluster = (
  options: NodeClusterOptions
): Effect.Effect<NodeCluster, PlaygroundError, Scope.Scope> =>
  Effect.gen(function* () {
    const { directory, name } = options
    const { makeKubelet, plane, world } = yield* startParts(options)
    const { cluster } = yield* openCluster(name, plane, join(directory, name))
    let kubelet = makeKubelet()
    const log = join(world.folder, "kubelet.log")
    const died = Effect.flatMap(
      Effect.promise(() => endOf(log)),
      (last) =>
        new PlaygroundError({ detail: `the kubelet of ${name} ended at its start; the end of its log:\n${last}` })
    )
    yield* seen(
      `the node of ${name}`,
      Effect.suspend(() => {
        if (kubelet.exitCode !== null || kubelet.signalCode !== null) return died
        return Effect.succeed(isReady(cluster, name) ? true : undefined)
      }),
      () => JSON.stringify(at(cluster.store.get(nodes, undefined, name), "status", "conditions") ?? "no node")
    ).pipe(Effect.mapError(({ message }) => new PlaygroundError({ detail: message })))
    return {
      ...cluster,
      world,
      serverForOthers: `https://${world.address}:${new URL(plane.server).port}`,
      stopKubelet: () => killProgram(kubelet),
      startKubelet: () => {
        kubelet = makeKubelet()
        return Promise.resolve()
      }
    }
  })
