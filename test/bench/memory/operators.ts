/**
 * Operators whose memory is measured: three embedded clusters, in each of them the operator as the image starts it, in
 * a cgroup of the chart's limit, and sessions from a client stand-in through the API server of the primary.
 */

import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, Exit, Scope } from "effect"
import { newUser, openRawSession, type RawSession, type User } from "../../../lab/client/raw-session.ts"
import { processProgram } from "../../../lab/cluster/node/process-program.ts"
import type { Playground } from "../../../lab/playground/local-cluster.ts"
import { startPlayground } from "../../../lab/playground/playground.ts"
import { topology } from "../../../lab/playground/topology.ts"
import { bundle } from "../../../scripts/bundle.mjs"
import { image } from "../../../scripts/image.mjs"
import { asString, at } from "../../../src/domain/json.ts"
import { subnetOf } from "../../address-plan.ts"
import { memoryLimit } from "../../charts/memory-limit.ts"
import { cgroupProblem, memoryCgroup, type MemoryCgroup } from "../../support/memory-cgroup.ts"
import { quietNode } from "../../support/quiet-node.ts"
import { until } from "../../support/until.ts"

const root = fileURLToPath(new URL("../../..", import.meta.url))
/** Bundled with the operator: as a program of its own it would have tables of its own. */
const reporter = "test/bench/memory/report-memory.ts"
/** The real client's time between two pings, ms. */
const pingEvery = 30_000
/** Linux counts processor time in hundredths of a second; ms. */
const tick = 10
/** How many sessions begin at a time. */
const atOnce = 4

export const roles = { primary: "primary", "cluster-a": "default member", "cluster-b": "other member" } as const
export type ClusterName = keyof typeof roles
export const clusterNames = Object.keys(roles) as ReadonlyArray<ClusterName>

/** In bytes. */
export interface Memory {
  readonly rss: number
  readonly heapUsed: number
  readonly external: number
}

/** The memory, sockets, timers and holdings of an operator after a collection of garbage. */
export interface Left extends Memory {
  readonly sockets: number
  readonly timers: number
  /** Things held for sessions, by kind (src/app/kernel/holdings.ts). */
  readonly holdings: Readonly<Record<string, number>>
}

/** The operators of one run. */
export class Operators {
  readonly #folder = mkdtempSync(join(tmpdir(), "braid-memory-"))
  readonly #bundle = join(this.#folder, "operator")
  readonly #groups = new Map<string, MemoryCgroup>()
  readonly #scope = Effect.runSync(Scope.make())
  readonly #users: Array<User> = []
  readonly sessions: Array<RawSession> = []
  #opened = 0n
  #playground: Playground | undefined
  #pings: NodeJS.Timeout | undefined

  /** Starts the operators; `users` with a certificate each. */
  async start(users: number): Promise<void> {
    const problem = cgroupProblem()
    if (problem !== undefined) throw new Error(`memory: ${problem}`)
    await bundle({ root, programs: { operator: image.program, reporter }, out: this.#bundle })
    const clusters = topology("management", subnetOf("memory of operators"))
    for (const { name } of clusters.clusters) this.#groups.set(name, memoryCgroup(name, memoryLimit))
    this.#playground = await this.#run(
      startPlayground({
        topology: clusters,
        directory: this.#folder,
        sessionTtlSecs: 60,
        remoteSessionTimeoutSecs: 120,
        operator: this.#program(),
        progress: () => Effect.void
      }).pipe(Effect.provide(quietNode))
    )
    for (let number = 0; number < users; number++) {
      const name = `user-${number}`
      this.#users.push(
        await this.#run(newUser(this.#playground.primary.cluster, name, join(this.#folder, `${name}.kubeconfig`)))
      )
    }
    this.#pings = setInterval(() => {
      for (const session of this.sessions) session.say({ _tag: "Ping" })
    }, pingEvery)
  }

  async close(): Promise<void> {
    clearInterval(this.#pings)
    await Effect.runPromise(Scope.close(this.#scope, Exit.void))
    for (const group of this.#groups.values()) group.remove()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  /** The URLs at which requests enter the workloads. */
  entries(): ReadonlyArray<string> {
    return this.#playground?.clusters.flatMap(({ entry }) => entry ?? []) ?? []
  }

  /** Opens more sessions, a few at a time. */
  async open(count: number): Promise<ReadonlyArray<RawSession>> {
    const opened: Array<RawSession> = []
    let left = count
    const openSome = async (): Promise<void> => {
      while (left-- > 0) opened.push(await this.#openOne())
    }
    await Promise.all(Array.from({ length: atOnce }, openSome))
    this.sessions.push(...opened)
    return opened
  }

  /** Opens a session for each that has ended, as on a machine that stood still for a while. */
  async replaceEnded(): Promise<void> {
    const open = this.sessions.filter((session) => session.ended() === undefined)
    const ended = this.sessions.length - open.length
    this.sessions.splice(0, this.sessions.length, ...open)
    await this.open(ended)
  }

  /** Resident memory as the kernel counts it, in bytes. */
  resident(cluster: ClusterName): number {
    const status = readFileSync(`/proc/${this.#pid(cluster)}/status`, "utf8")
    return Number(/^VmRSS:\s+(\d+) kB$/mu.exec(status)?.[1]) * 1024
  }

  /** Processor time since its start, ms. */
  cpu(cluster: ClusterName): number {
    const [, fields = ""] = readFileSync(`/proc/${this.#pid(cluster)}/stat`, "utf8").split(") ")
    const [user = 0, system = 0] = fields.split(" ").slice(11, 13).map(Number)
    return (user + system) * tick
  }

  /** Closes all sessions, and waits until nothing of them is left in any cluster. */
  async end(): Promise<void> {
    for (const { socket } of this.sessions.splice(0)) socket.terminate()
    await until("the end of all sessions and agents", () => (this.objects() === 0 ? true : undefined))
  }

  /** Sessions' objects and agents' Jobs, in all clusters. */
  objects(): number {
    const kinds = [
      { group: "operator.metalbear.co", version: "v1alpha", resource: "mirrordmulticlustersessions" },
      { group: "mirrord.metalbear.co", version: "v1alpha", resource: "mirrordclustersessions" },
      { group: "batch", version: "v1", resource: "jobs" }
    ]
    const stores = this.#playground?.clusters.map(({ cluster }) => cluster.store) ?? []
    return stores.flatMap((store) => kinds.map((kind) => store.list(kind).items.length)).reduce((a, b) => a + b, 0)
  }

  /** Collects garbage, and tells what is left. */
  async collected(cluster: ClusterName): Promise<Left> {
    const file = this.#report(cluster)
    rmSync(file, { force: true })
    process.kill(this.#pid(cluster), "SIGUSR2")
    await until(`the memory of ${cluster}`, () => (existsSync(file) ? true : undefined))
    return JSON.parse(readFileSync(file, "utf8")) as Left
  }

  #run<A, E>(effect: Effect.Effect<A, E, Scope.Scope>): Promise<A> {
    return Effect.runPromise(effect.pipe(Scope.provide(this.#scope)))
  }

  #report(cluster: string): string {
    return join(process.env["BENCH_SNAPSHOT"] ?? this.#folder, `memory-${cluster}`)
  }

  /** As a user does on a machine that stood still for a while, it begins again if the session has ended meanwhile. */
  async #openOne(): Promise<RawSession> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#tryOne()
      } catch (error) {
        if (tries === 5) throw error
      }
    }
  }

  /** As a real client: it agrees on the version, asks for the environment and mirrors a port. */
  async #tryOne(): Promise<RawSession> {
    const number = this.#opened++
    const user = this.#users[Number(number) % this.#users.length]
    if (user === undefined) throw new Error("memory: there are no users")
    const session = await this.#run(openRawSession(user, 0xb0_0000n + number))
    const env = session.hear(({ _tag }) => (_tag === "GetEnvVarsResponse" ? true : undefined))
    session.say({ _tag: "GetEnvVarsRequest", value: { envVarsFilter: new Set(), envVarsSelect: new Set(["*"]) } })
    await env
    const subscribed = session.hear((message) =>
      message._tag === "Tcp" && message.value._tag === "SubscribeResult" ? true : undefined
    )
    session.say({ _tag: "Tcp", value: { _tag: "PortSubscribe", value: 80 } })
    await subscribed
    return session
  }

  /** The operator is the only process of its group. */
  #pid(cluster: ClusterName): number {
    return Number(readFileSync(this.#groups.get(cluster)?.procs ?? "", "utf8").trim())
  }

  #program() {
    const clusterOf = (pod: unknown): string => asString(at(pod, "spec", "nodeName"))?.replace(/-node$/u, "") ?? ""
    return processProgram({
      command: ({ pod }) => [
        "/bin/sh",
        "-c",
        'echo $$ > "$0" && exec "$@"',
        this.#groups.get(clusterOf(pod))?.procs ?? "",
        process.execPath,
        ...image.options,
        ...["--expose-gc", "--import", join(this.#bundle, "reporter.mjs")],
        join(this.#bundle, "operator.mjs"),
        "operator"
      ],
      env: ({ pod }) => ({
        ...image.environment,
        BENCH_MEMORY: this.#report(clusterOf(pod)),
        ...(process.env["BENCH_SNAPSHOT"] === undefined ? {} : { BENCH_SNAPSHOT: process.env["BENCH_SNAPSHOT"] }),
        // On a busy machine the leader must not change in between.
        OPERATOR_LEASE_DURATION_SECS: "300",
        OPERATOR_LEASE_RENEW_DEADLINE_SECS: "240"
      })
    })
  }
}
