/**
 * The world of one node: namespaces and cgroups of its own on this machine, made by `world.sh`, and ports of the
 * machine that lead into it. The machine's own network is never touched. The programs of a node are in
 * `node-cluster.ts`.
 */

import { type ChildProcess, execFile } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { mkdir, readdir, readFile, rm, rmdir } from "node:fs/promises"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import type { Destination } from "../door-keeper.ts"
import { startDoors } from "../doors.ts"
import { type Command, startProgram } from "../started-program.ts"

const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url))
const run = promisify(execFile)

export interface World {
  readonly name: string
  /** The node's address; other worlds reach it where a hub joins them. */
  readonly address: string
  /** The folder in which the world's own folders lie, such as `root/etc/containerd`. */
  readonly folder: string
  /** The process id of the world's first process, as the machine has it. */
  readonly pid: number
  /** A command that runs in all of the world. */
  readonly inside: (command: Command) => Command
  /** A command that runs in the world's network alone, and otherwise on the machine. */
  readonly inNetwork: (command: Command) => Command
  /** Opens a port of 127.0.0.1 that leads to an address in the world's network; the result is the port. */
  readonly forward: (to: Destination, port?: number) => Promise<number>
  /** Ends everything in the world, and removes what it had. */
  readonly close: () => Promise<void>
}

/** Kills a program with what it has started, and waits for its end. */
export const killProgram = async (child: ChildProcess): Promise<void> => {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, "exit")
  process.kill(-child.pid, "SIGKILL")
  await ended
}

/** The last lines of a log. */
export const endOf = async (log: string): Promise<string> =>
  (await readFile(log, "utf8").catch(() => "")).trimEnd().split("\n").slice(-20).join("\n")

/** Waits for the line `ready` of a program that goes on running. */
const untilReady = async (child: ChildProcess, log: string, what: string): Promise<void> => {
  const { stdout } = child
  if (stdout === null) throw new Error(`${what} has no output`)
  for await (const line of createInterface({ input: stdout })) if (line === "ready") return
  throw new Error(`${what} ended at its start; the end of ${log}:\n${await endOf(log)}`)
}

/** The first process of a new process namespace is the only child of the program that made it. */
const firstProcess = async (outer: number): Promise<number> => {
  const children = await readFile(`/proc/${outer}/task/${outer}/children`, "utf8")
  return Number(children.trim().split(" ")[0])
}

/** The first process of a process namespace goes last, so that its end is that of all of them. */
const untilGone = async (pid: number): Promise<void> => {
  while (existsSync(`/proc/${pid}`)) await new Promise((resolve) => setTimeout(resolve, 50))
}

/** Groups of containers have groups below them, which must go first. A group that still has a process stays. */
const removeGroup = async (path: string): Promise<void> => {
  const below = await readdir(path, { withFileTypes: true }).catch(() => [])
  for (const entry of below) if (entry.isDirectory()) await removeGroup(join(path, entry.name))
  await rmdir(path).catch(() => undefined)
}

const groups = "/sys/fs/cgroup"
const prefix = "braid-"

/** Removes the groups of worlds of this name; the last programs that came from outside end a moment later. */
const removeGroups = async (name: string): Promise<void> => {
  for (const controller of await readdir(groups)) {
    const path = join(groups, controller, name)
    for (let tries = 0; existsSync(path) && tries < 20; tries++) {
      await removeGroup(path)
      if (existsSync(path)) await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}

/** Removes the groups of playgrounds that were killed. */
const sweep = async (): Promise<void> => {
  const names = await readdir(join(groups, "memory")).catch(() => [])
  for (const name of names) {
    const owner = name.startsWith(prefix) ? name.slice(prefix.length).split("-")[0] : undefined
    if (owner !== undefined && !existsSync(`/proc/${owner}`)) await removeGroups(name)
  }
}

/** The name of a world of this process. */
export const worldName = (cluster: string): string => `${prefix}${process.pid}-${cluster}`

export interface WorldOptions {
  /** At most 63 bytes; no two worlds of this machine may have the same name. */
  readonly name: string
  readonly address: string
  /** A folder that does not exist yet, on no overlay. */
  readonly folder: string
}

/** Makes a world. If that fails, nothing of it is left. */
export const startWorld = async ({ address, folder, name }: WorldOptions): Promise<World> => {
  await sweep()
  await mkdir(folder, { recursive: true })
  const log = join(folder, "world.log")
  const outer = startProgram(["bash", here("world.sh"), name, address, folder], log)
  const end = async (pid: number | undefined): Promise<void> => {
    await killProgram(outer)
    if (pid !== undefined) await untilGone(pid)
    await removeGroups(name)
    await rm(folder, { recursive: true, force: true })
  }
  let pid: number | undefined
  try {
    await untilReady(outer, log, `the world ${name}`)
    pid = await firstProcess(outer.pid ?? 0)
  } catch (error) {
    await end(pid)
    throw error
  }
  const inNetwork = (command: Command): Command => ["nsenter", `--net=/proc/${pid}/ns/net`, ...command]
  const doors = startDoors(inNetwork)
  return {
    name,
    address,
    folder,
    pid,
    inside: (command) => ["bash", here("enter.sh"), name, String(pid), ...command],
    inNetwork,
    forward: (to, port = 0) => doors.leadTo(to, { host: "127.0.0.1", port }),
    close: async () => {
      doors.close()
      await end(pid)
    }
  }
}

/** Joins worlds by a bridge in a network of its own; the result ends it. */
export const joinWorlds = async (worlds: ReadonlyArray<World>, folder: string): Promise<() => Promise<void>> => {
  await mkdir(folder, { recursive: true })
  const log = join(folder, "hub.log")
  const bridge = "ip link set lo up && ip link add br0 type bridge && ip link set br0 up && echo ready"
  const hub = startProgram(["unshare", "--net", "sh", "-c", `${bridge} && exec sleep infinity`], log)
  const ownNetwork = `--net=/proc/${hub.pid ?? 0}/ns/net`
  try {
    await untilReady(hub, log, "the hub")
    for (const [index, world] of worlds.entries()) {
      const [file, ...args] = world.inNetwork(["ip", "link", "set", "hub0", "netns", String(hub.pid ?? 0)])
      await run(file, args)
      await run("nsenter", [ownNetwork, "ip", "link", "set", "hub0", "name", `world${index}`, "master", "br0", "up"])
    }
  } catch (error) {
    await killProgram(hub)
    throw error
  }
  return () => killProgram(hub)
}
