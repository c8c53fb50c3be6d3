/**
 * Programs of containers whose pods have network namespaces: a workload, and the real agent, which works on the
 * workload's namespace from a pod of its own, or inside of it as an ephemeral container. The kubelet listens at the
 * pod's loopback address and passes each connection through the node.
 */

import type { Duplex } from "node:stream"
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

/** Where the connections to a port of a pod go. */
type Dial = (port: number) => Duplex

/** Into the namespace of the pod. */
const inside =
  ({ networks }: PodNode, { podIp }: ContainerContext): Dial =>
  (port) =>
    networks.dial(podIp, port)

/**
 * Passes connections at the pod's address on, for as long as the scope. Those that come before the program listens
 * wait.
 */
export const admit = (
  dial: Dial,
  container: ContainerContext,
  ports: ReadonlyArray<number>,
  listens: Promise<void> = Promise.resolve()
): Effect.Effect<void, ListenError, Scope.Scope> =>
  Effect.forEach(
    ports,
    (port) =>
      container.listen(port, (socket) => {
        socket.on("error", () => undefined)
        void listens.then(() => join(socket, dial(port)))
      }),
    { discard: true }
  )

/** A program whose ports could not be opened ends with 1, and its log says why. */
export const orLogged = (
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

/** The id of a running container of the same pod. */
const idOf = ({ onNode, pod }: ContainerContext, name: string): string => {
  const found = onNode().find(({ container, podUid }) => podUid === pod.metadata.uid && container === name)
  return found?.containerId.replace(/^.*:\/\//, "") ?? ""
}

const containerSpec = ({ containerName, pod }: ContainerContext): unknown =>
  ["containers", "ephemeralContainers"]
    .flatMap((field) => asObjects(at(pod, "spec", field)))
    .find(({ name }) => name === containerName)

/**
 * A workload: `pod-app.ts`, with the ports that its container names. It is pid 1 of a process namespace, as the main
 * process of every container is.
 */
export const podApp = (node: () => PodNode): ContainerProgram =>
  signalsReady((container) => {
    const { networks, runtime } = node()
    const id = idOf(container, container.containerName)
    const ports = asObjects(at(containerSpec(container), "ports")).flatMap(({ containerPort }) =>
      typeof containerPort === "number" ? [containerPort] : []
    )
    const program = processProgram({
      command: ({ podIp }) =>
        networks.enter(podIp, [
          ...[tools.unshare, "--pid", "--fork", "--kill-child", "--mount-proc"],
          ...[tools.sh, script("container.sh"), process.execPath, script("pod-app.ts")]
        ]),
      env: () => ({ PATH: containerPath }),
      started: (pid) => runtime.add(id, { pid, env: container.env }),
      readyWhen: (line) => line === "ready"
    })
    return orLogged(
      container,
      Effect.acquireRelease(Effect.void, () => Effect.sync(() => runtime.remove(id))).pipe(
        Effect.andThen(admit(inside(node(), container), container, ports)),
        Effect.andThen(program(container))
      )
    )
  })

/** The capabilities that containerd and docker give to every container; the Job asks for more. */
const defaultCapabilities = [
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

/** The command that runs the agent with the files and the rights of its container, and none beyond them. */
const confined = (
  { capabilities, group }: AgentSecurity,
  runtimeSocket: string | undefined,
  command: ReadonlyArray<string>
): ReadonlyArray<string> => {
  const added = capabilities.map((name) => name.toLowerCase())
  const bound = ["-all", ...[...defaultCapabilities, ...added].map((name) => `+${name}`)].join(",")
  const limits = [`--regid=${group}`, "--clear-groups", `--bounding-set=${bound}`]
  return [tools.sh, script("agent-root.sh"), runtimeSocket ?? "", tools.setpriv, ...limits, ...command]
}

/** The command that runs the real agent in a pod of its own. */
export const agentCommand = (
  { networks, runtime }: PodNode,
  podIp: string,
  security: AgentSecurity,
  command: ReadonlyArray<string>
): readonly [string, ...ReadonlyArray<string>] =>
  networks.enter(podIp, confined(security, runtime.socket, command), { mounts: true })

/**
 * The command that runs the real agent as an ephemeral container: in the network and among the processes of its target,
 * with files of its own. It does not see the container runtime.
 */
const ephemeralCommand = (
  { networks, runtime }: PodNode,
  container: ContainerContext,
  command: ReadonlyArray<string>
): readonly [string, ...ReadonlyArray<string>] => {
  const target = container.targetContainerName ?? ""
  const pid = runtime.pidOf(idOf(container, target))
  if (pid === undefined) throw new Error(`container ${target}, beside which it is to run, has no process`)
  return networks.beside(pid, confined(securityOf(container), undefined, command))
}

/** The real agent, as the container of its Job or as an ephemeral container. */
export const realAgent = (node: () => PodNode, binary: string): ContainerProgram =>
  signalsReady((container) => {
    const { args, env, podIp, targetContainerName } = container
    const port = Number(args[args.indexOf("-l") + 1])
    const command = [binary, ...args.slice(1)]
    const listens = Promise.withResolvers<void>()
    const program = processProgram({
      command: () =>
        targetContainerName === undefined
          ? agentCommand(node(), podIp, securityOf(container), command)
          : ephemeralCommand(node(), container, command),
      env: () => {
        const podIps = env.get("MIRRORD_AGENT_POD_IPS")
        return {
          PATH: containerPath,
          NO_COLOR: "1",
          ...(podIps === undefined ? {} : { MIRRORD_AGENT_POD_IPS: podIps.split(",").map(addressInNetwork).join(",") })
        }
      },
      readyWhen: (line) => {
        const isReady = line.startsWith("agent ready")
        if (isReady) listens.resolve()
        return isReady
      }
    })
    const admitted = admit(inside(node(), container), container, [port], listens.promise)
    return orLogged(container, Effect.andThen(admitted, program(container)))
  })
