/** Clusters with real nodes for tests: start, commands of an administrator and of developers, clean up. */

import { execFile, execFileSync } from "node:child_process"
import { existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll } from "vitest"
import { killProcessesOf } from "../../lab/playground/branches/home-processes.ts"
import { findPrograms, isMissing, type Programs } from "../../lab/playground/kubernetes/programs.ts"
import { findNode, type NodeFiles } from "../../lab/playground/node/node-files.ts"
import { type OperatorLog, showOperatorLogs } from "../support/show-operator-logs.ts"

export interface NodeParts {
  readonly programs: Programs
  readonly files: NodeFiles
  /** A folder that is removed after the suite. */
  readonly directory: string
}

/** The parts of this machine; a suite that needs a node has been left out where there are none. */
const partsIn = (directory: string): NodeParts => {
  const [programs, files] = [findPrograms(process.env), findNode(process.env)]
  if (isMissing(programs) || typeof files === "string") throw new Error(`no node: ${String(files)}`)
  return { programs, files, directory }
}

export interface StartedNodes<A> {
  readonly started: () => A
  /** A new home folder for the client. */
  readonly home: (name: string) => string
}

/** The operators' output on the nodes of a folder, as containerd keeps it. */
const operatorLogs = (directory: string): ReadonlyArray<OperatorLog> =>
  globSync("*/world/root/var/log/pods/*_mirrord-operator-*/*/*.log", { cwd: directory }).map((path) => [
    path,
    readFileSync(join(directory, path), "utf8").split("\n")
  ])

/** Starts something on nodes for the tests of the calling `describe`, and ends it after them. */
export const useNodes = <A>(
  start: (parts: NodeParts) => Effect.Effect<A, { readonly message: string }, Scope.Scope>
): StartedNodes<A> => {
  const scope = Effect.runSync(Scope.make())
  const homes: Array<string> = []
  let directory = ""
  let started: { readonly value: A } | undefined
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), "braid-node-"))
    started = { value: await Effect.runPromise(start(partsIn(directory)).pipe(Scope.provide(scope))) }
  })
  afterAll(async () => {
    for (const home of homes) killProcessesOf(home)
    await Effect.runPromise(Scope.close(scope, Exit.void))
    rmSync(directory, { recursive: true, force: true })
  })
  showOperatorLogs(() => Promise.resolve(operatorLogs(directory)))
  return {
    started: () => {
      if (started === undefined) throw new Error("the nodes have not been started")
      return started.value
    },
    home: (name) => {
      const home = mkdtempSync(join(directory, `home-${name}-`))
      homes.push(home)
      return home
    }
  }
}

/** Runs kubectl as the administrator of a cluster; the result is what it prints. */
export const kubectl = async (
  { kubeconfigPath }: { readonly kubeconfigPath: string },
  ...args: ReadonlyArray<string>
): Promise<string> => {
  const programs = findPrograms(process.env)
  if (isMissing(programs)) throw new Error("no kubectl")
  return (await promisify(execFile)(programs.kubectl, [`--kubeconfig=${kubeconfigPath}`, ...args])).stdout.trim()
}

/** Interfaces, routes and rules of the machine's own network, without counters and times. */
const machineNetwork = (): string =>
  execFileSync("sh", ["-c", "ip -o link; ip -4 route show table all; iptables-save; ip6tables-save"], {
    encoding: "utf8",
    env: { PATH: `${process.env["PATH"] ?? ""}:/usr/sbin:/sbin` }
  }).replaceAll(/^#.*$|\[\d+:\d+\]/gmu, "")

/**
 * The machine's own network, its settings that a kubelet would change, and groups of worlds whose playground has ended.
 */
export const leftOfWorlds = (): object => ({
  network: machineNetwork(),
  groups: readdirSync("/sys/fs/cgroup/memory").filter((name) => {
    const owner = /^braid-(\d+)-/u.exec(name)?.[1]
    return owner !== undefined && !existsSync(`/proc/${owner}`)
  }),
  settings: ["kernel/panic", "kernel/panic_on_oops", "vm/overcommit_memory", "vm/panic_on_oom"].map(
    (name) => `${name} ${readFileSync(`/proc/sys/${name}`, "utf8").trim()}`
  )
})
