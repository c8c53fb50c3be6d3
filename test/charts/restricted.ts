import { asList, asMap, at } from "./json.ts"

/** Volumes that the restricted Pod Security Standard allows. */
const volumeKinds = new Set([
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "persistentVolumeClaim",
  "projected",
  "secret"
])
/** Sysctls that it takes for safe and that a pod of ours may want. */
const sysctls = new Set(["net.ipv4.ip_unprivileged_port_start"])

/** The parts of a pod's spec that the restricted Pod Security Standard (v1.33) refuses, one sentence each. */
export const restrictedProblems = (spec: unknown): ReadonlyArray<string> => {
  const pod = asMap(spec)
  const problems: Array<string> = []
  const refuse = (condition: boolean, problem: string): void => {
    if (condition) problems.push(problem)
  }
  for (const field of ["hostNetwork", "hostPID", "hostIPC"]) refuse(pod[field] === true, `${field} is on`)
  for (const volume of asList(pod["volumes"] ?? [])) {
    const kind = Object.keys(asMap(volume)).find((key) => key !== "name") ?? "none"
    refuse(!volumeKinds.has(kind), `a volume is a ${kind}`)
  }
  for (const sysctl of asList(at(pod, "securityContext", "sysctls") ?? [])) {
    refuse(!sysctls.has(String(at(sysctl, "name"))), `sysctl ${String(at(sysctl, "name"))} is set`)
  }
  const containers = ["initContainers", "containers", "ephemeralContainers"].flatMap((field) =>
    asList(pod[field] ?? [])
  )
  for (const container of containers.map(asMap)) {
    const name = String(container["name"])
    const own = (field: string): unknown => at(container, "securityContext", field)
    const either = (field: string): unknown => own(field) ?? at(pod, "securityContext", field)
    refuse(own("privileged") === true, `${name} is privileged`)
    refuse(own("allowPrivilegeEscalation") !== false, `${name} may escalate privileges`)
    refuse(either("runAsNonRoot") !== true, `${name} may run as root`)
    refuse(either("runAsUser") === 0, `${name} runs as user 0`)
    refuse(at(either("seccompProfile"), "type") !== "RuntimeDefault", `${name} has no seccomp profile RuntimeDefault`)
    refuse(
      !asList(at(container, "securityContext", "capabilities", "drop") ?? []).includes("ALL"),
      `${name} keeps capabilities`
    )
    const added = asList(at(container, "securityContext", "capabilities", "add") ?? []).filter(
      (capability) => capability !== "NET_BIND_SERVICE"
    )
    refuse(added.length > 0, `${name} adds ${added.join(", ")}`)
    refuse(
      asList(container["ports"] ?? []).some((port) => at(port, "hostPort") !== undefined),
      `${name} has a port of the host`
    )
  }
  return problems
}
