/**
 * Network namespaces for pods, as on a node: each pod has its own, and a veth pair leads from it to the namespace of
 * the node. That is a namespace of its own too, so the machine's network gets no interface, no route and no rule. The
 * way in is the node's door (`door-program.ts`).
 *
 * A namespace belongs to its processes: when they end, it is gone with all that was in it. Nothing has a name that must
 * be removed, and a reaper ends the processes if this process is killed.
 */

import * as net from "node:net"
import { join as joinPath } from "node:path"
import type { Duplex } from "node:stream"
import { fileURLToPath } from "node:url"
import { networkOf } from "./machine-network.ts"
import { type RunningProcess, startProcess } from "./running-process.ts"
import { tools } from "./tools.ts"

const script = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

/** The node's address in its namespace, from which connections come to the pods; no pod has it. */
export const nodeAddress = "10.255.255.254"

/** The address of a pod in its namespace, for the loopback address that the kubelet gave it. */
export const addressInNetwork = (podIp: string): string => podIp.replace(/^127\./, "10.")

export class PodNetworks {
  readonly #node: RunningProcess
  readonly #door: string
  readonly #machine: string
  #pods = 0

  private constructor(node: RunningProcess, door: string, machine: string) {
    this.#node = node
    this.#door = door
    this.#machine = machine
  }

  /** @param directory for the door's socket; its path must be short */
  static async start(directory: string): Promise<PodNetworks> {
    const machine = networkOf("self")
    const door = joinPath(directory, "door.sock")
    const command = [process.execPath, script("door-program.ts"), door]
    const node = startProcess([tools.unshare, "--net", tools.sh, script("node.sh"), machine, nodeAddress, ...command])
    await node.says("the node's door", (line) => line === "open")
    return new PodNetworks(node, door, machine)
  }

  /** Ends the node. Pods end by themselves, before or after it. */
  stop(): Promise<void> {
    return this.#node.stop()
  }

  /** The process that keeps the node's namespace. */
  get nodePid(): number {
    return this.#node.pid
  }

  /**
   * The command that runs another command as a pod's process: in a network namespace with the pod's address, and in a
   * mount namespace of its own if wanted. It becomes that command, with the same process id.
   */
  enter(
    podIp: string,
    command: ReadonlyArray<string>,
    { mounts = false } = {}
  ): readonly [string, ...ReadonlyArray<string>] {
    const own = mounts ? ["--net", "--mount"] : ["--net"]
    const pod = [this.#machine, String(this.nodePid), String(this.#pods++), addressInNetwork(podIp), nodeAddress]
    return [tools.unshare, ...own, tools.sh, script("pod.sh"), ...pod, ...command]
  }

  /**
   * The command that runs another command in the network of a pod's process, and among the processes whose first that
   * one started. It has a mount namespace of its own.
   */
  beside(pid: number, command: ReadonlyArray<string>): readonly [string, ...ReadonlyArray<string>] {
    const namespaces = [`--net=/proc/${pid}/ns/net`, `--pid=/proc/${pid}/ns/pid_for_children`]
    const first = [tools.unshare, "--mount-proc", tools.sh, script("beside.sh"), this.#machine]
    return [tools.nsenter, ...namespaces, ...first, ...command]
  }

  /** A connection from the node to a pod. */
  dial(podIp: string, port: number): Duplex {
    const socket = net.connect({ path: this.#door, allowHalfOpen: true })
    socket.write(`${addressInNetwork(podIp)} ${port}\n`)
    return socket
  }
}
