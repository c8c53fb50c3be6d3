/** The settings of `agent-config.yaml`, for tests of the Job and of the ephemeral container. */

/** The arguments of an agent beside a container, with the seconds that it waits for its first client. */
const argumentsWith = (timeout: string): ReadonlyArray<string> => {
  const mode = ["targeted", "--container-id", "abc", "--container-runtime", "cri-o"]
  return ["-l", "4000", "-t", timeout, ...mode]
}

/** Each field of `agent-config.yaml` that a Job shows, a value, and where the value is in the Job in what form. */
export const eachSetting: ReadonlyArray<readonly [string, unknown, readonly [path: string, expected: unknown]]> = [
  ["annotations", { note: "a" }, ["pod metadata annotations note", "a"]],
  ["annotations", { note: "a" }, ["job metadata annotations note", "a"]],
  ["clean_iptables_on_start", true, ["env MIRRORD_AGENT_CLEAN_IPTABLES_ON_START", "true"]],
  ["communication_timeout", 45, ["container args", argumentsWith("45")]],
  ["disable_mesh_sidecar_injection", false, ["pod metadata annotations", {}]],
  ["disable_mesh_sidecar_injection", false, ["pod metadata labels kuma.io/sidecar-injection", undefined]],
  ["disabled_capabilities", ["NET_ADMIN"], ["container securityContext capabilities add", ["SYS_ADMIN", "SYS_PTRACE"]]],
  ["dns", { attempts: 3 }, ["env MIRRORD_AGENT_DNS_ATTEMPTS", "3"]],
  ["dns", { timeout: 2 }, ["env MIRRORD_AGENT_DNS_TIMEOUT", "2"]],
  ["external_ip_fix", false, ["env MIRRORD_AGENT_EXTERNAL_IP_FIX", "false"]],
  ["flush_connections", false, ["env MIRRORD_AGENT_STEALER_FLUSH_CONNECTIONS", "false"]],
  ["http_detection_timeout", 7, ["env MIRRORD_AGENT_HTTP_DETECTION_TIMEOUT", "7"]],
  ["image", { tag: 3 }, ["container image", "agent:3"]],
  ["image_pull_policy", "Never", ["container imagePullPolicy", "Never"]],
  ["image_pull_secrets", [{ name: "registry" }], ["pod spec imagePullSecrets", [{ name: "registry" }]]],
  ["inject_headers", true, ["env MIRRORD_AGENT_INJECT_HEADERS", "true"]],
  ["jaq_time_limit", 4, ["env MIRRORD_JAQ_TIME_LIMIT", "4"]],
  ["json_log", true, ["env MIRRORD_AGENT_JSON_LOG", "true"]],
  ["labels", { team: "a" }, ["pod metadata labels team", "a"]],
  ["labels", { team: "a" }, ["job metadata labels team", "a"]],
  ["log_level", "mirrord=debug", ["env RUST_LOG", "mirrord=debug"]],
  ["max_body_buffer_size", 0, ["env MIRRORD_MAX_BODY_BUFFER_SIZE", "0"]],
  ["max_body_buffer_timeout", 5, ["env MIRRORD_MAX_BODY_BUFFER_TIMEOUT", "5"]],
  ["metrics", "0.0.0.0:9000", ["env MIRRORD_AGENT_METRICS", "0.0.0.0:9000"]],
  ["namespace", "agents", ["job metadata namespace", "agents"]],
  ["nftables", false, ["env MIRRORD_AGENT_NFTABLES", "false"]],
  ["node_selector", { pool: "a" }, ["pod spec nodeSelector", { pool: "a" }]],
  ["override_cache_control", false, ["env MIRRORD_AGENT_OVERRIDE_CACHE_CONTROL", "false"]],
  ["priority_class", "high", ["pod spec priorityClassName", "high"]],
  ["priority_class_name", "high", ["pod spec priorityClassName", "high"]],
  ["privileged", true, ["container securityContext privileged", true]],
  ["resources", { limits: { memory: "1Gi" } }, ["container resources", { limits: { memory: "1Gi" } }]],
  [
    "security_context",
    { seccomp_profile: { type: "Localhost", localhost_profile: "a.json" } },
    ["pod spec securityContext", { seccompProfile: { type: "Localhost", localhostProfile: "a.json" } }]
  ],
  [
    "security_context",
    { app_armor_profile: { type: "Unconfined" } },
    ["pod spec securityContext", { appArmorProfile: { type: "Unconfined" } }]
  ],
  ["service_account", "agent", ["pod spec serviceAccountName", "agent"]],
  [
    "tolerations",
    [{ key: "a", effect: "NoSchedule", value: null }],
    ["pod spec tolerations", [{ key: "a", effect: "NoSchedule" }]]
  ],
  ["ttl", 5, ["job spec ttlSecondsAfterFinished", 5]]
]

/** All of them in one file. */
export const everySetting = Object.fromEntries(eachSetting.map(([field, value]) => [field, value]))
