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
import { Deferred, Effect, type Scope } from "effect"
import { asObjects, at } from "../../../src/domain/json.ts"
import { kubeconfigYaml } from "../../cluster/kubeconfig.ts"
import { nodes } from "../../cluster/store/resource-refs.ts"
import { seen } from "../awaited.ts"
import { type ControlPlane, nodeServices, startControlPlane } from "../kubernetes/control-plane.ts"
import type { Programs } from "../kubernetes/programs.ts"
import { failed, openCluster, type RealCluster } from "../kubernetes/real-cluster.ts"
import { PlaygroundError } from "../readiness.ts"
import { type Command, startProgram } from "../started-program.ts"
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
  /** Fails when a program of the node ends by itself, with the end of its log. */
  readonly ended: Effect.Effect<never, PlaygroundError>
}

export interface NodeClusterOptions {
  readonly name: string
  /** Its place among the clusters of this machine, from 1 on: the node is 10.99.0.n, its pods are 10.244.n.0/24. */
  readonly number: number
  readonly programs: Programs
  readonly files: NodeFiles
  readonly directory: string
  /** Whether the node enforces NetworkPolicies; not unless given. */
  readonly enforcesPolicies?: boolean
}

/** The programs of one node. */
interface NodePrograms {
  /** Starts a program in the node's world. `name`: of its log, and for people. */
  readonly start: (name: string, command: Command) => ChildProcess
  /** Ends a program as by SIGKILL. */
  readonly kill: (child: ChildProcess) => Promise<void>
  /** As in {@link NodeCluster}. */
  readonly ended: NodeCluster["ended"]
}

/** Where the parts of a node are started, and from which files. */
interface Place<Files = NodeFiles> {
  readonly world: World
  readonly programs: NodePrograms
  readonly files: Files
}

/** Starts programs of a node, and notices each that ends although nothing here has killed it. */
export const nodePrograms = ({ folder, inside }: World, cluster: string): NodePrograms => {
  const first = Deferred.makeUnsafe<never, PlaygroundError>()
  const killed = new Set<ChildProcess>()
  return {
    start: (name, command) => {
      const log = join(folder, `${name}.log`)
      const child = startProgram(inside(command), log)
      const tell = async (): Promise<void> => {
        // The last lines are still being written.
        await pause()
        const detail = `the ${name} of ${cluster} has ended; the end of its log:\n${await endOf(log)}`
        Deferred.doneUnsafe(first, Effect.fail(new PlaygroundError({ detail })))
      }
      child.once("close", () => void (killed.has(child) || tell()))
      return child
    },
    kill: (child) => {
      killed.add(child)
      return killProgram(child)
    },
    ended: Deferred.await(first)
  }
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 100))

/** Repeats an action until it succeeds, unless it is not wanted any more. */
const untilItWorks = async (action: () => Promise<unknown>, signal: AbortSignal): Promise<void> => {
  for (;;) {
    try {
      await action()
      return
    } catch (error) {
      if (signal.aborted) throw error
      await pause()
    }
  }
}

/** Starts containerd in a world, and gives it the images. `pods`: their addresses. */
export const startContainerd = async (
  { files: { images }, programs, world }: Place<Pick<NodeFiles, "images">>,
  pods: string,
  signal: AbortSignal
): Promise<void> => {
  const etc = join(world.folder, "root/etc")
  await mkdir(join(etc, "cni/net.d"), { recursive: true })
  await writeFile(join(etc, "cni/net.d/10-node.conflist"), networkConfiguration(pods))
  await writeFile(join(etc, "containerd/config.toml"), containerdConfiguration(nodeImages.pause))
  programs.start("containerd", ["containerd"])
  const ctr = (...args: ReadonlyArray<string>) => {
    const [file, ...rest] = world.inside(["ctr", "--namespace", "k8s.io", ...args])
    return run(file, rest)
  }
  await untilItWorks(() => ctr("version"), signal)
  await Promise.all(images.map((image) => ctr("images", "import", image)))
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

/** Starts the scheduler and the proxy; the result starts a kubelet. */
const startNode = async (
  { files, programs, world }: Place,
  plane: ControlPlane,
  node: string
): Promise<() => ChildProcess> => {
  const { directory } = plane
  const write = async (file: string, text: string): Promise<string> => {
    const path = join(directory, file)
    await writeFile(path, text, { mode: 0o600 })
    return path
  }
  const scheduler = await componentKubeconfig(plane, "system:kube-scheduler")
  const alone = ["--leader-elect=false", "--bind-address=127.0.0.1"]
  programs.start("kube-scheduler", [files.scheduler, `--kubeconfig=${scheduler}`, ...alone])
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
  programs.start("kube-proxy", [files.kubeProxy, `--config=${proxy}`])
  const flags = [`--kubeconfig=${own}`, `--hostname-override=${node}`, `--node-ip=${world.address}`]
  return () => programs.start("kubelet", [files.kubelet, `--config=${kubelet}`, ...flags])
}

/** Starts the program that enforces NetworkPolicies. */
const startPolicies = async ({ files, programs }: Place, plane: ControlPlane, node: string): Promise<void> => {
  const kubeconfig = await componentKubeconfig(plane, "network-policies")
  const services = `--service-cluster-ip-range=${nodeServices.range}`
  const flags = [`--kubeconfig=${kubeconfig}`, `--hostname-override=${node}`, services]
  programs.start("network-policies", [files.networkPolicies, ...flags])
}

/** The world of a cluster, until the scope ends. */
const makeWorld = ({ directory, name, number }: NodeClusterOptions) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: () =>
        startWorld({ name: worldName(name), address: `10.99.0.${number}`, folder: join(directory, name, "world") }),
      catch: failed(`the world of ${name}`)
    }),
    ({ close }) => Effect.promise(close)
  )

/** All that runs in the world of a cluster, until the scope ends. */
const startParts = (place: Place, { name, number, programs }: NodeClusterOptions) =>
  Effect.gen(function* () {
    const attempt = <A>(what: string, make: (signal: AbortSignal) => Promise<A>) =>
      Effect.tryPromise({ try: make, catch: failed(`${what} of ${name}`) })
    const { world } = place
    const runtime = attempt("containerd", (signal) => startContainerd(place, `10.244.${number}.0/24`, signal))
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
    const makeKubelet = yield* attempt("the node", () => startNode(place, started, name))
    yield* attempt("CoreDNS", () => started.apply(readFileSync(coredns, "utf8")))
    return { plane: started, makeKubelet }
  })

const isReady = (cluster: RealCluster, name: string): boolean =>
  asObjects(at(cluster.store.get(nodes, undefined, name), "status", "conditions")).some(
    ({ status, type }) => type === "Ready" && status === "True"
  )

const startIn = (place: Place, options: NodeClusterOptions) =>
  Effect.gen(function* () {
    const { directory, name } = options
    const { programs, world } = place
    const { makeKubelet, plane } = yield* startParts(place, options)
    const { cluster } = yield* openCluster({ name }, plane, join(directory, name))
    let kubelet = makeKubelet()
    yield* seen(
      `the node of ${name}`,
      Effect.sync(() => (isReady(cluster, name) ? true : undefined)),
      () => JSON.stringify(at(cluster.store.get(nodes, undefined, name), "status", "conditions") ?? "no node")
    ).pipe(Effect.mapError(({ message }) => new PlaygroundError({ detail: message })))
    // It looks for its node when it starts.
    if (options.enforcesPolicies === true)
      yield* Effect.tryPromise({
        try: () => startPolicies(place, plane, name),
        catch: failed(`the network policies of ${name}`)
      })
    return {
      ...cluster,
      world,
      serverForOthers: `https://${world.address}:${new URL(plane.server).port}`,
      stopKubelet: () => programs.kill(kubelet),
      startKubelet: () => {
        kubelet = makeKubelet()
        return Promise.resolve()
      },
      ended: programs.ended
    } satisfies NodeCluster
  })

/** Starts a cluster, and waits until its node is ready. All of it ends with the scope. */
export const startNodeCluster = (
  options: NodeClusterOptions
): Effect.Effect<NodeCluster, PlaygroundError, Scope.Scope> =>
  Effect.gen(function* () {
    const world = yield* makeWorld(options)
    const programs = nodePrograms(world, options.name)
    return yield* Effect.raceFirst(startIn({ world, programs, files: options.files }, options), programs.ended)
  })
