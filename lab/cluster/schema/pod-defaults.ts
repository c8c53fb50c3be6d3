/**
 * Defaults of pods and pod templates, in place (k8s.io/kubernetes `pkg/apis/core/v1/defaults.go`), with the fields that
 * the always-on admission plugins of a real server add. The other kinds are in `built-in-defaults.ts`.
 */

import { type JsonObject, asObject, asObjects, asString, isObject } from "../../../src/domain/json.ts"

/** A volume without a source becomes an emptyDir. 420 is mode 0644; a token lives for an hour. */
const volumeDefaults = (volume: JsonObject): void => {
  const { name: _, ...sources } = volume
  if (Object.keys(sources).length === 0) volume["emptyDir"] = {}
  for (const field of ["secret", "configMap", "projected", "downwardAPI"])
    asObject(volume[field])["defaultMode"] ??= 420
  if (isObject(volume["hostPath"])) volume["hostPath"]["type"] ??= ""
  const projected = asObjects(asObject(volume["projected"])["sources"])
  for (const source of projected) asObject(source["serviceAccountToken"])["expirationSeconds"] ??= 3600
  for (const holder of [volume, ...projected])
    for (const item of asObjects(asObject(holder["downwardAPI"])["items"])) referenceDefaults(item)
}

/** Defaults of an environment variable's source, or of a file of the downward API. */
const referenceDefaults = (source: JsonObject): void => {
  asObject(source["fieldRef"])["apiVersion"] ??= "v1"
  asObject(source["resourceFieldRef"])["divisor"] ??= "0"
}

const httpDefaults = (handler: JsonObject): void => {
  if (!isObject(handler["httpGet"])) return
  handler["httpGet"]["path"] ||= "/"
  handler["httpGet"]["scheme"] ??= "HTTP"
}

const probeDefaults = (probe: JsonObject): void => {
  httpDefaults(probe)
  if (isObject(probe["grpc"])) probe["grpc"]["service"] ??= ""
  // Go takes zero for a missing value.
  probe["timeoutSeconds"] ||= 1
  probe["periodSeconds"] ||= 10
  probe["successThreshold"] ||= 1
  probe["failureThreshold"] ||= 3
}

/** A server always pulls an image without a tag, or with the tag `latest`. */
const pullPolicy = (image: unknown): string => {
  const text = asString(image) ?? ""
  if (text.includes("@") || text.startsWith(" ")) return "IfNotPresent"
  const tag = /:([^:/]+)$/.exec(text)?.[1]
  return tag === undefined || tag === "latest" ? "Always" : "IfNotPresent"
}

const containerDefaults = (container: JsonObject): void => {
  container["imagePullPolicy"] ??= pullPolicy(container["image"])
  container["resources"] ??= {}
  container["terminationMessagePath"] ??= "/dev/termination-log"
  container["terminationMessagePolicy"] ??= "File"
  for (const port of asObjects(container["ports"])) port["protocol"] ??= "TCP"
  for (const probe of ["livenessProbe", "readinessProbe", "startupProbe"])
    if (isObject(container[probe])) probeDefaults(container[probe])
  for (const hook of ["postStart", "preStop"]) httpDefaults(asObject(asObject(container["lifecycle"])[hook]))
  for (const variable of asObjects(container["env"])) referenceDefaults(asObject(variable["valueFrom"]))
}

/** The spec of a pod template. */
export const podSpecDefaults = (spec: JsonObject): void => {
  spec["restartPolicy"] ??= "Always"
  spec["terminationGracePeriodSeconds"] ??= 30
  spec["dnsPolicy"] ??= "ClusterFirst"
  spec["schedulerName"] ??= "default-scheduler"
  spec["securityContext"] ??= {}
  const account = spec["serviceAccountName"] ?? spec["serviceAccount"]
  if (account !== undefined) {
    spec["serviceAccountName"] = account
    spec["serviceAccount"] = account
  }
  for (const container of containersOf(spec)) containerDefaults(container)
  for (const volume of asObjects(spec["volumes"])) volumeDefaults(volume)
}

const containersOf = (spec: JsonObject): ReadonlyArray<JsonObject> => [
  ...asObjects(spec["containers"]),
  ...asObjects(spec["initContainers"]),
  ...asObjects(spec["ephemeralContainers"])
]

const defaultTolerations = ["not-ready", "unreachable"].map((condition) => ({
  key: `node.kubernetes.io/${condition}`,
  operator: "Exists",
  effect: "NoExecute",
  tolerationSeconds: 300
}))

/** The spec of a pod; `isNew` adds the fields of the admission plugins. */
export const podDefaults = (spec: JsonObject, isNew: boolean): void => {
  if (isNew) {
    spec["serviceAccountName"] ??= spec["serviceAccount"] ?? "default"
    spec["priority"] ??= 0
    spec["preemptionPolicy"] ??= "PreemptLowerPriority"
    const tolerations = asObjects(spec["tolerations"])
    const tolerated = (key: string): boolean =>
      tolerations.some(
        (entry) => entry["key"] === key || (entry["key"] === undefined && entry["operator"] === "Exists")
      )
    spec["tolerations"] = [...tolerations, ...defaultTolerations.filter(({ key }) => !tolerated(key))]
  }
  podSpecDefaults(spec)
  spec["enableServiceLinks"] ??= true
  for (const container of containersOf(spec)) {
    if (spec["hostNetwork"] === true)
      for (const port of asObjects(container["ports"])) port["hostPort"] ??= port["containerPort"]
    const resources = asObject(container["resources"])
    if (isObject(resources["limits"]))
      resources["requests"] = { ...resources["limits"], ...asObject(resources["requests"]) }
  }
}

/** `status.qosClass` of a pod whose defaults are filled in. */
export const qosClassOf = (spec: JsonObject): string => {
  const resources = containersOf(spec).map((container) => asObject(container["resources"]))
  const computed = (quantities: unknown): ReadonlyArray<readonly [string, unknown]> =>
    ["cpu", "memory"].flatMap((name) => {
      const quantity = asObject(quantities)[name]
      return quantity === undefined ? [] : [[name, quantity]]
    })
  if (resources.every(({ limits, requests }) => computed(limits).length === 0 && computed(requests).length === 0))
    return "BestEffort"
  const isGuaranteed = resources.every(
    ({ limits, requests }) =>
      computed(limits).length === 2 && computed(limits).every(([name, value]) => asObject(requests)[name] === value)
  )
  return isGuaranteed ? "Guaranteed" : "Burstable"
}
