/**
 * Measures what a developer feels of one session, on real nodes: the client without any operator, an operator of one
 * cluster, and a primary over three clusters take turns. Needs mirrord's own programs, and `npm run node`.
 */

import { type ChildProcess, execFile, spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { Agent, request } from "node:http"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { setTimeout as pause } from "node:timers/promises"
import { promisify } from "node:util"
import { Effect, Exit, Logger, Scope } from "effect"
import { jobs, services } from "../../lab/cluster/store/resource-refs.ts"
import { killProcessesOf, processesWith } from "../../lab/playground/branches/home-processes.ts"
import { freePort } from "../../lab/playground/free-ports.ts"
import { installChart } from "../../lab/playground/kubernetes/helm-release.ts"
import { findPrograms, isMissing } from "../../lab/playground/kubernetes/programs.ts"
import { workloadNamespace, workloadTarget } from "../../lab/playground/manifests.ts"
import { findNode, nodeImages } from "../../lab/playground/node/node-files.ts"
import {
  type NodePlayground,
  type RunningNode,
  startNodePlayground
} from "../../lab/playground/node/node-playground.ts"
import { waitForClusters } from "../../lab/playground/readiness.ts"
import { topology } from "../../lab/playground/topology.ts"
import { asString, at } from "../../src/domain/json.ts"
import { median, spread } from "./spread.ts"

/** A way to a session. */
interface Way {
  readonly name: string
  readonly kubeconfig: string
  readonly settings: object
  /** Whether a second session shares the first one's agent. Without an operator the pod takes no second agent. */
  readonly sharesAgents: boolean
}

const variable = (name: string): string => {
  const value = process.env[name]
  if (value === undefined) throw new Error(`${name} is not set: this benchmark needs mirrord's own programs`)
  return value
}

/** The figures of all rounds, by what is measured and by the way. */
class Figures {
  readonly #all = new Map<string, Map<string, Array<number>>>()

  add(what: string, way: string, value: number): void {
    const ways = this.#all.get(what) ?? new Map<string, Array<number>>()
    this.#all.set(what, ways)
    ways.set(way, [...(ways.get(way) ?? []), value])
  }

  /** A block for each measurement; the ratio is that of the medians to the first way's. */
  *lines(): Iterable<string> {
    for (const [what, ways] of this.#all) {
      yield what
      const [first = []] = ways.values()
      for (const [way, values] of ways) {
        const ratio = `×${(median(values) / median(first)).toFixed(2)}`
        yield `  ${way.padEnd(26)} ${spread(values, 1).padEnd(26)} ${ratio}`
      }
      yield ""
    }
  }
}

/** The port at which the Service `bulk` sends {@link bulkBytes} to everybody who connects. */
const bulkPort = 9000
const bulkBytes = 64 * 1024 * 1024
/** Each is an open, two reads and a close: 10,000 calls, in the short form a tenth. */
const smallFiles = (isShort: boolean): number => (isShort ? 250 : 2_500)
/** In seconds: how long a session outlives its client here, and then an agent its session. */
const [sessionTtlSecs, agentIdleSecs] = [2, 2]

/** A server for outgoing connections, in the image of the demo workload. */
const bulkServer = `require("node:net").createServer((socket) => {
  socket.on("error", () => {})
  socket.end(Buffer.alloc(${bulkBytes}))
}).listen(${bulkPort})`

const bulkObjects = (): string => {
  const labels = { app: "bulk" }
  const command = ["/nodejs/bin/node", "-e", bulkServer]
  const template = { metadata: { labels }, spec: { containers: [{ name: "bulk", image: nodeImages.demo, command }] } }
  return [
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "bulk" },
      spec: { selector: { matchLabels: labels }, template }
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "bulk" },
      spec: { selector: labels, ports: [{ port: bulkPort }] }
    }
  ]
    .map((object) => JSON.stringify(object))
    .join("\n---\n")
}

const environmentOf = ({ kubeconfig }: Way, home: string) => ({
  PATH: process.env["PATH"],
  HOME: home,
  TMPDIR: join(home, "tmp"),
  KUBECONFIG: kubeconfig,
  MIRRORD_TELEMETRY: "false",
  MIRRORD_PROGRESS_MODE: "off"
})

/** Ends the sessions of a way now. */
const endSessions = async (way: Way, home: string): Promise<void> => {
  if (!way.sharesAgents) return
  await promisify(execFile)(variable("MIRRORD_BIN"), ["operator", "session", "kill-all"], {
    cwd: home,
    env: environmentOf(way, home)
  })
}

/** A running command of the client, whose lines have the times at which they came, in ms since its start. */
class App {
  readonly child: ChildProcess
  readonly #seen = new Map<string, number>()
  readonly #began = performance.now()
  #said = ""

  /** `command`: of the client, and its own arguments. */
  constructor(way: Way, home: string, [command = "", ...rest]: ReadonlyArray<string>) {
    mkdirSync(join(home, "tmp/mirrord"), { recursive: true })
    const config = join(home, "mirrord.json")
    writeFileSync(config, JSON.stringify(way.settings))
    const args = [command, "--target", workloadTarget, "-f", config, ...rest]
    this.child = spawn(variable("MIRRORD_BIN"), args, {
      cwd: home,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: environmentOf(way, home)
    })
    const { stderr, stdout } = this.child
    stderr?.on("data", (text) => (this.#said += String(text)))
    if (stdout !== null)
      createInterface({ input: stdout }).on("line", (line) => {
        const event = line.startsWith("{") ? (JSON.parse(line) as { readonly event: string }).event : ""
        if (!this.#seen.has(event)) this.#seen.set(event, performance.now() - this.#began)
      })
  }

  /** When the first event of a name came. */
  async at(event: string): Promise<number> {
    for (;;) {
      const seen = this.#seen.get(event)
      if (seen !== undefined) return seen
      if (this.child.exitCode !== null) throw new Error(`the client ended before ${event}: ${this.#said}`)
      await pause(1)
    }
  }

  kill(home: string): void {
    try {
      if (this.child.pid !== undefined) process.kill(-this.child.pid, "SIGKILL")
    } catch {
      // The client has ended already.
    }
    killProcessesOf(home)
  }
}

const layerApp = (...actions: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...["exec", "--", variable("LAYER_APP_BIN")],
  ...actions
]

/** One request; the result is the answer's text. */
const ask = (url: string, agent: Agent, bytes = 0): Promise<string> =>
  new Promise((resolve, reject) => {
    const method = bytes === 0 ? "GET" : "POST"
    const sent = request(url, { agent, method, timeout: 5_000 }, (answer) => {
      let text = ""
      answer.setEncoding("utf8").on("data", (part: string) => (text += part))
      answer.on("end", () => resolve(text)).on("error", reject)
    })
    sent.on("timeout", () => sent.destroy(new Error("no answer within 5 s")))
    sent.on("error", reject).end(Buffer.alloc(bytes))
  })

/** Waits until requests are answered by whom they should; each is on a connection of its own. */
const answeredBy = async (url: string, who: string): Promise<void> => {
  for (;;) {
    const answer = await ask(url, new Agent()).catch(() => "")
    if (answer.startsWith(who)) return
    await pause(20)
  }
}

const quantile = (all: ReadonlyArray<number>, part: number): number =>
  all.toSorted((a, b) => a - b)[Math.min(all.length - 1, Math.floor(all.length * part))] ?? 0

/** Round trips one after the other, and as many as go at once. */
const measureRequests = async (figures: Figures, way: string, url: string, isShort: boolean): Promise<void> => {
  const agent = new Agent({ keepAlive: true, maxSockets: 16 })
  const times: Array<number> = []
  for (let count = 0; count < (isShort ? 200 : 1_000); count++) {
    const began = performance.now()
    await ask(url, agent)
    times.push(performance.now() - began)
  }
  figures.add("request and answer, p50, ms", way, quantile(times, 0.5))
  figures.add("request and answer, p99, ms", way, quantile(times, 0.99))
  for (const [bytes, total] of [
    [1_024, isShort ? 500 : 2_000],
    [65_536, isShort ? 200 : 500]
  ] as const) {
    const began = performance.now()
    let left = total
    const worker = async (): Promise<void> => {
      while (left-- > 0) await ask(url, agent, bytes)
    }
    await Promise.all(Array.from({ length: 16 }, worker))
    figures.add(
      `requests a second, bodies of ${bytes / 1_024} KiB, 16 at once`,
      way,
      total / ((performance.now() - began) / 1_000)
    )
  }
  agent.destroy()
}

interface Surroundings {
  readonly entry: string
  /** A new home folder for the client. */
  readonly home: () => string
  readonly isShort: boolean
  /** How many agents are left. */
  readonly agents: () => number
}

/** One session from its start to the end of all that it made. */
const measureSession = async (
  figures: Figures,
  way: Way,
  { agents, entry, home, isShort }: Surroundings
): Promise<void> => {
  while (agents() > 0) await pause(50)
  const own = home()
  const actions = ["--env", "CLUSTER", "--resolve", "myapp", "--connect", "myapp:7000", "--read", "/nodejs/bin/node"]
  const app = new App(way, own, layerApp(...actions, "--steal", "80"))
  try {
    const started = await app.at("session")
    figures.add("start until the program runs, no agent there, ms", way.name, started)
    // Without an operator each start makes an agent.
    if (!way.sharesAgents) figures.add("start until the program runs, an agent is there, ms", way.name, started)
    const [env, resolved, connected, read] = [
      await app.at("env"),
      await app.at("resolve"),
      await app.at("connect"),
      await app.at("file")
    ]
    figures.add("a name, ms", way.name, resolved - env)
    figures.add("an outgoing connection with one answer, ms", way.name, connected - resolved)
    figures.add("a file of 64 MiB, ms", way.name, read - connected)
    figures.add("start until the port is stolen, ms", way.name, await app.at("subscribed"))
    await answeredBy(entry, "layer-app")
    await measureRequests(figures, way.name, entry, isShort)
    if (way.sharesAgents) {
      const other = home()
      const second = new App(way, other, layerApp("--env", "CLUSTER"))
      try {
        figures.add("start until the program runs, an agent is there, ms", way.name, await second.at("session"))
      } finally {
        second.kill(other)
      }
    }
  } finally {
    app.kill(own)
  }
  const killed = performance.now()
  await answeredBy(entry, "hello")
  figures.add("the client is killed, until the pod answers, ms", way.name, performance.now() - killed)
  while (agents() > 0) await pause(50)
  figures.add("the client is killed, until no agent is left, ms", way.name, performance.now() - killed)
}

/** All that `bulk` sends through a port of this machine, once that is open. */
const receiveBulk = async (port: number): Promise<void> => {
  for (;;) {
    const received = await new Promise<number>((resolve) => {
      let bytes = 0
      const socket = connect(port, "127.0.0.1")
      socket.on("data", ({ length }) => (bytes += length))
      socket.on("error", () => undefined).on("close", () => resolve(bytes))
    })
    if (received === bulkBytes) return
    if (received > 0) throw new Error(`${received} of ${bulkBytes} bytes came`)
    await pause(20)
  }
}

const bulkFigure = "64 MiB of an outgoing connection, ms"

/** Small files and a stream, in sessions of their own, which end with their programs. */
const measureStreams = async (figures: Figures, way: Way, { agents, home, isShort }: Surroundings): Promise<void> => {
  const measure = async (args: ReadonlyArray<string>, use: (app: App) => Promise<void>): Promise<void> => {
    while (agents() > 0) await pause(50)
    const own = home()
    const app = new App(way, own, args)
    try {
      await use(app)
      app.child.kill("SIGINT")
      // The client's internal proxy ends a session; one that is left waits for its client.
      while (processesWith("HOME", own).length > 0) await pause(50)
      await endSessions(way, own)
    } finally {
      app.kill(own)
    }
  }
  const files = smallFiles(isShort)
  const reads = Array.from({ length: files }, () => ["--read", "/etc/hostname"]).flat()
  await measure(layerApp("--env", "CLUSTER", ...reads, "--resolve", "myapp"), async (app) => {
    const began = await app.at("env")
    figures.add(`${4 * files} calls for small files, ms`, way.name, (await app.at("resolve")) - began)
  })
  const port = await freePort()
  await measure(["port-forward", "-L", `${port}:bulk:${bulkPort}`], async () => {
    await receiveBulk(port)
    const began = performance.now()
    await receiveBulk(port)
    figures.add(bulkFigure, way.name, performance.now() - began)
  })
}

/** The same from this machine to the Service. */
const measureDirectly = async (figures: Figures, bulk: number): Promise<void> => {
  const began = performance.now()
  await receiveBulk(bulk)
  figures.add(bulkFigure, "the Service itself", performance.now() - began)
}

const startFleet = (directory: string): Effect.Effect<NodePlayground, { readonly message: string }, Scope.Scope> =>
  Effect.gen(function* () {
    const [programs, files] = [findPrograms(process.env), findNode(process.env)]
    if (isMissing(programs)) return yield* Effect.fail({ message: "run `npm run kubernetes` first" })
    if (typeof files === "string") return yield* Effect.fail({ message: files })
    const playground = yield* startNodePlayground({
      topology: topology("three-workloads", 0),
      programs,
      files,
      directory,
      sessionTtlSecs,
      remoteSessionTimeoutSecs: 300,
      progress: () => Effect.void
    })
    // Otherwise sessions and agents wait a minute for another client, and so would each round.
    const values = {
      operator: { sessionTtlSeconds: sessionTtlSecs },
      agent: { extraEnv: { MIRRORD_AGENT_IDLE_TTL: String(agentIdleSecs) } }
    }
    for (const { cluster } of playground.clusters)
      yield* installChart(programs, cluster, values, { flags: ["--reuse-values", "--wait"] })
    for (const { cluster: each, description } of playground.clusters)
      if (description.isDefault) yield* Effect.promise(() => each.plane.apply(bulkObjects()))
    yield* waitForClusters(playground.clusters, playground.primary.cluster, () => Effect.void)
    return playground
  })

/** A port of this machine that leads to the Service `bulk`. */
const forwardToBulk = ({ cluster: { store, world } }: RunningNode): Promise<number> => {
  const host = asString(at(store.get(services, workloadNamespace, "bulk"), "spec", "clusterIP")) ?? ""
  return world.forward({ host, port: bulkPort })
}

/** `npm run bench -- session`. */
export async function* session(isShort: boolean): AsyncIterable<string> {
  const directory = mkdtempSync(join(tmpdir(), "braid-bench-"))
  const scope = Effect.runSync(Scope.make())
  try {
    const { clusters, primary } = await Effect.runPromise(
      startFleet(directory).pipe(Scope.provide(scope), Effect.provide(Logger.layer([])))
    )
    const own = clusters.find(({ description }) => description.isDefault)
    const entry = own?.entry
    if (own === undefined || entry === undefined) throw new Error("the fleet has no default cluster")
    const { kubeconfigPath } = own.cluster
    const ways: ReadonlyArray<Way> = [
      {
        name: "client without operator",
        kubeconfig: kubeconfigPath,
        settings: { operator: false },
        sharesAgents: false
      },
      { name: "operator, one cluster", kubeconfig: kubeconfigPath, settings: {}, sharesAgents: true },
      { name: "operator, three clusters", kubeconfig: primary.cluster.kubeconfigPath, settings: {}, sharesAgents: true }
    ]
    let homes = 0
    const agents = (): number =>
      clusters.flatMap(({ cluster: { store } }) =>
        store.list(jobs, {}).items.filter(({ metadata }) => metadata.name?.startsWith("mirrord-agent-"))
      ).length
    const home = (): string => join(directory, `home-${homes++}`)
    const surroundings = { agents, entry, home, isShort }
    const figures = new Figures()
    const bulk = await forwardToBulk(own)
    yield `here a session ends ${sessionTtlSecs} s after its client, and an agent ${agentIdleSecs} s after its session`
    const rounds = isShort ? 3 : 7
    for (let round = 1; round <= rounds; round++) {
      yield `round ${round} of ${rounds}`
      for (const way of ways) {
        await measureSession(figures, way, surroundings)
        await measureStreams(figures, way, surroundings)
      }
      await measureRequests(figures, "the pod itself", entry, isShort)
      await measureDirectly(figures, bulk)
    }
    yield* figures.lines()
  } finally {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    rmSync(directory, { recursive: true, force: true })
  }
}
