/**
 * The findings of `braid doctor`: one per thing that was examined, with its status and what to do.
 *
 * Not here: how they are printed (report.ts).
 */

/** The checks of a cluster, in the order of the report. A check makes sense only if those before it went well. */
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

/** `warning`: it works today. `skipped`: it could not be examined because of a failure that is a finding too. */
export type FindingStatus = "ok" | "warning" | "failed" | "skipped"

/** One thing that was examined. Holds no secret. */
export interface Finding {
  readonly check: Check
  readonly status: FindingStatus
  /** One sentence for a person. */
  readonly message: string
  /** One sentence that says what to do. Every warning and every failure has it, and no other finding. */
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

/** The worst of many findings. Skipped findings do not count: their cause is a finding of its own. */
export const verdictOf = (findings: ReadonlyArray<Pick<Finding, "status">>): "ok" | "warning" | "failed" => {
  if (findings.some(({ status }) => status === "failed")) return "failed"
  return findings.some(({ status }) => status === "warning") ? "warning" : "ok"
}
