/**
 * The Job that becomes an agent, as the published operator makes it: plain data from settings and placement.
 *
 * Not here: when a Job is made and whether its agent runs (pod-agents.ts), nor what an agent does.
 */

import { asNumber, asObjects, asStrings, at } from "../../domain/json.ts"
import type { OwnerReference } from "../../domain/resources/object-meta.ts"
import { ownerLabel } from "../../domain/session/names.ts"
import type { AgentPlacement } from "../../domain/target/pod-choice.ts"
import type { KubeObject } from "../../ports/kube-api.ts"

/** How agents are made in this cluster. */
export interface AgentSettings {
  readonly image: string
  readonly imagePullPolicy: string
  readonly namespace: string
  /** The port of every agent; undefined: each agent gets a random port. */
  readonly port: number | undefined
  /** How long an agent stays without a client, in seconds. It bridges a restart of the operator. */
  readonly idleTtlSecs: number
  /** How long an agent may take to start, in seconds. */
  readonly startupTimeoutSecs: number
  readonly logLevel: string
}

/** The environment of an agent, with the published defaults (agent.md §2.4). */
const environment = (
  settings: AgentSettings,
  target: AgentPlacement | undefined
): ReadonlyArray<{ name: string; value: string }> =>
  Object.entries({
    RUST_LOG: settings.logLevel,
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
    ...(target === undefined || target.podIps.length === 0 ? {} : { MIRRORD_AGENT_POD_IPS: target.podIps.join(",") })
  }).map(([name, value]) => ({ name, value }))

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
}

/** The Job of one agent, in the published shape (agent.md §2.1 to §2.3). */
export const agentJob = (settings: AgentSettings, options: AgentJobOptions): object => {
  const { group, name, owner, port, target } = options
  const labels = { app: "mirrord", ...ownerLabel, "kuma.io/sidecar-injection": "disabled" }
  const annotations = { "sidecar.istio.io/inject": "false", "linkerd.io/inject": "disabled" }
  const mode =
    target === undefined
      ? ["targetless"]
      : ["targeted", "--container-id", target.containerId, "--container-runtime", target.runtime]
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name, namespace: settings.namespace, labels, annotations, ownerReferences: [owner] },
    spec: {
      backoffLimit: 0,
      ttlSecondsAfterFinished: 60,
      template: {
        metadata: { labels, annotations },
        spec: {
          restartPolicy: "Never",
          ...(target === undefined
            ? {}
            : {
                hostPID: true,
                nodeName: target.nodeName,
                tolerations: [{ operator: "Exists" }],
                volumes: [
                  { name: "hostrun", hostPath: { path: "/run" } },
                  { name: "hostvar", hostPath: { path: "/var" } }
                ]
              }),
          containers: [
            {
              name: "mirrord-agent",
              image: settings.image,
              imagePullPolicy: settings.imagePullPolicy,
              command: ["./mirrord-agent"],
              args: ["-l", String(port), "-t", "30", ...mode],
              env: environment(settings, target),
              resources: { requests: { cpu: "1m", memory: "1Mi" }, limits: { cpu: "1", memory: "100Mi" } },
              ...(target === undefined
                ? {}
                : {
                    securityContext: {
                      runAsGroup: group,
                      privileged: false,
                      capabilities: { add: ["SYS_ADMIN", "SYS_PTRACE", "NET_ADMIN"] }
                    },
                    volumeMounts: [
                      { name: "hostrun", mountPath: "/host/run" },
                      { name: "hostvar", mountPath: "/host/var" }
                    ]
                  })
            }
          ]
        }
      }
    }
  }
}

/** The port of an agent's Job; undefined for a Job that is no agent's. */
export const agentPort = (job: KubeObject): number | undefined => {
  const [container] = asObjects(at(job, "spec", "template", "spec", "containers"))
  const args = asStrings(at(container, "args"))
  const port = Number(args[args.indexOf("-l") + 1])
  return Number.isInteger(port) && port > 0 && port <= 65_535 ? port : undefined
}

/** Whether the Job's agent has ended or is about to. */
export const isFinished = (job: KubeObject): boolean =>
  (asNumber(at(job, "status", "failed")) ?? 0) > 0 ||
  (asNumber(at(job, "status", "succeeded")) ?? 0) > 0 ||
  job.metadata.deletionTimestamp !== undefined
