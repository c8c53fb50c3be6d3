/**
 * Networks of their own on this machine, for programs that are not to reach everything of it. Their only ways are doors
 * and links that are made one by one, and the machine's own network is never touched. A node's network, which has more
 * than that, is made by `node/world.sh`.
 */

import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { promisify } from "node:util"
import { Effect, type Scope } from "effect"
import { reapWithUs } from "../cluster/node/reaper.ts"
import { type Doors, startDoors } from "./doors.ts"
import { PlaygroundError } from "./readiness.ts"
import type { Command } from "./started-program.ts"

const env = { ...process.env, PATH: `${process.env["PATH"] ?? ""}:/usr/sbin:/sbin` }

/** The reason why this machine can make no networks with links and translated addresses; `undefined` if it can. */
export const closedNetworkProblem = (): string | undefined => {
  const tried = "ip link set lo up && iptables -t nat -S && conntrack -V && command -v nsenter"
  const { error, status, stderr } = spawnSync("unshare", ["--net", "sh", "-c", tried], { encoding: "utf8", env })
  if (status === 0) return undefined
  const reason = error?.message ?? (stderr.trim() || "nsenter is missing")
  const needs = "root, and the packages iproute2, iptables and conntrack"
  return `networks of their own cannot be made here (${reason}); that takes ${needs}`
}

/** A network with nothing but its loopback device, which is up. */
export interface ClosedNetwork extends Omit<Doors, "close"> {
  /** The process that holds it, for `ip link … netns`. */
  readonly pid: number
  /** A command that runs in it. */
  readonly inNetwork: (command: Command) => Command
  /** Runs a program in it; the result is its output. */
  readonly output: (command: Command) => Promise<string>
  /** Runs commands of a shell in it, up to the first that fails; the result is their output. */
  readonly run: (commands: string) => Promise<string>
}

/** Ends with the first process that has lost its input: this one is gone then. */
const hold = "ip link set lo up && echo ready && exec cat"

const open = async (): Promise<{ readonly network: ClosedNetwork; readonly close: () => void }> => {
  const holder: ChildProcess = spawn("unshare", ["--net", "sh", "-c", hold], { env, detached: true })
  const { pid = 0, stdout } = holder
  const isGone = reapWithUs(pid)
  holder.on("exit", isGone)
  if (stdout === null) throw new Error("the network has no output")
  await Promise.race([
    once(stdout, "data"),
    once(holder, "exit").then(() => Promise.reject(new Error("it has ended at its start")))
  ])
  const inNetwork = (command: Command): Command => ["nsenter", `--net=/proc/${pid}/ns/net`, ...command]
  const output = async (command: Command): Promise<string> => {
    const [file, ...args] = inNetwork(command)
    return (await promisify(execFile)(file, args, { env })).stdout
  }
  const doors = startDoors(inNetwork)
  const network: ClosedNetwork = {
    ...doors,
    pid,
    inNetwork,
    output,
    run: (commands) => output(["sh", "-ec", commands])
  }
  return {
    network,
    close: () => {
      doors.close()
      holder.kill("SIGKILL")
    }
  }
}

/** Makes a network, which ends with the scope unless something still runs in it. */
export const openClosedNetwork: Effect.Effect<ClosedNetwork, PlaygroundError, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.tryPromise({
      try: open,
      catch: (cause) => new PlaygroundError({ detail: `a network of its own cannot be made: ${String(cause)}` })
    }),
    ({ close }) => Effect.sync(close)
  ),
  ({ network }) => network
)
