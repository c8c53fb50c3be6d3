import { asArray, asObject, asObjects, at, isObject, type JsonObject, jsonEqual } from "./json.ts"
import type { KubeObject } from "./kube-object.ts"
import { type FieldError, forbiddenField, invalidValue, required } from "./status-error.ts"

const specOf = (object: KubeObject): JsonObject => {
  if (!isObject(object["spec"])) object["spec"] = {}
  return asObject(object["spec"])
}

const podSpecDefaults = (spec: JsonObject): void => {
  spec["restartPolicy"] ??= "Always"
  spec["terminationGracePeriodSeconds"] ??= 30
  spec["dnsPolicy"] ??= "ClusterFirst"
  spec["schedulerName"] ??= "default-scheduler"
  spec["securityContext"] ??= {}
  for (const container of [...asObjects(spec["containers"]), ...asObjects(spec["initContainers"])]) {
    container["imagePullPolicy"] ??= "IfNotPresent"
    container["resources"] ??= {}
    container["terminationMessagePath"] ??= "/dev/termination-log"
    container["terminationMessagePolicy"] ??= "File"
    for (const port of asObjects(container["ports"])) port["protocol"] ??= "TCP"
  }
}

const templateDefaults = (spec: JsonObject): void => {
  const podSpec = at(spec, "template", "spec")
  if (isObject(podSpec)) podSpecDefaults(podSpec)
}

const replicated = (object: KubeObject): void => {
  const spec = specOf(object)
  spec["replicas"] ??= 1
  templateDefaults(spec)
}

/** The defaults of built-in kinds that a controller, a kubelet or a person looking with `kubectl` relies on. */
const defaults: Record<string, (object: KubeObject) => void> = {
  "/pods": (object) => {
    const spec = specOf(object)
    podSpecDefaults(spec)
    spec["serviceAccountName"] ??= "default"
  },
  "/services": (object) => {
    const spec = specOf(object)
    spec["type"] ??= "ClusterIP"
    spec["sessionAffinity"] ??= "None"
    for (const port of asObjects(spec["ports"])) {
      port["protocol"] ??= "TCP"
      port["targetPort"] ??= port["port"]
    }
  },
  "/secrets": (object) => {
    object["type"] ??= "Opaque"
    if (!isObject(object["stringData"])) return
    const data: JsonObject = { ...asObject(object["data"]) }
    for (const [key, value] of Object.entries(object["stringData"])) data[key] = Buffer.from(String(value)).toString("base64")
    object["data"] = data
    delete object["stringData"]
  },
  "/namespaces": (object) => {
    const spec = specOf(object)
    spec["finalizers"] ??= ["kubernetes"]
    object.metadata.labels = { ...object.metadata.labels, "kubernetes.io/metadata.name": object.metadata.name ?? "" }
  },
  "apps/deployments": replicated,
  "apps/replicasets": replicated,
  "apps/statefulsets": replicated,
  "apps/daemonsets": (object) => templateDefaults(specOf(object)),
  "batch/jobs": (object) => {
    const spec = specOf(object)
    spec["parallelism"] ??= 1
    spec["completions"] ??= 1
    spec["backoffLimit"] ??= 6
    templateDefaults(spec)
  },
  "rbac.authorization.k8s.io/rolebindings": (object) => subjectDefaults(object),
  "rbac.authorization.k8s.io/clusterrolebindings": (object) => subjectDefaults(object)
}

const subjectDefaults = (object: KubeObject): void => {
  for (const subject of asObjects(object["subjects"])) {
    if (subject["kind"] !== "ServiceAccount") subject["apiGroup"] ??= "rbac.authorization.k8s.io"
  }
}

/** Applies the defaults of a built-in kind in place; `key` is `group/resource`. */
export const applyBuiltInDefaults = (key: string, object: KubeObject): void => defaults[key]?.(object)

const containersRequired = (object: KubeObject, ...path: ReadonlyArray<string>): ReadonlyArray<FieldError> => {
  const containers = asArray(at(object, ...path))
  if (containers.length === 0) return [required(path.join("."))]
  return containers.flatMap((container, index) =>
    typeof at(container, "name") === "string" ? [] : [required(`${path.join(".")}[${index}].name`)]
  )
}

const base64 = /^[A-Za-z0-9+/]*={0,2}$/

const workload = (object: KubeObject): ReadonlyArray<FieldError> => {
  const selector = asObject(at(object, "spec", "selector", "matchLabels"))
  const labels = asObject(at(object, "spec", "template", "metadata", "labels"))
  const errors = [...containersRequired(object, "spec", "template", "spec", "containers")]
  if (!isObject(at(object, "spec", "selector"))) errors.push(required("spec.selector"))
  else if (Object.entries(selector).some(([key, value]) => labels[key] !== value)) {
    errors.push(invalidValue("spec.template.metadata.labels", labels, "`selector` does not match template `labels`"))
  }
  return errors
}

const checks: Record<string, (object: KubeObject) => ReadonlyArray<FieldError>> = {
  "/configmaps": (object) => checkConfigKeys(object),
  "/pods": (object) => containersRequired(object, "spec", "containers"),
  "/secrets": (object) =>
    Object.entries(asObject(object["data"])).flatMap(([key, value]) =>
      typeof value === "string" && base64.test(value) ? [] : [invalidValue(`data[${key}]`, "<secret>", "must be base64")]
    ),
  "apps/deployments": workload,
  "apps/replicasets": workload,
  "apps/statefulsets": workload,
  "apps/daemonsets": workload,
  "batch/jobs": (object) => containersRequired(object, "spec", "template", "spec", "containers")
}

const configKey = /^[-._a-zA-Z0-9]+$/

const checkConfigKeys = (object: KubeObject): ReadonlyArray<FieldError> =>
  ["data", "binaryData"].flatMap((field) =>
    Object.keys(asObject(object[field])).flatMap((key) =>
      configKey.test(key)
        ? []
        : [
            invalidValue(
              `${field}[${key}]`,
              key,
              "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', " +
                "regex used for validation is '[-._a-zA-Z0-9]+')"
            )
          ]
    )
  )

/** What cannot be changed any more in a ConfigMap or Secret that says so; `key` is `group/resource`. */
export const checkImmutable = (key: string, after: KubeObject, before: KubeObject): ReadonlyArray<FieldError> => {
  if (!["/configmaps", "/secrets"].includes(key) || before["immutable"] !== true) return []
  return ["data", "binaryData", "immutable"]
    .filter((field) => !jsonEqual(after[field], before[field]))
    .map((field) => forbiddenField(field, "field is immutable when `immutable` is set"))
}

/** The few rules of built-in kinds whose breach would otherwise surface far away. */
export const checkBuiltIn = (key: string, object: KubeObject): ReadonlyArray<FieldError> => checks[key]?.(object) ?? []
