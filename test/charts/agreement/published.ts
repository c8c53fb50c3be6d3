/**
 * Files and variables that the published chart makes of values, written down once more and without a look at whether
 * they are right.
 */

import { agentFields, type Shape } from "../../../src/domain/agents/agent-fields.ts"
import {
  type ConfigurationDocument,
  type parseFleetConfiguration
} from "../../../src/domain/fleet/parse-configuration.ts"
import { asArray } from "../../../src/domain/json.ts"
import type { Installation, MultiCluster } from "./values.ts"

export const parsed = (value: unknown): ConfigurationDocument => ({ _tag: "Parsed", value })

/** A scalar as the published templates print it in quotes. */
const quoted = (value: unknown): string | undefined =>
  value === undefined || value === null ? undefined : String(value)
const isSet = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== "" && value !== false && value !== 0

/**
 * The two files that the published chart makes of the values, written down once more and without a look at whether they
 * are right.
 */
export const publishedFiles = (multiCluster: MultiCluster): Parameters<typeof parseFleetConfiguration>[0] => {
  const seconds = (value: unknown): unknown =>
    typeof value === "string" && /^(0|[1-9]\d*)?$/u.test(value) ? Number(value) : value
  const truth = (value: unknown): unknown => {
    if (value === "true") return true
    return value === "false" || value === "" || value === null ? false : value
  }
  const entries = Object.entries(multiCluster.clusters).map(([name, cluster]) => ({
    name,
    server: quoted(cluster["server"]),
    authType: quoted(cluster["authType"]),
    ...(isSet(cluster["isDefault"]) ? { isDefault: cluster["isDefault"] } : {})
  }))
  return {
    multiCluster: parsed({
      clusterName: quoted(multiCluster["clusterName"]) || "primary",
      defaultCluster: quoted(multiCluster["defaultCluster"]) ?? "",
      managementOnly: multiCluster["managementOnly"] === undefined ? true : truth(multiCluster["managementOnly"]),
      remoteSessionTimeoutSecs: seconds(multiCluster["remoteSessionTimeoutSecs"]),
      sessionTtlSecs: seconds(multiCluster["sessionTtlSecs"]),
      sessionStart: multiCluster["sessionStart"] === "" ? undefined : multiCluster["sessionStart"]
    }),
    clusters: entries.length === 0 ? { _tag: "Absent" } : parsed({ clusters: entries }),
    findsClusters: asArray(multiCluster["providers"]).length > 0
  }
}

/** Scalars where there is to be text, which the chart prints as text. */
export const printed = (file: Readonly<Record<string, unknown>>): unknown =>
  Object.fromEntries(
    Object.entries(file).map(([name, value]) => {
      const isText = new Map<string, Shape>(Object.entries(agentFields)).get(name)?.kind
      return [name, (isText === "text" || isText === "name") && typeof value !== "object" ? String(value) : value]
    })
  )

/**
 * The variables that the published chart makes of the values, as far as the operator reads them, without a look at
 * whether they are right.
 */
export const publishedEnvironment = ({
  agentPort,
  allowedNamespaces,
  extraEnv,
  jsonLog,
  maxSessionTimeSeconds,
  multiCluster,
  noPodTargetsSessionTimeoutMillis,
  port,
  requireFrontProxyClientCert,
  sessionsPerUser
}: Installation): Readonly<Record<string, unknown>> => {
  const truth = (value: unknown): string => (typeof value === "string" && value !== "" ? value : String(isSet(value)))
  const ofMetrics = /:(\d+)$/u.exec(String(extraEnv["OPERATOR_METRICS_ADDR"] ?? ""))?.[1] ?? "9000"
  const own: Readonly<Record<string, unknown>> = {
    // Without metrics nobody reads it.
    OPERATOR_METRICS_FALLBACK_ADDR: `0.0.0.0:${ofMetrics}`,
    OPERATOR_POD_NAME: { fieldRef: { fieldPath: "metadata.name" } },
    OPERATOR_POD_UID: { fieldRef: { fieldPath: "metadata.uid" } },
    MIRRORD_OPERATOR_NAMESPACE: { fieldRef: { fieldPath: "metadata.namespace" } },
    OPERATOR_ADDR: `[::]:${isSet(port) ? String(port) : "443"}`,
    OPERATOR_FALLBACK_ADDR: `0.0.0.0:${isSet(port) ? String(port) : "443"}`,
    OPERATOR_JSON_LOG: truth(jsonLog),
    OPERATOR_COPY_TARGET_USE_AGENT_IMAGE: "true",
    OPERATOR_INJECT_SESSION_KEY_HEADER: "true",
    OPERATOR_AGENT_CONFIG: "/mirrord-config/agent-config.yaml",
    OPERATOR_OWN_CERTIFICATE: "true",
    OPERATOR_REQUIRE_FRONT_PROXY_CLIENT_CERT: truth(requireFrontProxyClientCert),
    ...(isSet(agentPort) ? { OPERATOR_AGENT_PORT: String(agentPort) } : {}),
    ...(isSet(maxSessionTimeSeconds) ? { OPERATOR_MAX_SESSION_TIME_SECONDS: String(maxSessionTimeSeconds) } : {}),
    ...(isSet(noPodTargetsSessionTimeoutMillis)
      ? { OPERATOR_NO_POD_TARGETS_SESSION_TIMEOUT_MILLIS: String(noPodTargetsSessionTimeoutMillis) }
      : {}),
    ...(isSet(sessionsPerUser) || sessionsPerUser === 0 ? { OPERATOR_SESSIONS_PER_USER: String(sessionsPerUser) } : {}),
    ...(asArray(allowedNamespaces).length > 0
      ? { OPERATOR_ALLOWED_TARGET_NAMESPACES: asArray(allowedNamespaces).join(",") }
      : {}),
    ...(multiCluster["enabled"] === true
      ? { MIRRORD_MULTICLUSTER_CONFIG: "/mirrord-config/multicluster-config.yaml" }
      : {}),
    ...(multiCluster["enabled"] === true && Object.keys(multiCluster.clusters).length > 0
      ? { MIRRORD_CLUSTERS_CONFIG: "/mirrord-config/clusters-config.yaml" }
      : {})
  }
  const users = Object.entries(extraEnv).filter(([, value]) => value !== null && value !== undefined)
  return {
    ...own,
    ...Object.fromEntries(users.map(([name, value]) => [name, typeof value === "object" ? value : String(value)]))
  }
}
