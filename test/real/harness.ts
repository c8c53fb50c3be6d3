/** Playgrounds and commands for tests with mirrord's own programs: start, wait, clean up. */

import { type ChildProcess, spawn } from "node:child_process"
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import * as http from "node:http"
import { constants, tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import type { Readable } from "node:stream"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Exit, type FileSystem, Scope } from "effect"
import { afterAll, beforeAll, expect, type TestOptions } from "vitest"
import type { EmbeddedCluster } from "../../lab/cluster/embedded-cluster.ts"
import { pods } from "../../lab/cluster/store/resource-refs.ts"
import { killProcessesOf } from "../../lab/playground/branches/home-processes.ts"
import { type Release, startKubernetesPlayground } from "../../lab/playground/kubernetes/kubernetes-playground.ts"
import { programsIn } from "../../lab/playground/kubernetes/programs.ts"
import type { RealCluster } from "../../lab/playground/kubernetes/real-cluster.ts"
import type { LocalCluster, Playground, RunningCluster } from "../../lab/playground/local-cluster.ts"
import { operatorNamespace } from "../../lab/playground/manifests.ts"
import { operatorProgram, type PlaygroundOptions, startPlayground } from "../../lab/playground/playground.ts"
import { topology, type TopologyName } from "../../lab/playground/topology.ts"
import { type StartTime, unexpectedCalls } from "../charts/unexpected-calls.ts"
import type { Need } from "../suites.ts"
import { describeWith } from "../support/describe-with.ts"
import { mirrordVariables } from "../support/outside-programs.ts"
import { type OperatorLog, showOperatorLogs } from "../support/show-operator-logs.ts"
import { stagedProgram } from "../support/staged-image.ts"
import { until } from "../support/until.ts"
import { developers, developersBindings, developersRoles } from "./developers.ts"

/** The user of every client here; the members' API servers must never see it. */
export const clientUser = "ann"
const sessionTtlSecs = 5
/** The chart's default, so that no cluster of a loaded machine ends a session by being slow. */
const remoteSessionTimeoutSecs = 300
/**
 * Seconds after which a connection without a byte counts as no HTTP: filters let it pass to the workload. By the
 * chart's 2 s the sender of a loaded machine would decide that.
 */
const httpDetectionSecs = 60

const needOf = { mirrord: "mirrord", agent: "mirrord-agent", layerApp: "layer-app" } as const
export type Binary = keyof typeof needOf
export type Binaries<Needed extends Binary> = Readonly<Record<Needed, string>>

/** A suite with programs of mirrord's own, by their paths. `also`: what else it needs. */
export const describeReal = <const Needed extends Binary>(
  name: string,
  needed: ReadonlyArray<Needed>,
  body: (binaries: Binaries<Needed>) => void,
  { also = [], ...options }: TestOptions & { readonly also?: ReadonlyArray<Need> } = {}
): void => {
  const paths = needed.map((binary) => [binary, process.env[mirrordVariables[needOf[binary]]] ?? ""])
  const needs = [...also, ...needed.map((binary) => needOf[binary])]
  describeWith(needs, name, () => body(Object.fromEntries(paths) as Binaries<Needed>), options)
}

export interface RealPlayground<Cluster extends LocalCluster = EmbeddedCluster> {
  readonly playground: () => Playground<Cluster>
  readonly cluster: (name: string) => RunningCluster<Cluster>
  /**
   * Kubeconfig with one cluster alone, the primary unless given, for {@link clientUser}, who is one of the
   * {@link developers}.
   */
  readonly kubeconfig: (cluster?: string) => string
  /** A new home folder for the client. */
  readonly home: (name: string) => string
  /** From now on operators have the rights of this repository's chart, after those of another release. */
  readonly rightsBegin: () => void
  /** From now on operators may be refused calls to a cluster, because the test takes their rights away. */
  readonly rightsEnd: (cluster: string) => void
  /** Starts the API server of a cluster again, which was stopped, and waits until it is ready. */
  readonly restart: (cluster: string) => Promise<void>
}

/** Embedded clusters or real ones. */
export type AnyRealPlayground = RealPlayground<LocalCluster>

export interface RealPlaygroundOptions {
  readonly topology: TopologyName
  /** The first of three /16 networks below 127.0.0.0/8; no two playgrounds may share a network at a time. */
  readonly subnet: number
  /** Default {@link sessionTtlSecs}. */
  readonly sessionTtlSecs?: number
  /** As in `KubernetesPlaygroundOptions`. Calls are not compared with the chart's rights before `rightsBegin`. */
  readonly release?: Release
  /** As in `KubernetesPlaygroundOptions`. */
  readonly isApart?: boolean
  /** As in `KubernetesPlaygroundOptions`. */
  readonly peopleGroups?: ReadonlyArray<string>
  /** Whether to run `helm test`. */
  readonly runsDoctor?: boolean
}

type EmbeddedSetting =
  | "agentProtocols"
  | "branchEngines"
  | "findsClusters"
  | "hasBranches"
  | "images"
  | "primaryBranchEngines"
  | "primaryReplicas"

interface EmbeddedOptions
  extends
    Omit<RealPlaygroundOptions, "release" | "isApart" | "peopleGroups">,
    Pick<PlaygroundOptions, EmbeddedSetting> {
  /** How long an agent waits for another client; the operator's default unless given. */
  readonly agentIdleTtlSecs?: number
  /** Default {@link remoteSessionTimeoutSecs}. */
  readonly remoteSessionTimeoutSecs?: number
  /** Whether members refuse sessions, as policies tell them. */
  readonly refusesSessions?: boolean
  /** Starts a server that stands in for SQS, and gives its URL; no queues are split unless given. */
  readonly queues?: Effect.Effect<string, { readonly message: string }, Scope.Scope>
}

const settings = (options: EmbeddedOptions, directory: string) => ({
  topology: topology(options.topology, options.subnet),
  directory,
  sessionTtlSecs: options.sessionTtlSecs ?? sessionTtlSecs,
  remoteSessionTimeoutSecs: options.remoteSessionTimeoutSecs ?? remoteSessionTimeoutSecs,
  progress: () => Effect.void
})

/**
 * A playground for the tests of the calling `describe`, with the operator as its image holds it; its processes and
 * files are removed after them.
 */
export const usePlayground = ({ agentIdleTtlSecs, ...options }: EmbeddedOptions): RealPlayground =>
  useStarted(options, {
    start: Effect.fnUntraced(function* (directory) {
      const { queues } = options
      return yield* startPlayground({
        ...options,
        ...settings(options, directory),
        ...(queues && { sqsEndpoint: yield* queues }),
        operator: operatorProgram(yield* Effect.promise(stagedProgram)),
        agentEnv: {
          MIRRORD_AGENT_HTTP_DETECTION_TIMEOUT: String(httpDetectionSecs),
          ...(agentIdleTtlSecs !== undefined && { MIRRORD_AGENT_IDLE_TTL: String(agentIdleTtlSecs) })
        }
      })
    }),
    giveDevelopersRights: ({ apply }) =>
      Promise.resolve(apply(`${developersRoles(options.hasBranches === true)}---\n${developersBindings}`))
  })

/** A playground on real control planes, with the programs of a folder. It needs six /16 networks below 127.0.0.0/8. */
export const useKubernetesPlayground = (assets: string, options: RealPlaygroundOptions): RealPlayground<RealCluster> =>
  useStarted(options, {
    start: (directory) =>
      Effect.flatMap(Effect.promise(stagedProgram), (braid) =>
        startKubernetesPlayground({
          ...settings(options, directory),
          braid,
          programs: programsIn(assets),
          isApart: options.isApart === true,
          peopleGroups: options.peopleGroups ?? [],
          ...(options.release === undefined ? {} : { release: options.release })
        })
      ),
    giveDevelopersRights: ({ plane }) => plane.apply(developersBindings)
  })

interface Start<Cluster extends LocalCluster> {
  readonly start: (
    directory: string
  ) => Effect.Effect<Playground<Cluster>, { readonly message: string }, Scope.Scope | FileSystem.FileSystem>
  readonly giveDevelopersRights: (cluster: Cluster) => Promise<void>
}

const operatorLogs = async (clusters: ReadonlyArray<RunningCluster<LocalCluster>>): Promise<Array<OperatorLog>> => {
  const logs = new Array<OperatorLog>()
  for (const { cluster, description, kubelet } of clusters) {
    for (const { metadata } of cluster.store.list(pods, { namespace: operatorNamespace }).items) {
      const found = kubelet.podLogs(operatorNamespace, metadata.name ?? "", undefined)
      if (metadata.labels?.["app"] !== "mirrord-operator" || found._tag !== "Lines") continue
      const lines = new Array<string>()
      for await (const line of found.lines) lines.push(line)
      logs.push([`${metadata.name} in ${description.name}`, lines])
    }
  }
  return logs
}

const useStarted = <Cluster extends LocalCluster>(
  {
    hasBranches = false,
    queues,
    refusesSessions = false,
    release,
    runsDoctor = false
  }: EmbeddedOptions & Pick<RealPlaygroundOptions, "release">,
  { giveDevelopersRights, start }: Start<Cluster>
): RealPlayground<Cluster> => {
  let directory = ""
  const kubeconfigOf = (cluster: string): string => join(directory, `${cluster}-client.kubeconfig`)
  const scope = Effect.runSync(Scope.make())
  let started: Playground<Cluster> | undefined
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), "braid-real-"))
    // Engines in pods are not root.
    chmodSync(directory, 0o711)
    started = await Effect.runPromise(
      start(directory).pipe(
        Effect.tap(({ clusters }) =>
          Effect.forEach(clusters, ({ cluster, description: { name } }) =>
            Effect.promise(() => giveDevelopersRights(cluster)).pipe(
              Effect.andThen(
                cluster.userKubeconfig({ user: clientUser, groups: [developers], path: kubeconfigOf(name) })
              )
            )
          )
        ),
        Scope.provide(scope),
        Effect.provide(NodeServices.layer)
      )
    )
  })
  const homes: Array<string> = []
  let rightsBegan = release === undefined ? 0 : Infinity
  const rightsEnded = new Map<string, number>()
  const starts = new Map<string, ReadonlyArray<StartTime>>()
  afterAll(async () => {
    for (const home of homes) killProcessesOf(home)
    const unexpected =
      started === undefined
        ? []
        : unexpectedCalls(started, {
            since: rightsBegan,
            until: rightsEnded,
            starts,
            runsDoctor,
            hasBranches,
            splitsQueues: queues !== undefined,
            refusesSessions
          })
    await Effect.runPromise(Scope.close(scope, Exit.void))
    rmSync(directory, { recursive: true, force: true })
    // After every suite operators must have the rights that they need, and the tables of test/charts/calls
    // list these rights.
    expect(unexpected).toEqual([])
  })
  const playground = (): Playground<Cluster> => {
    if (started === undefined) throw new Error("the playground has not been started")
    return started
  }
  const cluster = (name: string): RunningCluster<Cluster> => {
    const found = playground().clusters.find(({ description }) => description.name === name)
    if (found === undefined) throw new Error(`the playground has no cluster ${name}`)
    return found
  }
  showOperatorLogs(() => operatorLogs(started?.clusters ?? []))
  return {
    playground,
    cluster,
    kubeconfig: (name = playground().primary.description.name) => kubeconfigOf(name),
    home: (name) => {
      const home = mkdtempSync(join(directory, `home-${name}-`))
      homes.push(home)
      return home
    },
    rightsBegin: () => {
      rightsBegan = Date.now()
    },
    rightsEnd: (name) => void rightsEnded.set(name, Date.now()),
    restart: async (name) => {
      const from = Date.now()
      await Effect.runPromise(cluster(name).cluster.restart())
      starts.set(name, [...(starts.get(name) ?? []), { from, until: Date.now() }])
    }
  }
}

/** A JSON line of layer-app. */
export type LayerEvent = Readonly<Record<string, unknown>> & { readonly event: string }

const isEvent = (value: unknown): value is LayerEvent =>
  typeof value === "object" && value !== null && "event" in value && typeof value.event === "string"

const parseEvent = (line: string): LayerEvent | undefined => {
  if (!line.startsWith("{")) return undefined
  try {
    const value: unknown = JSON.parse(line)
    return isEvent(value) ? value : undefined
  } catch {
    return undefined
  }
}

export interface RunningCommand {
  readonly stdout: () => string
  readonly stderr: () => string
  /** Events of layer-app so far. */
  readonly events: () => ReadonlyArray<LayerEvent>
  readonly waitForEvent: (name: string, fits?: (event: LayerEvent) => boolean) => Promise<LayerEvent>
  readonly waitForOutput: (pattern: RegExp) => Promise<RegExpExecArray>
  /** The exit code, or 128 + n after signal n. */
  readonly ended: () => Promise<number>
  /** The same, as soon as there is one; undefined while the command runs. */
  readonly code: () => number | undefined
  /** Signals the process group; `SIGKILL` (the default) ends every process of the home. */
  readonly stop: (signal?: "SIGTERM" | "SIGKILL" | "SIGINT") => void
}

export interface CommandOptions {
  readonly file: string
  readonly args: ReadonlyArray<string>
  readonly home: string
  readonly kubeconfig: string
  /** Whether the client prints its progress, as lines of JSON; some commands tell their result only there. */
  readonly progress?: "off" | "json"
  /** More variables of the command. */
  readonly environment?: Readonly<Record<string, string>>
}

/** Body of the answer to a request on a connection of its own. The caller may give up earlier, with a signal. */
export const request = (
  url: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  signal?: AbortSignal
): Promise<string> =>
  new Promise((resolve, reject) => {
    const given = signal === undefined ? {} : { signal }
    const outgoing = http.get(
      new URL(path, url),
      { agent: false, headers: { connection: "close", ...headers }, ...given },
      (answer) => {
        let body = ""
        answer.setEncoding("utf8").on("data", (text: string) => {
          body += text
        })
        answer.on("end", () => resolve(body)).on("error", reject)
      }
    )
    outgoing.on("error", reject)
  })

const running = new Set<ChildProcess>()

const kill = (child: ChildProcess, signal: NodeJS.Signals): void => {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, signal)
  } catch {
    // The group has ended already.
  }
}

process.once("exit", () => {
  for (const child of running) kill(child, "SIGKILL")
})

/**
 * Runs a command of the client in an environment of its own: nothing of the caller's but `PATH`, and a home that only
 * commands with the same home share (the client caches certificates there).
 */
export const runClient = ({
  args,
  environment = {},
  file,
  home,
  kubeconfig,
  progress = "off"
}: CommandOptions): RunningCommand => {
  const temporary = join(home, "tmp")
  // The client requires this folder to exist.
  mkdirSync(join(temporary, "mirrord"), { recursive: true })
  const child = spawn(file, args, {
    cwd: home,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: process.env["PATH"],
      HOME: home,
      TMPDIR: temporary,
      KUBECONFIG: kubeconfig,
      MIRRORD_TELEMETRY: "false",
      MIRRORD_PROGRESS_MODE: progress,
      ...environment
    }
  })
  running.add(child)
  const events: Array<LayerEvent> = []
  const output = { stdout: "", stderr: "" }
  let bytesRead = 0
  const follow = (stream: Readable, name: "stdout" | "stderr"): void => {
    stream.on("data", ({ length }: Buffer) => (bytesRead += length))
    createInterface({ input: stream, crlfDelay: Infinity }).on("line", (line) => {
      output[name] += `${line}\n`
      const event = name === "stdout" ? parseEvent(line) : undefined
      if (event !== undefined) events.push(event)
    })
  }
  follow(child.stdout, "stdout")
  follow(child.stderr, "stderr")
  let code: number | undefined
  child.once("error", (error) => {
    output.stderr += `${error.message}\n`
    code = 127
  })
  child.once("exit", (exitCode, signal) => {
    // Its last lines may be in the pipes still, which programs that it has started may hold open for long.
    let [seen, quiet] = [bytesRead, 0]
    const look = (): void => {
      quiet = bytesRead === seen ? quiet + 1 : 0
      seen = bytesRead
      if (quiet < 3) return void setImmediate(look)
      code = exitCode ?? 128 + (signal === null ? 0 : constants.signals[signal])
    }
    look()
  })
  child.once("close", () => running.delete(child))

  const describeOutput = (): string => `\n— standard output\n${output.stdout}— standard error\n${output.stderr}`
  /** Like `until`, but gives up as soon as the command has ended, and shows its output. */
  const expectFirst = async <A>(what: string, look: () => A | undefined): Promise<A> => {
    try {
      return await until(what, () => {
        const seen = look()
        if (seen === undefined && code !== undefined) throw new Error(`the command ended with ${code} before: ${what}`)
        return seen
      })
    } catch (error) {
      throw new Error(`${error instanceof Error ? error.message : String(error)}${describeOutput()}`, { cause: error })
    }
  }
  return {
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    events: () => events,
    waitForEvent: (name, fits = () => true) =>
      expectFirst(`event ${name}`, () => events.find((event) => event.event === name && fits(event))),
    waitForOutput: (pattern) =>
      expectFirst(`output ${String(pattern)}`, () => pattern.exec(output.stdout) ?? undefined),
    ended: async () => {
      try {
        return await until("the command's end", () => code)
      } catch (error) {
        throw new Error(`the command did not end${describeOutput()}`, { cause: error })
      }
    },
    code: () => code,
    stop: (signal = "SIGKILL") => {
      kill(child, signal)
      if (signal === "SIGKILL") killProcessesOf(home)
    }
  }
}
