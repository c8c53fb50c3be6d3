/**
 * The Job that becomes an agent, as the published operator makes it: plain data from settings and placement.
 *
 * Not here: when a Job is made and whether its agent runs (pod-agents.ts), nor what an agent does.
 */

import type { AgentConfiguration } from "../../domain/agents/agent-configuration.ts"
import { asNumber, asObjects, asString, asStrings, at, type JsonObject } from "../../domain/json.ts"
import type { PortTls } from "../../domain/policies/tls/tls-steal-rules.ts"
import type { OwnerReference } from "../../domain/resources/object-meta.ts"
import { ownerLabel } from "../../domain/sessions/names.ts"
import type { AgentPlacement, Mesh } from "../../domain/targets/pod-choice.ts"
import type { KubeObject } from "../../ports/kube-api.ts"
import { agentContainer } from "./agent-pod.ts"
import { tlsValue, tlsVariable } from "./agent-tls-variable.ts"

/** How agents are made in this cluster. */
export interface AgentSettings extends AgentConfiguration {
  readonly image: string
  readonly imagePullPolicy: string
  readonly imagePullSecrets: ReadonlyArray<string>
  readonly namespace: string
  /** The port of every agent; undefined: each agent gets a random port. */
  readonly port: number | undefined
  /** How long an agent stays without a client, in seconds. It bridges a restart of the operator. */
  readonly idleTtlSecs: number
  readonly startupTimeoutSecs: number
  /** More environment of agents, which wins over all other. */
  readonly extraEnv: Readonly<Record<string, string>>
}

/** The variable that turns TLS on in an agent, and holds the certificate of its operator. */
export const certificateVariable = "AGENT_OPERATOR_CERT_ENV"

const meshVariables = (mesh: Mesh | undefined): Readonly<Record<string, string>> => ({
  ...(mesh === undefined ? {} : { MIRRORD_AGENT_IN_SERVICE_MESH: "true" }),
  ...(mesh === "istio-cni" ? { MIRRORD_AGENT_ISTIO_CNI: "true" } : {})
})

/**
 * The environment of an agent: the published defaults, and what the settings say (agent.md §2.4). `own`: variables of
 * one shape of agents.
 */
export const agentEnvironment = (
  settings: AgentSettings,
  { certificatePem, target, tls = [] }: Pick<AgentJobOptions, "certificatePem" | "target" | "tls">,
  own: Readonly<Record<string, string>> = {}
): ReadonlyArray<{ name: string; value: string }> => {
  const tlsConfig = tlsValue(tls, settings.extraEnv)
  return Object.entries({
    RUST_LOG: "info",
    MIRRORD_AGENT_STEALER_FLUSH_CONNECTIONS: "true",
    MIRRORD_AGENT_JSON_LOG: "false",
    MIRRORD_AGENT_PASSTHROUGH_MIRRORING: "true",
    MIRRORD_MAX_BODY_BUFFER_SIZE: "65535",
    MIRRORD_MAX_BODY_BUFFER_TIMEOUT: "1000",
    MIRRORD_AGENT_HTTP_DETECTION_TIMEOUT: "2",
    MIRRORD_JAQ_TIME_LIMIT: "1",
    MIRRORD_AGENT_EXTERNAL_IP_FIX: "true",
    MIRRORD_AGENT_OVERRIDE_CACHE_CONTROL: "true",
    MIRRORD_AGENT_IDLE_TTL: String(settings.idleTtlSecs),
    ...(target === undefined || target.podIps.length === 0 ? {} : { MIRRORD_AGENT_POD_IPS: target.podIps.join(",") }),
    ...meshVariables(target?.mesh),
    ...own,
    ...settings.variables,
    ...settings.extraEnv,
    // After the cluster's own settings: this is the target's.
    ...(tlsConfig === undefined ? {} : { [tlsVariable]: tlsConfig }),
    // Last, so that no other setting replaces the certificate by which the agent knows its operator.
    ...(certificatePem === undefined ? {} : { [certificateVariable]: certificatePem })
  }).map(([name, value]) => ({ name, value }))
}

/** The part of a Job that is its agent's own. */
export interface AgentJobOptions {
  readonly name: string
  /** Port that the agent listens on. */
  readonly port: number
  /** Group that a targeted agent runs as. */
  readonly group: number
  /** Undefined: the agent is targetless. */
  readonly target: AgentPlacement | undefined
  /** The session that the agent is made for. */
  readonly owner: OwnerReference
  /**
   * Whether the agent first removes the redirects that its predecessor may have left. Only if that has ended for sure:
   * of an agent that runs, it would remove the redirects too.
   */
  readonly cleansUp?: boolean
  /** The certificate by which the agent knows its operator; undefined: it speaks clear text. */
  readonly certificatePem?: string | undefined
  /** The ports of the target that serve TLS, as the administrators of the cluster know them. */
  readonly tls?: ReadonlyArray<PortTls> | undefined
}

/** The scheduler puts the pod on this node or nowhere, so priority and room count; `nodeName` would pass it by. */
const onNode = (name: string): object => ({
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: [name] }] }]
    }
  }
})

const isEmpty = (map: object): boolean => Object.keys(map).length === 0

/** The settings of the cluster that are fields of the pod. */
const podSettings = (settings: AgentSettings, target: AgentPlacement | undefined): object => {
  const { imagePullSecrets, nodeSelector, podSecurity, priorityClass, serviceAccount } = settings
  const tolerations = settings.tolerations ?? (target === undefined ? [] : [{ operator: "Exists" }])
  return {
    ...(serviceAccount === undefined ? {} : { serviceAccountName: serviceAccount }),
    ...(imagePullSecrets.length === 0 ? {} : { imagePullSecrets: imagePullSecrets.map((name) => ({ name })) }),
    ...(priorityClass === undefined ? {} : { priorityClassName: priorityClass }),
    ...(podSecurity === undefined ? {} : { securityContext: podSecurity }),
    ...(isEmpty(nodeSelector) ? {} : { nodeSelector }),
    ...(tolerations.length === 0 ? {} : { tolerations })
  }
}

/** The fields of a pod whose agent enters a container of its node. */
const podBeside = ({ nodeName }: AgentPlacement): object => ({
  hostPID: true,
  affinity: onNode(nodeName),
  volumes: [
    { name: "hostrun", hostPath: { path: "/run" } },
    { name: "hostvar", hostPath: { path: "/var" } }
  ]
})

/** The arguments of an agent, in the order that admission rules of some clouds match (agent.md §2.3). */
export const agentArguments = (
  { communicationTimeoutSecs = 30 }: AgentSettings,
  of: { readonly port: number; readonly cleansUp: boolean; readonly mode: ReadonlyArray<string> }
): ReadonlyArray<string> => [
  ...["-l", String(of.port), "-t", String(communicationTimeoutSecs)],
  ...(of.cleansUp ? ["--clean-iptables-on-start"] : []),
  ...of.mode
]

const container = (settings: AgentSettings, options: AgentJobOptions): object => {
  const { cleansUp = false, group, port, target } = options
  const { capabilities, image, imagePullPolicy, privileged, resources } = settings
  const mode =
    target === undefined
      ? ["targetless"]
      : ["targeted", "--container-id", target.containerId, "--container-runtime", target.runtime]
  return {
    name: agentContainer,
    image,
    imagePullPolicy,
    command: ["./mirrord-agent"],
    args: agentArguments(settings, { port, cleansUp, mode }),
    env: agentEnvironment(settings, options),
    resources: resources ?? { requests: { cpu: "1m", memory: "1Mi" }, limits: { cpu: "1", memory: "100Mi" } },
    ...(target === undefined
      ? {}
      : {
          securityContext: { runAsGroup: group, privileged, capabilities: { add: capabilities } },
          volumeMounts: [
            { name: "hostrun", mountPath: "/host/run" },
            { name: "hostvar", mountPath: "/host/var" }
          ]
        })
  }
}

/** The Job of one agent, in the published shape (agent.md §2.1 to §2.3) but for the token, which it does not get. */
export const agentJob = (settings: AgentSettings, options: AgentJobOptions): object => {
  const { name, owner, target } = options
  const { meshSidecars, ttlSecs = 60 } = settings
  const labels = {
    ...settings.labels,
    app: "mirrord",
    ...ownerLabel,
    ...(meshSidecars ? {} : { "kuma.io/sidecar-injection": "disabled" })
  }
  const annotations = {
    ...settings.annotations,
    ...(meshSidecars ? {} : { "sidecar.istio.io/inject": "false", "linkerd.io/inject": "disabled" })
  }
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name, namespace: settings.namespace, labels, annotations, ownerReferences: [owner] },
    spec: {
      backoffLimit: 0,
      ttlSecondsAfterFinished: ttlSecs,
      template: {
        metadata: { labels, annotations },
        spec: {
          restartPolicy: "Never",
          // An agent never asks the API server, and who takes it over shall not be able to either.
          automountServiceAccountToken: false,
          ...podSettings(settings, target),
          ...(target === undefined ? {} : podBeside(target)),
          containers: [container(settings, options)]
        }
      }
    }
  }
}

const containerOf = (job: KubeObject): JsonObject | undefined =>
  asObjects(at(job, "spec", "template", "spec", "containers"))[0]

/** The port in the arguments of an agent's container; undefined for a container that is no agent's. */
export const portOfContainer = (container: JsonObject | undefined): number | undefined => {
  const args = asStrings(at(container, "args"))
  const port = Number(args[args.indexOf("-l") + 1])
  return Number.isInteger(port) && port > 0 && port <= 65_535 ? port : undefined
}

/** The certificate in an agent's container, PEM; undefined for an agent that speaks clear text. */
export const certificateOfContainer = (container: JsonObject | undefined): string | undefined =>
  asString(asObjects(at(container, "env")).find(({ name }) => name === certificateVariable)?.["value"])

/** The port of an agent's Job; undefined for a Job that is no agent's. */
export const agentPort = (job: KubeObject): number | undefined => portOfContainer(containerOf(job))

/** The certificate in an agent's Job, PEM; undefined for an agent that speaks clear text. */
export const agentCertificate = (job: KubeObject): string | undefined => certificateOfContainer(containerOf(job))

/** Whether the Job's agent has ended or is about to. */
export const isFinished = (job: KubeObject): boolean =>
  (asNumber(at(job, "status", "failed")) ?? 0) > 0 ||
  (asNumber(at(job, "status", "succeeded")) ?? 0) > 0 ||
  job.metadata.deletionTimestamp !== undefined
