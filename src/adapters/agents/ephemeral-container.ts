/**
 * The ephemeral container that becomes an agent in its target's pod, as the published operator makes it, and the agents
 * that a pod has of that shape: plain data (agent.md §2.7).
 *
 * Not here: which agent is used and when another is added (domain/agents/ephemeral-agents.ts), nor the calls
 * (ephemeral-agents.ts).
 */

import type { EphemeralAgent } from "../../domain/agents/ephemeral-agents.ts"
import { isFromFile } from "../../domain/file-variable.ts"
import { asNumber, asObject, asObjects, asString, at, type JsonObject } from "../../domain/json.ts"
import { waitOf } from "../../domain/pod-problem.ts"
import type { PortTls } from "../../domain/policies/tls/tls-steal-rules.ts"
import type { AgentPlacement } from "../../domain/targets/pod-choice.ts"
import type { KubeObject } from "../../ports/kube-api.ts"
import {
  agentArguments,
  agentEnvironment,
  type AgentSettings,
  certificateOfContainer,
  certificateVariable,
  portOfContainer
} from "./agent-job.ts"
import { tlsValueOfContainer } from "./agent-tls-variable.ts"

/** The part of an ephemeral container that is its agent's own. */
export interface EphemeralContainerOptions {
  readonly name: string
  readonly port: number
  /** Group that the agent runs as. */
  readonly group: number
  readonly target: AgentPlacement
  /** The target's container in the pod's spec. */
  readonly container: JsonObject
  readonly cleansUp: boolean
  readonly certificatePem: string | undefined
  readonly tls: ReadonlyArray<PortTls>
}

/** An agent, and the certificate and the TLS ports that it was started with. */
export interface ReadAgent extends EphemeralAgent {
  readonly certificatePem: string | undefined
  /** As its variable has them. */
  readonly tls: string | undefined
}

const ownVariables = (
  { excludeFromMesh }: AgentSettings,
  { containerId, shareProcessNamespace }: AgentPlacement
): Readonly<Record<string, string>> => ({
  // Otherwise the target's main process is the first that the agent sees.
  ...(shareProcessNamespace ? { MIRRORD_AGENT_EPHEMERAL_TARGET_CONTAINER_ID: containerId } : {}),
  ...(excludeFromMesh ? { MIRRORD_AGENT_EXCLUDE_FROM_MESH: "true" } : {})
})

/** Names by which a target's own variables would steer the agent. */
const steersAgents = (name: string): boolean => name === certificateVariable || name.startsWith("MIRRORD_AGENT_")

/** A variable from a file: the target's program may have deleted the file, and no agent could start without it. */
const withoutNeed = (entry: JsonObject): JsonObject =>
  isFromFile(entry)
    ? { ...entry, valueFrom: { fileKeyRef: { ...asObject(at(entry, "valueFrom", "fileKeyRef")), optional: true } } }
    : entry

/**
 * The environment: the agent's, then the target's, from which the agent answers where it cannot read that of the
 * target's process. Variables of the target that would replace one of the agent's are left out: the last one holds.
 */
const environmentBeside = (settings: AgentSettings, options: EphemeralContainerOptions): ReadonlyArray<JsonObject> => {
  const own = agentEnvironment(settings, options, ownVariables(settings, options.target))
  const names = new Set(own.map(({ name }) => name))
  const copied = asObjects(options.container["env"]).filter(
    ({ name }) => typeof name === "string" && !names.has(name) && !steersAgents(name)
  )
  return [...own, ...copied.map(withoutNeed)]
}

/** The ephemeral container of one agent. Kubernetes allows neither resources nor probes nor ports in it. */
export const ephemeralContainer = (settings: AgentSettings, options: EphemeralContainerOptions): JsonObject => {
  const { capabilities, image, imagePullPolicy, privileged } = settings
  const { cleansUp, container, group, name, port, target } = options
  const envFrom = asObjects(container["envFrom"])
  return {
    name,
    image,
    imagePullPolicy,
    targetContainerName: target.containerName,
    command: ["./mirrord-agent"],
    args: agentArguments(settings, { port, cleansUp, mode: ["ephemeral"] }),
    env: environmentBeside(settings, options),
    ...(envFrom.length === 0 ? {} : { envFrom }),
    securityContext: {
      // The pod may demand another user of its containers, and an agent of another one can read and redirect nothing.
      runAsUser: 0,
      runAsNonRoot: false,
      runAsGroup: group,
      privileged,
      capabilities: { add: capabilities }
    }
  }
}

const stateOf = (status: JsonObject | undefined): EphemeralAgent["state"] => {
  const ended = at(status, "state", "terminated")
  if (ended !== undefined && ended !== null) {
    const reason = asString(at(ended, "reason"))
    return {
      _tag: "Ended",
      exitCode: asNumber(at(ended, "exitCode")) ?? 0,
      ...(reason === undefined ? {} : { reason })
    }
  }
  const running = at(status, "state", "running")
  if (running !== undefined && running !== null) return { _tag: "Running" }
  const problem = status && waitOf(status, true)
  return problem === undefined ? { _tag: "Starting" } : { _tag: "Starting", problem }
}

/** The agents among a pod's ephemeral containers, in the order in which they were added. */
export const ephemeralAgentsOf = (pod: KubeObject): ReadonlyArray<ReadAgent> => {
  const statuses = new Map(
    asObjects(at(pod, "status", "ephemeralContainerStatuses")).map((status) => [status["name"], status])
  )
  return asObjects(at(pod, "spec", "ephemeralContainers")).flatMap((container) => {
    const name = asString(container["name"]) ?? ""
    const port = portOfContainer(container)
    if (!name.startsWith("mirrord-agent-") || port === undefined) return []
    const target = asString(container["targetContainerName"]) ?? ""
    const certificatePem = certificateOfContainer(container)
    const tls = tlsValueOfContainer(container)
    return [{ name, target, port, certificatePem, tls, state: stateOf(statuses.get(name)) }]
  })
}

/** The target's container in the pod's spec. */
export const containerNamed = (pod: KubeObject, name: string): JsonObject | undefined =>
  asObjects(at(pod, "spec", "containers")).find((container) => container["name"] === name)

/** Ports that the pod's containers declare. */
export const declaredPorts = (pod: KubeObject): ReadonlySet<number> =>
  new Set(
    ["containers", "initContainers"].flatMap((field) =>
      asObjects(at(pod, "spec", field)).flatMap(({ ports }) =>
        asObjects(ports).flatMap(({ containerPort }) => asNumber(containerPort) ?? [])
      )
    )
  )

/** The pod with one more ephemeral container, for its subresource. */
export const withEphemeralContainer = (pod: KubeObject, added: JsonObject): KubeObject => {
  const spec = at(pod, "spec")
  const known = asObjects(at(spec, "ephemeralContainers"))
  return { ...pod, spec: { ...(spec as object), ephemeralContainers: [...known, added] } }
}
