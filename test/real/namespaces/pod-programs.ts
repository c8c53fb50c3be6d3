/**
 * Programs of containers whose pods have network namespaces: a workload, and the real agent, which works on the
 * workload's namespace. The kubelet listens at the pod's loopback address and passes each connection through the node.
 */

import { fileURLToPath } from "node:url"
import { Effect, type Scope } from "effect"
import { join } from "../../../lab/agent/incoming/raw-traffic.ts"
import {
  type ContainerContext,
  type ContainerProgram,
  type ListenError,
  signalsReady
} from "../../../lab/cluster/node/container-program.ts"
import { processProgram } from "../../../lab/cluster/node/process-program.ts"
import { asNumber, asObjects, asStrings, at } from "../../../src/domain/json.ts"
import { addressInNetwork } from "./pod-networks.ts"
import type { PodNode } from "./pod-node.ts"
import { containerPath, tools } from "./tools.ts"

const script = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

/** Passes connections at the pod's address on into its namespace, for as long as the scope. */
const admit = (
  { networks }: PodNode,
  container: ContainerContext,
  ports: ReadonlyArray<number>
): Effect.Effect<void, ListenError, Scope.Scope> =>
  Effect.forEach(
    ports,
    (port) => container.listen(port, (socket) => join(socket, networks.dial(container.podIp, port))),
    { discard: true }
  )

/** A program whose ports could not be opened ends with 1, and its log says why. */
const orLogged = (
  container: ContainerContext,
  program: Effect.Effect<number, ListenError, Scope.Scope>
): Effect.Effect<number, never, Scope.Scope> =>
  program.pipe(
    Effect.catch((error) =>
      Effect.sync(() => {
        container.log(error.message)
        return 1
      })
    )
  )

const ownId = (container: ContainerContext): string => {
  const uid = container.pod.metadata.uid
  const own = container.onNode().find((other) => other.podUid === uid && other.container === container.containerName)
  return own?.containerId.replace(/^.*:\/\//, "") ?? ""
}

const containerSpec = ({ containerName, pod }: ContainerContext): unknown =>
  asObjects(at(pod, "spec", "containers")).find(({ name }) => name === containerName)

/** A workload: `pod-app.ts`, with the ports that its container names. */
export const podApp = (node: () => PodNode): ContainerProgram =>
  signalsReady((container) => {
    const { networks, runtime } = node()
    const id = ownId(container)
    const ports = asObjects(at(containerSpec(container), "ports")).flatMap(({ containerPort }) =>
      typeof containerPort === "number" ? [containerPort] : []
    )
    const program = processProgram({
      command: ({ podIp }) => networks.enter(podIp, [process.execPath, script("pod-app.ts")]),
      env: () => ({ PATH: containerPath }),
      started: (pid) => runtime.add(id, { pid, env: container.env }),
      readyWhen: (line) => line === "ready"
    })
    return orLogged(
      container,
      Effect.acquireRelease(Effect.void, () => Effect.sync(() => runtime.remove(id))).pipe(
        Effect.andThen(admit(node(), container, ports)),
        Effect.andThen(program(container))
      )
    )
  })

/** The capabilities that containerd and docker give to every container; the Job asks for more. */
const usualCapabilities = [
  "chown",
  "dac_override",
  "fowner",
  "fsetid",
  "kill",
  "mknod",
  "net_bind_service",
  "net_raw",
  "setfcap",
  "setgid",
  "setpcap",
  "setuid",
  "sys_chroot",
  "audit_write"
]

/** The rights that the security context of an agent's container grants. */
export interface AgentSecurity {
  readonly group: number
  /** As Kubernetes names them, such as `SYS_ADMIN`. */
  readonly capabilities: ReadonlyArray<string>
}

const securityOf = (container: ContainerContext): AgentSecurity => {
  const context = at(containerSpec(container), "securityContext")
  return {
    group: asNumber(at(context, "runAsGroup")) ?? 0,
    capabilities: asStrings(at(context, "capabilities", "add"))
  }
}

/** The command that runs the real agent in a pod of its own, with the rights of its container and none beyond them. */
export const agentCommand = (
  { networks, runtime }: PodNode,
  podIp: string,
  { capabilities, group }: AgentSecurity,
  command: ReadonlyArray<string>
): readonly [string, ...ReadonlyArray<string>] => {
  const added = capabilities.map((name) => name.toLowerCase())
  const bound = ["-all", ...[...usualCapabilities, ...added].map((name) => `+${name}`)].join(",")
  const confined = [tools.setpriv, `--regid=${group}`, "--clear-groups", `--bounding-set=${bound}`, ...command]
  return networks.enter(podIp, [tools.sh, script("agent-root.sh"), runtime.socket, ...confined], { mounts: true })
}

/** The real agent, as the container of its Job. */
export const realAgent = (node: () => PodNode, binary: string): ContainerProgram =>
  signalsReady((container) => {
    const { args, env, podIp } = container
    const port = Number(args[args.indexOf("-l") + 1])
    const program = processProgram({
      command: () => agentCommand(node(), podIp, securityOf(container), [binary, ...args.slice(1)]),
      env: () => {
        const podIps = env.get("MIRRORD_AGENT_POD_IPS")
        return {
          PATH: containerPath,
          NO_COLOR: "1",
          ...(podIps === undefined ? {} : { MIRRORD_AGENT_POD_IPS: podIps.split(",").map(addressInNetwork).join(",") })
        }
      },
      readyWhen: (line) => line.startsWith("agent ready")
    })
    return orLogged(container, Effect.andThen(admit(node(), container, [port]), program(container)))
  })
