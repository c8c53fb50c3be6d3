/**
 * A real server's refusals of a pod's spec, or of the spec in a pod template: of the fields that the operator writes
 * (k8s.io/kubernetes `pkg/apis/core/validation`). Selectors of workloads are in `built-in-checks.ts`.
 */

import { type JsonObject, asObject, asObjects, asString } from "../../../src/domain/json.ts"
import { compareQuantities } from "../schema/quantity.ts"
import { duplicateValue, forbiddenField, invalidValue, notFoundValue, required } from "../wire/status-error.ts"
import {
  dnsName,
  each,
  type FieldErrors,
  type FieldRules,
  isBlank,
  isRequired,
  labels,
  notNegative,
  isAmong,
  portNumber,
  portNumberOrName,
  refusals,
  type Rule,
  unique
} from "./field-checks.ts"

const podFields =
  /^(metadata\.(name|namespace|uid|labels|annotations)|metadata\.(labels|annotations)\['[^']+'\]|spec\.(nodeName|serviceAccountName)|status\.(hostIPs?|podIPs?))$/

const fieldPath: Rule = (field, value) => {
  const path = asString(value) ?? ""
  if (path === "") return [required(field)]
  if (podFields.test(path)) return []
  return [invalidValue(field, path, `error converting fieldPath: field label not supported: ${path}`)]
}

const variableName: Rule = (field, value) => {
  const name = asString(value) ?? ""
  if (name === "") return [required(field)]
  const detail = "a valid environment variable name must consist only of printable ASCII characters other than '='"
  return /^[ -<>-~]+$/.test(name) ? [] : [invalidValue(field, name, detail)]
}

const variableSource: Rule = (field, value, variable) => {
  if (value === undefined) return []
  const sources = Object.keys(asObject(value))
  if (sources.length === 0) {
    const all = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
    return [invalidValue(field, "", `must specify one of: ${all}`)]
  }
  if (!isBlank(variable["value"])) return [invalidValue(field, "", "may not be specified when `value` is not empty")]
  return sources.length === 1 ? [] : [invalidValue(field, "", "may not have more than one field specified at a time")]
}

const containerPort: Rule = (field, value, owner) =>
  value === undefined || value === 0 ? [required(field)] : portNumber(field, value, owner)

const isOneHandler: Rule = (field, value) => {
  const [first, ...more] = ["exec", "httpGet", "tcpSocket", "grpc"].filter((name) => asObject(value)[name])
  if (first === undefined) return [required(field, "must specify a handler type")]
  return more.map((name) => forbiddenField(`${field}.${name}`, "may not specify more than 1 handler type"))
}

const probe: ReadonlyArray<FieldRules> = [
  ["exec.command", isRequired],
  ["httpGet.port", portNumberOrName],
  ["tcpSocket.port", portNumberOrName],
  ["grpc.port", portNumber],
  ["initialDelaySeconds", notNegative],
  ["timeoutSeconds", notNegative],
  ["periodSeconds", notNegative],
  ["successThreshold", notNegative],
  ["failureThreshold", notNegative]
]

const probeRule: Rule = (field, value, owner) =>
  value === undefined ? [] : [...isOneHandler(field, value, owner), ...refusals(probe, field, asObject(value))]

const resources: Rule = (field, value) => {
  const { limits, requests } = asObject(value)
  return Object.entries(asObject(requests)).flatMap(([name, quantity]) => {
    const limit = asObject(limits)[name]
    return limit === undefined || compareQuantities(String(quantity), String(limit)) <= 0
      ? []
      : [invalidValue(`${field}.requests`, quantity, `must be less than or equal to ${name} limit of ${String(limit)}`)]
  })
}

const container: ReadonlyArray<FieldRules> = [
  ["name", isRequired, dnsName("label")],
  ["image", isRequired],
  ["ports", unique("name")],
  ["ports[].name", (field, value, owner) => (isBlank(value) ? [] : portNumberOrName(field, value, owner))],
  ["ports[].containerPort", containerPort],
  ["ports[].protocol", isAmong("SCTP", "TCP", "UDP")],
  ["env[].name", variableName],
  ["env[].valueFrom.configMapKeyRef.name", dnsName("subdomain")],
  ["env[].valueFrom.configMapKeyRef.key", isRequired],
  ["env[].valueFrom.secretKeyRef.name", dnsName("subdomain")],
  ["env[].valueFrom.secretKeyRef.key", isRequired],
  ["env[].valueFrom.fieldRef.fieldPath", fieldPath],
  ["env[].valueFrom", variableSource],
  ["volumeMounts[].name", isRequired],
  ["volumeMounts[].mountPath", isRequired],
  ["livenessProbe", probeRule],
  ["readinessProbe", probeRule],
  ["startupProbe", probeRule],
  ["imagePullPolicy", isAmong("Always", "IfNotPresent", "Never")],
  ["resources", resources]
]

function* mounts(field: string, value: JsonObject, volumes: ReadonlySet<unknown>): FieldErrors {
  const paths = new Set<unknown>()
  for (const [index, { mountPath, name }] of asObjects(value["volumeMounts"]).entries()) {
    const at = `${field}.volumeMounts[${index}]`
    if (!volumes.has(name)) yield notFoundValue(`${at}.name`, name)
    if (paths.has(mountPath)) yield invalidValue(`${at}.mountPath`, mountPath, "must be unique")
    paths.add(mountPath)
  }
}

const isOneSource: Rule = (field, value) =>
  Object.keys(asObject(value))
    .filter((name) => name !== "name")
    .slice(1)
    .map((type) => forbiddenField(`${field}.${type}`, "may not specify more than 1 volume type"))

const spec: ReadonlyArray<FieldRules> = [
  ["volumes[]", isOneSource],
  ["volumes[].secret.secretName", isRequired],
  ["volumes[].configMap.name", isRequired],
  ["volumes[].hostPath.path", isRequired],
  ["volumes[].persistentVolumeClaim.claimName", isRequired],
  ["volumes[].name", isRequired, dnsName("label")],
  ["volumes", unique("name")],
  ["containers", isRequired],
  ["containers[]", each(container)],
  ["initContainers[]", each(container)],
  ["restartPolicy", isAmong("Always", "OnFailure", "Never")],
  ["dnsPolicy", isAmong("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")],
  ["nodeSelector", labels],
  ["serviceAccountName", dnsName("subdomain")],
  ["hostname", dnsName("label")],
  ["subdomain", dnsName("label")]
]

/** `field` is the path of the spec in the object that was sent. */
export const podSpec: Rule = function* (field, value) {
  const object = asObject(value)
  yield* refusals(spec, field, object)
  const volumes = new Set(asObjects(object["volumes"]).map(({ name }) => name))
  const taken = new Set<unknown>()
  for (const list of ["containers", "initContainers"])
    for (const [index, item] of asObjects(object[list]).entries()) {
      const { name } = item
      if (!isBlank(name) && taken.has(name)) yield duplicateValue(`${field}.${list}[${index}].name`, name)
      taken.add(name)
      yield* mounts(`${field}.${list}[${index}]`, item, volumes)
    }
}
