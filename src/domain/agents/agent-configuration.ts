/**
 * The settings of agents in `agent-config.yaml`, as the published chart writes them (agent.md §2.6).
 *
 * Not here: the variables of the operator, which win over the file (settings.ts), and the Job (agent-job.ts).
 */

import * as Result from "effect/Result"
import type { ConfigurationMistake } from "../fleet/configuration.ts"
import { MistakeList } from "../fleet/mistakes.ts"
import { type ConfigurationDocument, documentValue } from "../fleet/parse-configuration.ts"
import { asNumber, asObject, asObjects, asString, asStrings, at, isObject, type JsonObject } from "../json.ts"
import { agentCapabilities, agentFields } from "./agent-fields.ts"
import { checkField } from "./check-field.ts"

type Texts = Readonly<Record<string, string>>

/** A cluster's settings of each agent; undefined where the agent has the usual. */
export interface AgentConfiguration {
  readonly image: string | undefined
  readonly imagePullPolicy: string | undefined
  /** Names of the Secrets, in the agents' namespace, by which the image is pulled. */
  readonly imagePullSecrets: ReadonlyArray<string> | undefined
  readonly namespace: string | undefined
  /** The account that agents' pods run as; undefined: the namespace's `default`. */
  readonly serviceAccount: string | undefined
  /** How long an agent may take to start, in seconds. */
  readonly startupTimeoutSecs: number | undefined
  /** How long an agent waits for its first client, in seconds. */
  readonly communicationTimeoutSecs: number | undefined
  /** How long a Job stays after its agent has ended, in seconds. */
  readonly ttlSecs: number | undefined
  /** Environment of the agent, as far as the file sets it. */
  readonly variables: Texts
  readonly labels: Texts
  readonly annotations: Texts
  readonly nodeSelector: Texts
  readonly priorityClass: string | undefined
  /** Undefined: an agent with a target tolerates everything, an agent without one nothing. */
  readonly tolerations: ReadonlyArray<JsonObject> | undefined
  readonly resources: JsonObject | undefined
  readonly privileged: boolean
  readonly capabilities: ReadonlyArray<string>
  /** The pod's `securityContext`. */
  readonly podSecurity: JsonObject | undefined
  /** Whether service meshes may add their sidecars to agents' pods. */
  readonly meshSidecars: boolean
  /** Whether agents are ephemeral containers of the targets' pods instead of pods of their own. */
  readonly ephemeral: boolean
  /** Whether an ephemeral agent keeps the sidecar of a service mesh away from its port. */
  readonly excludeFromMesh: boolean
  /** Whether a node is asked first if it has room for an agent's pod; otherwise the scheduler finds out. */
  readonly checkOutOfPods: boolean
}

/** The agent's variable of each field, in the order in which the published operator sends them (agent.md §2.4). */
const variableFields: ReadonlyArray<readonly [variable: string, ...field: ReadonlyArray<string>]> = [
  ["RUST_LOG", "log_level"],
  ["MIRRORD_AGENT_STEALER_FLUSH_CONNECTIONS", "flush_connections"],
  ["MIRRORD_AGENT_JSON_LOG", "json_log"],
  ["MIRRORD_MAX_BODY_BUFFER_SIZE", "max_body_buffer_size"],
  ["MIRRORD_MAX_BODY_BUFFER_TIMEOUT", "max_body_buffer_timeout"],
  ["MIRRORD_AGENT_HTTP_DETECTION_TIMEOUT", "http_detection_timeout"],
  ["MIRRORD_JAQ_TIME_LIMIT", "jaq_time_limit"],
  ["MIRRORD_AGENT_NFTABLES", "nftables"],
  ["MIRRORD_AGENT_DNS_ATTEMPTS", "dns", "attempts"],
  ["MIRRORD_AGENT_DNS_TIMEOUT", "dns", "timeout"],
  ["MIRRORD_AGENT_METRICS", "metrics"],
  ["MIRRORD_AGENT_INJECT_HEADERS", "inject_headers"],
  ["MIRRORD_AGENT_CLEAN_IPTABLES_ON_START", "clean_iptables_on_start"],
  ["MIRRORD_AGENT_EXTERNAL_IP_FIX", "external_ip_fix"],
  ["MIRRORD_AGENT_OVERRIDE_CACHE_CONTROL", "override_cache_control"]
]

/** The entries that are set. */
const present = (value: unknown): JsonObject =>
  Object.fromEntries(Object.entries(asObject(value)).filter(([, found]) => found !== null && found !== undefined))
const textsOf = (value: unknown): Texts =>
  Object.fromEntries(Object.entries(present(value)).map(([name, found]) => [name, String(found)]))
/** An empty text is not set. */
const textOf = (value: unknown): string | undefined => asString(value) || undefined

const variablesOf = (file: JsonObject): Texts =>
  textsOf(
    Object.fromEntries(
      variableFields.flatMap(([variable, ...field]) => {
        const value = at(file, ...field)
        return value === "" ? [] : [[variable, value]]
      })
    )
  )

/** An image that is given as `registry` and `tag` has the published ones for the part that is missing. */
const imageOf = (value: unknown, usual: string): string | undefined => {
  if (!isObject(value)) return textOf(value)
  const { registry, tag } = textsOf(value)
  const colon = usual.lastIndexOf(":")
  return `${registry || usual.slice(0, colon)}:${tag || usual.slice(colon + 1)}`
}

const profileOf = (value: unknown): JsonObject | undefined => {
  const { localhost_profile: localhostProfile, type } = present(value)
  return isObject(value) ? present({ type, localhostProfile }) : undefined
}

const podSecurityOf = (value: unknown): JsonObject | undefined =>
  isObject(value)
    ? present({
        appArmorProfile: profileOf(value["app_armor_profile"]),
        seccompProfile: profileOf(value["seccomp_profile"])
      })
    : undefined

const read = (file: JsonObject, defaultImage: string): AgentConfiguration => {
  const disabled = asStrings(file["disabled_capabilities"])
  const { resources, tolerations } = file
  return {
    image: imageOf(file["image"], defaultImage),
    imagePullPolicy: textOf(file["image_pull_policy"]),
    imagePullSecrets: Array.isArray(file["image_pull_secrets"])
      ? asObjects(file["image_pull_secrets"]).map(({ name }) => String(name))
      : undefined,
    namespace: textOf(file["namespace"]),
    serviceAccount: textOf(file["service_account"]),
    startupTimeoutSecs: asNumber(file["startup_timeout"]),
    communicationTimeoutSecs: asNumber(file["communication_timeout"]),
    ttlSecs: asNumber(file["ttl"]),
    variables: variablesOf(file),
    labels: textsOf(file["labels"]),
    annotations: textsOf(file["annotations"]),
    nodeSelector: textsOf(file["node_selector"]),
    priorityClass: textOf(file["priority_class"]) ?? textOf(file["priority_class_name"]),
    tolerations: Array.isArray(tolerations) ? asObjects(tolerations).map(present) : undefined,
    resources: isObject(resources)
      ? Object.fromEntries(Object.entries(present(resources)).map(([name, of]) => [name, present(of)]))
      : undefined,
    privileged: file["privileged"] === true,
    capabilities: agentCapabilities.filter((capability) => !disabled.includes(capability)),
    podSecurity: podSecurityOf(file["security_context"]),
    meshSidecars: file["disable_mesh_sidecar_injection"] === false,
    ephemeral: file["ephemeral"] === true,
    excludeFromMesh: file["exclude_from_mesh"] === true,
    checkOutOfPods: file["check_out_of_pods"] === true
  }
}

/** Agents without any settings. */
export const defaultAgentConfiguration: AgentConfiguration = read({}, "")

/**
 * Reads the file. Fails with every value that a field cannot have. Fields that are not in the table are left alone: a
 * newer chart may have more, and NOTES name them.
 */
export const parseAgentConfiguration = (
  document: ConfigurationDocument,
  defaultImage: string
): Result.Result<AgentConfiguration, ReadonlyArray<ConfigurationMistake>> => {
  const mistakes = new MistakeList("agent-config.yaml")
  const value = documentValue(document, mistakes)
  if (value !== undefined && value !== null && !isObject(value))
    mistakes.add("", value, "the file must hold a map", "write fields such as labels at its top level")
  const file = present(value)
  for (const [field, shape] of Object.entries(agentFields)) {
    const found = file[field]
    if (found !== undefined) checkField(shape, found, field, mistakes)
  }
  return mistakes.mistakes.length > 0 ? Result.fail(mistakes.mistakes) : Result.succeed(read(file, defaultImage))
}

/** The variables in `OPERATOR_AGENT_EXTRA_ENV`, a JSON object; undefined if the text is none. */
export const extraEnvironment = (text: string): Texts | undefined => {
  const value = parsedJson(text)
  if (!isObject(value)) return undefined
  const isRight = Object.entries(value).every(
    ([name, found]) => /^[ -<>-~]+$/u.test(name) && (found === null || typeof found !== "object")
  )
  return isRight ? textsOf(value) : undefined
}

const parsedJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
