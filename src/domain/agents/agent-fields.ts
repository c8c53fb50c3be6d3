/**
 * The fields of `agent-config.yaml`, which are those of the client's own configuration of agents (agent.md §2.6), and
 * the shape of each. The parser reads this table, and so do the chart's templates, from the copy that
 * `scripts/generate-chart.mjs` writes: both refuse the same values with the same words.
 *
 * Not here: judging a value (check-field.ts), and what a field does (agent-configuration.ts, agent-job.ts).
 */

/** The values that a field may hold. A field that is absent or `null` is not set. */
export type Shape =
  /** `name`: the name of an object. `quantity`: text or a number. */
  | { readonly kind: "text" | "truth" | "quantity" | "name" }
  /** Judged by the API server alone. */
  | { readonly kind: "any" }
  /** References to Secrets, `{name}` each. */
  | { readonly kind: "references" }
  | { readonly kind: "whole"; readonly least: number; readonly most: number }
  | { readonly kind: "words"; readonly words: ReadonlyArray<string> }
  | { readonly kind: "list" | "map"; readonly of: Shape }
  /** `image`: the fields, or all of it as text. */
  | { readonly kind: "fields" | "image"; readonly fields: Readonly<Record<string, Shape>> }

const text: Shape = { kind: "text" }
const truth: Shape = { kind: "truth" }
const texts: Shape = { kind: "map", of: text }
const quantities: Shape = { kind: "map", of: { kind: "quantity" } }
const whole = (least: number, most = 4_294_967_295): Shape => ({ kind: "whole", least, most })
const words = (...of: ReadonlyArray<string>): Shape => ({ kind: "words", words: of })
const fields = (of: Readonly<Record<string, Shape>>): Shape => ({ kind: "fields", fields: of })
const profile = fields({ type: words("RuntimeDefault", "Localhost", "Unconfined"), localhost_profile: text })

/** The capabilities of an agent that has a target (agent.md §2.2). */
export const agentCapabilities = ["SYS_ADMIN", "SYS_PTRACE", "NET_ADMIN"] as const

export const agentFields = {
  annotations: texts,
  check_out_of_pods: truth,
  clean_iptables_on_start: truth,
  communication_timeout: whole(1, 65_535),
  disable_mesh_sidecar_injection: truth,
  disabled_capabilities: { kind: "list", of: words(...agentCapabilities) },
  dns: fields({ timeout: whole(1), attempts: whole(1) }),
  ephemeral: truth,
  exclude_from_mesh: truth,
  external_ip_fix: truth,
  flush_connections: truth,
  http_detection_timeout: whole(0),
  image: { kind: "image", fields: { registry: text, tag: { kind: "quantity" } } },
  image_pull_policy: text,
  image_pull_secrets: { kind: "references" },
  inject_headers: truth,
  jaq_time_limit: whole(0),
  json_log: truth,
  labels: texts,
  log_level: text,
  max_body_buffer_size: whole(0),
  max_body_buffer_timeout: whole(0),
  metrics: text,
  namespace: text,
  nftables: truth,
  node_selector: texts,
  override_cache_control: truth,
  priority_class: text,
  priority_class_name: text,
  privileged: truth,
  resources: fields({ limits: quantities, requests: quantities }),
  security_context: fields({ app_armor_profile: profile, seccomp_profile: profile }),
  service_account: { kind: "name" },
  startup_timeout: whole(1, 86_400),
  tolerations: {
    kind: "list",
    of: fields({
      key: text,
      operator: words("Exists", "Equal"),
      value: text,
      effect: words("NoSchedule", "PreferNoSchedule", "NoExecute"),
      tolerationSeconds: whole(0)
    })
  },
  ttl: whole(0, 65_535)
} as const satisfies Readonly<Record<string, Shape>>
