/** What `braid doctor` looks at in a cluster, in the order in which it is told: each needs the ones before it. */
export const checks = [
  "configuration",
  "reach",
  "certificate",
  "credentials",
  "authentication",
  "clock",
  "permissions",
  "resources",
  "operator"
] as const
export type Check = (typeof checks)[number]

/** `warning`: it works today. `skipped`: could not be looked at, because of a failure that is told too. */
export type FindingStatus = "ok" | "warning" | "failed" | "skipped"

/** One thing that was looked at. Holds no secret. */
export interface Finding {
  readonly check: Check
  readonly status: FindingStatus
  /** One sentence for a person. */
  readonly message: string
  /** What to do, one sentence; there for every warning and every failure, and for nothing else. */
  readonly fix?: string
}

export const ok = (check: Check, message: string): Finding => ({ check, status: "ok", message })
export const skipped = (check: Check, message: string): Finding => ({ check, status: "skipped", message })
export const warning = (check: Check, message: string, fix: string): Finding => ({
  check,
  status: "warning",
  message,
  fix
})
export const failed = (check: Check, message: string, fix: string): Finding => ({
  check,
  status: "failed",
  message,
  fix
})

/** The worst of many findings. What was skipped counts for nothing: its cause is a finding of its own. */
export const verdictOf = (findings: ReadonlyArray<Pick<Finding, "status">>): "ok" | "warning" | "failed" => {
  if (findings.some(({ status }) => status === "failed")) return "failed"
  return findings.some(({ status }) => status === "warning") ? "warning" : "ok"
}
