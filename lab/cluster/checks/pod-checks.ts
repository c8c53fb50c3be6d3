/**
 * A real server's refusals of a pod's spec, or of the spec in a pod template: of the fields that people write
 * (k8s.io/kubernetes `pkg/apis/core/validation`). Workloads check their templates with it; selectors and strategies are
 * in `workload-checks.ts`.
 */

import { type JsonObject, asArray, asNumber, asObject, asObjects, asString } from "../../../src/domain/json.ts"
import { compareQuantities } from "../schema/quantity.ts"
import {
  duplicateValue,
  forbiddenField,
  invalidValue,
  notFoundValue,
  required,
  unsupportedValue
} from "../wire/status-error.ts"
import {
  type FieldErrors,
  allNotNegative,
  dnsName,
  isBlank,
  isRequired,
  labelSelector,
  oneOf,
  portName,
  portNumber,
  portNumberOrName
} from "./field-checks.ts"
import { badKeys, labelErrors } from "./object-metadata.ts"

/** The names of the alternative fields that are set; at most one may be. */
const chosen = (object: JsonObject, names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.filter((name) => object[name] !== undefined)

const valueSources = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"]
const podFields =
  /^(metadata\.(name|namespace|uid|labels|annotations)|metadata\.(labels|annotations)\['[^']+'\]|spec\.(nodeName|serviceAccountName)|status\.(hostIPs?|podIPs?))$/
const containerResources = [
  "limits.cpu",
  "limits.ephemeral-storage",
  "limits.memory",
  "requests.cpu",
  "requests.ephemeral-storage",
  "requests.memory"
]

function* fieldReference(field: string, reference: JsonObject): FieldErrors {
  const path = asString(reference["fieldPath"]) ?? ""
  if (path === "") yield required(`${field}.fieldPath`)
  else if (!podFields.test(path))
    yield invalidValue(`${field}.fieldPath`, path, `error converting fieldPath: field label not supported: ${path}`)
}

function* valueFrom(field: string, variable: JsonObject): FieldErrors {
  if (variable["valueFrom"] === undefined) return
  const source = asObject(variable["valueFrom"])
  const given = chosen(source, valueSources)
  for (const name of ["secretKeyRef", "configMapKeyRef"]) {
    if (source[name] === undefined) continue
    const reference = asObject(source[name])
    yield* dnsName("subdomain", `${field}.${name}.name`, reference["name"] ?? "")
    yield* isRequired(`${field}.${name}.key`, reference["key"])
  }
  if (source["fieldRef"] !== undefined) yield* fieldReference(`${field}.fieldRef`, asObject(source["fieldRef"]))
  const resource = asObject(source["resourceFieldRef"])["resource"]
  if (
    !isBlank(resource) &&
    !containerResources.includes(String(resource)) &&
    !/^(limits|requests)\.hugepages-/.test(String(resource))
  ) {
    yield unsupportedValue(`${field}.resourceFieldRef.resource`, resource, containerResources)
  }
  if (given.length === 0)
    yield invalidValue(
      field,
      "",
      "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
    )
  else if (!isBlank(variable["value"])) yield invalidValue(field, "", "may not be specified when `value` is not empty")
  else if (given.length > 1) yield invalidValue(field, "", "may not have more than one field specified at a time")
}

function* environment(field: string, container: JsonObject): FieldErrors {
  for (const [index, variable] of asObjects(container["env"]).entries()) {
    const at = `${field}.env[${index}]`
    const name = asString(variable["name"]) ?? ""
    if (name === "") yield required(`${at}.name`)
    else if (!/^[ -<>-~]+$/.test(name)) {
      yield invalidValue(
        `${at}.name`,
        name,
        "a valid environment variable name must consist only of printable ASCII characters other than '='"
      )
    }
    yield* valueFrom(`${at}.valueFrom`, variable)
  }
  for (const source of asObjects(container["envFrom"])) {
    const given = chosen(source, ["configMapRef", "secretRef"])
    if (given.length === 0)
      yield invalidValue(`${field}.envFrom`, "", "must specify one of: `configMapRef` or `secretRef`")
    else if (given.length > 1)
      yield invalidValue(`${field}.envFrom`, "", "may not have more than one field specified at a time")
  }
}

function* containerPorts(field: string, container: JsonObject, hostNetwork: boolean): FieldErrors {
  const names = new Set<string>()
  for (const [index, port] of asObjects(container["ports"]).entries()) {
    const at = `${field}.ports[${index}]`
    const name = asString(port["name"]) ?? ""
    if (name !== "") {
      const problems = [...portName(`${at}.name`, name)]
      yield* problems
      if (problems.length === 0 && names.has(name)) yield duplicateValue(`${at}.name`, name)
      names.add(name)
    }
    if (asNumber(port["containerPort"]) === undefined || port["containerPort"] === 0)
      yield required(`${at}.containerPort`)
    else yield* portNumber(`${at}.containerPort`, port["containerPort"])
    const hostPort = asNumber(port["hostPort"]) ?? 0
    if (hostPort !== 0) yield* portNumber(`${at}.hostPort`, hostPort)
    if (hostNetwork && hostPort !== 0 && hostPort !== port["containerPort"])
      yield invalidValue(`${at}.hostPort`, hostPort, "must match `containerPort` when `hostNetwork` is true")
    yield* oneOf(`${at}.protocol`, port["protocol"], ["SCTP", "TCP", "UDP"])
  }
}

function* relativePath(field: string, path: string): FieldErrors {
  if (path.startsWith("/")) yield invalidValue(field, path, "must be a relative path")
  if (path.split("/").includes("..")) yield invalidValue(field, path, "must not contain '..'")
}

function* mounts(field: string, container: JsonObject, volumes: ReadonlySet<string>): FieldErrors {
  const paths = new Set<string>()
  for (const [index, mount] of asObjects(container["volumeMounts"]).entries()) {
    const at = `${field}.volumeMounts[${index}]`
    const name = asString(mount["name"]) ?? ""
    const path = asString(mount["mountPath"]) ?? ""
    yield* isRequired(`${at}.name`, name)
    if (!volumes.has(name)) yield notFoundValue(`${at}.name`, name)
    yield* isRequired(`${at}.mountPath`, path)
    if (paths.has(path)) yield invalidValue(`${at}.mountPath`, path, "must be unique")
    paths.add(path)
    yield* relativePath(`${field}.volumeMounts.subPath`, asString(mount["subPath"]) ?? "")
  }
}

const handlers = ["exec", "httpGet", "tcpSocket", "grpc"]

function* handler(field: string, value: JsonObject, names: ReadonlyArray<string>): FieldErrors {
  const [first, ...more] = chosen(value, names)
  if (first === undefined) yield required(field, "must specify a handler type")
  for (const name of more) yield forbiddenField(`${field}.${name}`, "may not specify more than 1 handler type")
  const action = asObject(first === undefined ? undefined : value[first])
  if (first === "exec") yield* isRequired(`${field}.exec.command`, action["command"])
  if (first === "httpGet" || first === "tcpSocket") yield* portNumberOrName(`${field}.${first}.port`, action["port"])
  if (first === "grpc") yield* portNumber(`${field}.grpc.port`, action["port"])
  if (first === "httpGet") yield* oneOf(`${field}.httpGet.scheme`, action["scheme"], ["HTTP", "HTTPS"])
}

function* probes(field: string, container: JsonObject): FieldErrors {
  for (const name of ["livenessProbe", "readinessProbe", "startupProbe"]) {
    if (container[name] === undefined) continue
    const probe = asObject(container[name])
    const at = `${field}.${name}`
    yield* handler(at, probe, handlers)
    yield* allNotNegative(at, probe, [
      "initialDelaySeconds",
      "timeoutSeconds",
      "periodSeconds",
      "successThreshold",
      "failureThreshold"
    ])
    if (name !== "readinessProbe" && (asNumber(probe["successThreshold"]) ?? 1) > 1) {
      yield invalidValue(`${at}.successThreshold`, probe["successThreshold"], "must be 1")
    }
  }
  for (const hook of ["postStart", "preStop"]) {
    const value = asObject(container["lifecycle"])[hook]
    if (value !== undefined)
      yield* handler(`${field}.lifecycle.${hook}`, asObject(value), ["exec", "httpGet", "tcpSocket", "sleep"])
  }
}

const isStandardResource = (name: string): boolean => /^(cpu|memory|ephemeral-storage|hugepages-.+)$/.test(name)

function* resources(field: string, container: JsonObject): FieldErrors {
  const { limits, requests } = asObject(container["resources"])
  for (const [list, quantities] of [
    ["limits", limits],
    ["requests", requests]
  ] as const) {
    for (const [name, quantity] of Object.entries(asObject(quantities))) {
      const at = `${field}.resources.${list}[${name}]`
      if (!name.includes("/") && !isStandardResource(name)) {
        yield invalidValue(at, name, "must be a standard resource type or fully qualified")
        yield invalidValue(at, name, "must be a standard resource for containers")
      }
      if (String(quantity).startsWith("-")) yield invalidValue(at, quantity, "must be greater than or equal to 0")
    }
  }
  for (const [name, quantity] of Object.entries(asObject(requests))) {
    const limit = asObject(limits)[name]
    if (limit !== undefined && compareQuantities(String(quantity), String(limit)) > 0) {
      yield invalidValue(
        `${field}.resources.requests`,
        quantity,
        `must be less than or equal to ${name} limit of ${String(limit)}`
      )
    }
  }
}

/** The pod of a container, as far as its checks look at it. */
interface Pod {
  readonly volumes: ReadonlySet<string>
  /** Names of containers that were checked before. */
  readonly taken: Set<string>
  readonly hostNetwork: boolean
}

function* containerChecks(field: string, container: JsonObject, pod: Pod): FieldErrors {
  const { hostNetwork, taken, volumes } = pod
  const name = asString(container["name"]) ?? ""
  if (name === "") yield required(`${field}.name`)
  else yield* dnsName("label", `${field}.name`, name)
  if (name !== "" && taken.has(name)) yield duplicateValue(`${field}.name`, name)
  taken.add(name)
  yield* isRequired(`${field}.image`, container["image"])
  yield* containerPorts(field, container, hostNetwork)
  yield* environment(field, container)
  yield* mounts(field, container, volumes)
  yield* probes(field, container)
  yield* oneOf(`${field}.imagePullPolicy`, container["imagePullPolicy"], ["Always", "IfNotPresent", "Never"])
  yield* resources(field, container)
  const context = asObject(container["securityContext"])
  yield* ids(`${field}.securityContext`, context)
  if (context["privileged"] === true && context["allowPrivilegeEscalation"] === false) {
    yield invalidValue(
      `${field}.securityContext`,
      context,
      "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
    )
  }
}

function* ids(field: string, context: JsonObject): FieldErrors {
  for (const name of ["runAsUser", "runAsGroup", "fsGroup"]) {
    const id = asNumber(context[name])
    if (id !== undefined && (id < 0 || id > 2147483647))
      yield invalidValue(`${field}.${name}`, id, "must be between 0 and 2147483647, inclusive")
  }
  yield* oneOf(`${field}.seccompProfile.type`, asObject(context["seccompProfile"])["type"], [
    "Localhost",
    "RuntimeDefault",
    "Unconfined"
  ])
}

function* volumeFiles(field: string, source: JsonObject): FieldErrors {
  for (const [index, item] of asObjects(source["items"]).entries()) {
    if (item["fieldRef"] === undefined && item["resourceFieldRef"] === undefined)
      yield* isRequired(`${field}.items[${index}].key`, item["key"])
    yield* isRequired(`${field}.items[${index}].path`, item["path"])
    yield* relativePath(`${field}.items[${index}].path`, asString(item["path"]) ?? "")
  }
  const mode = asNumber(source["defaultMode"])
  if (mode !== undefined && (mode < 0 || mode > 0o777))
    yield invalidValue(`${field}.defaultMode`, mode, "must be a number between 0 and 0777 (octal), both inclusive")
}

/** The field that each source of a volume requires. */
const sourceNames: Readonly<Record<string, string>> = {
  secret: "secretName",
  configMap: "name",
  hostPath: "path",
  persistentVolumeClaim: "claimName"
}

function* volumeChecks(field: string, volume: JsonObject): FieldErrors {
  const { name: _, ...sources } = volume
  for (const [index, [type, value]] of Object.entries(sources).entries()) {
    const at = `${field}.${type}`
    if (index > 0) {
      yield forbiddenField(at, "may not specify more than 1 volume type")
      continue
    }
    const source = asObject(value)
    const needed = sourceNames[type]
    if (needed !== undefined) yield* isRequired(`${at}.${needed}`, source[needed])
    if (["secret", "configMap", "projected", "downwardAPI"].includes(type)) yield* volumeFiles(at, source)
    for (const [position, projected] of asObjects(source["sources"]).entries()) {
      const token = asObject(projected["serviceAccountToken"])
      if ((asNumber(token["expirationSeconds"]) ?? 600) < 600) {
        yield invalidValue(
          `${at}.sources[${position}].serviceAccountToken.expirationSeconds`,
          token["expirationSeconds"],
          "may not specify a duration less than 10 minutes"
        )
      }
      if (projected["serviceAccountToken"] !== undefined) yield* isRequired(`${at}.path`, token["path"])
    }
  }
}

function* volumesChecks(field: string, spec: JsonObject): FieldErrors {
  const names = new Set<string>()
  for (const [index, volume] of asObjects(spec["volumes"]).entries()) {
    const at = `${field}.volumes[${index}]`
    const name = asString(volume["name"]) ?? ""
    yield* volumeChecks(at, volume)
    if (name === "") yield required(`${at}.name`)
    else yield* dnsName("label", `${at}.name`, name)
    if (names.has(name)) yield duplicateValue(`${at}.name`, name)
    names.add(name)
  }
}

function* tolerations(field: string, spec: JsonObject): FieldErrors {
  for (const [index, { key, operator }] of asObjects(spec["tolerations"]).entries()) {
    const at = `${field}.tolerations[${index}].operator`
    if (isBlank(key) && operator !== "Exists") {
      yield invalidValue(
        at,
        operator ?? "",
        'operator must be Exists when `key` is empty, which means "match all values and all keys"'
      )
    }
    yield* oneOf(at, operator, ["Equal", "Exists"])
  }
}

function* affinityTerm(field: string, term: JsonObject): FieldErrors {
  yield* labelSelector(`${field}.labelSelector`, term["labelSelector"])
  const key = asString(term["topologyKey"]) ?? ""
  if (key === "") yield required(`${field}.topologyKey`, "can not be empty")
  yield* badKeys(`${field}.topologyKey`, [key])
}

const requiredTerms = "requiredDuringSchedulingIgnoredDuringExecution"
const preferredTerms = "preferredDuringSchedulingIgnoredDuringExecution"

function* podAffinity(field: string, spec: JsonObject): FieldErrors {
  for (const kind of ["podAffinity", "podAntiAffinity"]) {
    const affinity = asObject(asObject(spec["affinity"])[kind])
    const at = `${field}.affinity.${kind}`
    for (const [index, term] of asObjects(affinity[requiredTerms]).entries())
      yield* affinityTerm(`${at}.${requiredTerms}[${index}]`, term)
    for (const [index, { weight, podAffinityTerm }] of asObjects(affinity[preferredTerms]).entries()) {
      const here = `${at}.${preferredTerms}[${index}]`
      const number = asNumber(weight) ?? 0
      if (number < 1 || number > 100) yield invalidValue(`${here}.weight`, number, "must be in the range 1-100")
      yield* affinityTerm(`${here}.podAffinityTerm`, asObject(podAffinityTerm))
    }
  }
}

function* spreading(field: string, spec: JsonObject): FieldErrors {
  for (const [index, constraint] of asObjects(spec["topologySpreadConstraints"]).entries()) {
    const at = `${field}.topologySpreadConstraints[${index}]`
    if ((asNumber(constraint["maxSkew"]) ?? 0) <= 0)
      yield invalidValue(`${at}.maxSkew`, constraint["maxSkew"] ?? 0, "must be greater than zero")
    if (isBlank(constraint["topologyKey"])) yield required(`${at}.topologyKey`, "can not be empty")
    yield* oneOf(`${at}.whenUnsatisfiable`, constraint["whenUnsatisfiable"], ["DoNotSchedule", "ScheduleAnyway"])
  }
}

/** `field` is the path of the spec in the object that was sent. */
export function* podSpecChecks(field: string, spec: JsonObject): FieldErrors {
  yield* volumesChecks(field, spec)
  const volumes = new Set(asObjects(spec["volumes"]).map(({ name }) => String(name)))
  const pod = { volumes, taken: new Set<string>(), hostNetwork: spec["hostNetwork"] === true }
  if (asArray(spec["containers"]).length === 0) yield required(`${field}.containers`)
  for (const list of ["containers", "initContainers"]) {
    for (const [index, container] of asObjects(spec[list]).entries())
      yield* containerChecks(`${field}.${list}[${index}]`, container, pod)
  }
  yield* oneOf(`${field}.restartPolicy`, spec["restartPolicy"], ["Always", "OnFailure", "Never"])
  yield* oneOf(`${field}.dnsPolicy`, spec["dnsPolicy"], ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"])
  yield* labelErrors(`${field}.nodeSelector`, spec["nodeSelector"])
  yield* ids(`${field}.securityContext`, asObject(spec["securityContext"]))
  if (!isBlank(spec["serviceAccountName"]))
    yield* dnsName("subdomain", `${field}.serviceAccountName`, spec["serviceAccountName"])
  for (const name of ["hostname", "subdomain"])
    if (!isBlank(spec[name])) yield* dnsName("label", `${field}.${name}`, spec[name])
  yield* podAffinity(field, spec)
  yield* tolerations(field, spec)
  yield* spreading(field, spec)
  const deadline = asNumber(spec["activeDeadlineSeconds"])
  if (deadline !== undefined && deadline < 1)
    yield invalidValue(`${field}.activeDeadlineSeconds`, deadline, "must be between 1 and 2147483647, inclusive")
}
