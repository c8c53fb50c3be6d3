/** A target in a container of a node that has a container runtime and nothing else, and real agents beside it. */

import { execFile } from "node:child_process"
import { once } from "node:events"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { Effect, type Scope } from "effect"
import { processesWith } from "../../lab/playground/branches/home-processes.ts"
import { nodePrograms, startContainerd } from "../../lab/playground/node/node-cluster.ts"
import { nodeImages } from "../../lab/playground/node/node-files.ts"
import { startWorld, type World, worldName } from "../../lab/playground/node/node-world.ts"
import { startProgram } from "../../lab/playground/started-program.ts"
import { image } from "../../scripts/image.mjs"
import type { RunningAgent } from "../lab/agent/agent-harness.ts"
import { type AgentSettings, type IncomingWorld, patientSecs } from "../lab/agent/incoming/incoming-world.ts"
import { targetPort } from "../lab/agent/loopback-target.ts"
import { until } from "../support/until.ts"
import type { NodeParts } from "./nodes.ts"

const run = promisify(execFile)

/** The first container of a network has the address after the node's. */
const [pods, nodeIp, podIp] = ["10.244.1.0/24", "10.244.1.1", "10.244.1.2"] as const
const agentPort = 40_000

/** The variables that braid's operator gives to every agent, beside the settings of a test. */
const agentVariables = {
  NO_COLOR: "1",
  RUST_LOG: "info",
  MIRRORD_AGENT_POD_IPS: podIp,
  MIRRORD_AGENT_STEALER_FLUSH_CONNECTIONS: "true",
  MIRRORD_AGENT_EXTERNAL_IP_FIX: "true",
  MIRRORD_AGENT_IDLE_TTL: "600"
}

const flags = (name: string, values: ReadonlyArray<string>): ReadonlyArray<string> =>
  values.map((value) => `--${name}=${value}`)
const bind = (source: string, target: string): string => `type=bind,src=${source},dst=${target},options=rbind`

/** A container of a node. */
const containersIn = (world: World) => {
  let count = 0
  return (options: ReadonlyArray<string>, command: readonly [image: string, ...ReadonlyArray<string>]) => {
    const [wanted, ...rest] = command
    const id = `container-${++count}`
    const log = join(world.folder, `${id}.log`)
    const child = startProgram(
      world.inside(["ctr", "--namespace=k8s.io", "run", "--rm", ...options, wanted, id, ...rest]),
      log
    )
    const ended = once(child, "close").then(([code]) => Number(code ?? -1))
    const lines = (): ReadonlyArray<string> => (existsSync(log) ? readFileSync(log, "utf8").split("\n") : [])
    return {
      id,
      lines,
      ended,
      says: (what: string, fits: (said: ReadonlyArray<string>) => boolean): Promise<true> =>
        until(what, () => {
          if (fits(lines())) return true
          if (child.exitCode !== null) throw new Error(`ended before: ${what}\n${lines().join("\n")}`)
          return undefined
        }),
      // The tool, which was started by another in its group, passes it on to the container's process.
      stop: async (): Promise<void> => {
        process.kill(-(child.pid ?? 0), "SIGTERM")
        await ended
      }
    }
  }
}

const startTarget = async (world: World): Promise<() => IncomingWorld> => {
  const container = containersIn(world)
  const [tool, ...list] = world.inside(["ctr", "--namespace=k8s.io", "images", "list", "--quiet"])
  const agentImage = (await run(tool, list)).stdout.split("\n").find((name) => name.includes("/mirrord:")) ?? ""
  const tests = bind(fileURLToPath(new URL("..", import.meta.url)), "/app")
  const application = container(
    ["--cni", ...flags("env", [`BRAID_TARGET=${world.name}`]), ...flags("mount", [tests])],
    [nodeImages.demo, image.node, "/app/node/application-program.ts", String(targetPort)]
  )
  const times = (word: string): number => application.lines().filter((line) => line === word).length
  await application.says("the application is ready", () => times("open") === 1)
  const [pid = 0] = processesWith("BRAID_TARGET", world.name)
  const entry = await world.forward({ host: podIp, port: targetPort })
  const front = await world.forward({ host: "127.0.0.1", port: agentPort })
  const saves = ["iptables-nft-save", "iptables-legacy-save"].map((name) => `/usr/sbin/${name}`).join("; ")
  /** Opens the application's port or closes it. */
  const isOpen = async (wanted: boolean): Promise<void> => {
    if (times("open") > times("closed") === wanted) return
    process.kill(pid, "SIGUSR2")
    await application.says("the application's port", () => times("open") > times("closed") === wanted)
  }
  const startAgent = async ({ httpDetectionTimeoutSecs = patientSecs }: AgentSettings = {}): Promise<RunningAgent> => {
    const variables = { ...agentVariables, MIRRORD_AGENT_HTTP_DETECTION_TIMEOUT: String(httpDetectionTimeoutSecs) }
    const mode = ["targeted", "--container-id", application.id, "--container-runtime", "containerd"]
    const agent = container(
      [
        ...["--net-host", "--with-ns=pid:/proc/1/ns/pid"],
        ...flags("mount", [bind("/run", "/host/run")]),
        ...flags("cap-add", ["CAP_SYS_ADMIN", "CAP_SYS_PTRACE", "CAP_NET_ADMIN"]),
        ...flags(
          "env",
          Object.entries(variables).map((pair) => pair.join("="))
        )
      ],
      [agentImage, "./mirrord-agent", "-l", String(agentPort), "-t", "600", ...mode]
    )
    await agent.says("the agent is ready", (lines) => lines.some((line) => line.startsWith("agent ready")))
    return { port: front, exit: agent.ended, log: agent.lines(), stop: agent.stop }
  }
  return () => ({
    entry,
    peerIp: nodeIp,
    podIp,
    redirected: async () => {
      // No table is named: naming one makes it.
      const { stdout } = await run("nsenter", [`--net=/proc/${pid}/ns/net`, "sh", "-c", saves])
      return /MRD|REDIRECT/u.test(stdout)
    },
    startAgent,
    stopApplication: () => isOpen(false),
    close: () => isOpen(true)
  })
}

/** Starts a node with a target; the result is for one test after the other. */
export const startContainerTarget = ({
  directory,
  files
}: NodeParts): Effect.Effect<() => IncomingWorld, { readonly message: string }, Scope.Scope> =>
  Effect.gen(function* () {
    const attempt = <A>(make: (signal: AbortSignal) => Promise<A>) =>
      Effect.tryPromise({ try: make, catch: (error) => ({ message: String(error) }) })
    const world = yield* Effect.acquireRelease(
      attempt(() => startWorld({ name: worldName("target"), address: "10.99.0.1", folder: join(directory, "world") })),
      ({ close }) => Effect.promise(close)
    )
    const images = files.images.filter((path) => /\/(?:agent|demo)\.tar$/u.test(path))
    const programs = nodePrograms(world, "the suite")
    yield* attempt((signal) => startContainerd({ world, programs, files: { images } }, pods, signal))
    return yield* attempt(() => startTarget(world))
  })
