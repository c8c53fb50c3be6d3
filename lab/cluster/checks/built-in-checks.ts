/**
 * A real server's refusals of objects of built-in kinds, in its words (k8s.io/kubernetes `pkg/apis/…/validation`): of
 * the kinds that the operator writes, and of the workloads and Services that people make for it. Other kinds take all
 * that has the right types, which `schema` checks before. Pods have a file of their own.
 */

import { type JsonObject, asObject, asObjects, at, isObject, jsonEqual } from "../../../src/domain/json.ts"
import type { KubeObject } from "../schema/kube-object.ts"
import { type FieldError, invalidValue, required, tooLong } from "../wire/status-error.ts"
import {
  dnsName,
  type FieldRules,
  isBlank,
  isRequired,
  labels,
  labelSelector,
  notNegative,
  isAmong,
  portNumber,
  portNumberOrName,
  refusals,
  type Rule,
  selects,
  unique
} from "./field-checks.ts"
import { annotationErrors } from "./object-metadata.ts"
import { podSpec } from "./pod-checks.ts"
import { mutatingWebhooks } from "./webhook-checks.ts"

const sizeLimit = 1024 * 1024

const configKey = /^[-._a-zA-Z0-9]+$/
const configKeyRule =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME', " +
  " or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"

const configKeys: Rule = (field, data) =>
  Object.keys(asObject(data))
    .toSorted()
    .flatMap((key) => {
      if (!configKey.test(key)) return [invalidValue(`${field}[${key}]`, key, configKeyRule)]
      return key === "." || key === ".." ? [invalidValue(`${field}[${key}]`, key, `must not be '${key}'`)] : []
    })

const bytesOf = (data: unknown): number =>
  Object.values(asObject(data)).reduce<number>((sum, value) => sum + Buffer.byteLength(String(value)), 0)

/** The limit of a ConfigMap's data. A real server gives "[]" in place of a field. */
const configMapSize: Rule = (_, data) => (bytesOf(data) > sizeLimit ? [tooLong("[]", sizeLimit)] : [])

const secretSize: Rule = (field, data) => (bytesOf(data) * 0.75 > sizeLimit ? [tooLong(field, sizeLimit)] : [])

/** The keys that each type of Secret must hold. */
const secretKeys: Readonly<Record<string, ReadonlyArray<string>>> = {
  "kubernetes.io/tls": ["tls.crt", "tls.key"],
  "kubernetes.io/dockerconfigjson": [".dockerconfigjson"]
}

const neededKeys: Rule = (field, data, secret) =>
  (secretKeys[String(secret["type"])] ?? []).flatMap((key) =>
    asObject(data)[key] === undefined ? [required(`${field}[${key}]`)] : []
  )

const template: ReadonlyArray<FieldRules> = [
  ["spec.template.metadata.labels", labels],
  ["spec.template.metadata.annotations", annotationErrors],
  ["spec.template.spec", podSpec]
]

const mismatch = (spec: JsonObject): ReadonlyArray<FieldError> => {
  const labels = at(spec, "template", "metadata", "labels")
  if (selects(spec["selector"], labels)) return []
  const detail = "`selector` does not match template `labels`"
  return [invalidValue("spec.template.metadata.labels", labels ?? null, detail)]
}

/** A selector that selects the template. `kind` is the word in the refusal. */
const ownSelector =
  (kind: string): Rule =>
  (field, selector, spec) => {
    if (!isObject(selector)) return [required(field), ...mismatch(spec)]
    const problems = [...labelSelector(field, selector, spec)]
    if (problems.length > 0) return [...problems, invalidValue(field, selector, "invalid label selector")]
    const isEmpty = isBlank(Object.keys(asObject(selector["matchLabels"]))) && isBlank(selector["matchExpressions"])
    return isEmpty ? [invalidValue(field, {}, `empty selector is invalid for ${kind}`)] : mismatch(spec)
  }

/** The pods of a StatefulSet have a volume for each claim beside those of the template. */
const podWithClaims: Rule = (field, value, owner) => {
  const claims = asObjects(asObject(value)["volumeClaimTemplates"])
  const pod = asObject(at(value, "template", "spec"))
  const volumes = [...asObjects(pod["volumes"]), ...claims.map((claim) => ({ name: at(claim, "metadata", "name") }))]
  return podSpec(`${field}.template.spec`, { ...pod, volumes }, owner)
}

const workload = (kind: string, pod: ReadonlyArray<FieldRules> = template): ReadonlyArray<FieldRules> => [
  ["spec.replicas", notNegative],
  ["spec.selector", ownSelector(kind)],
  ...pod,
  ["spec.template.spec.restartPolicy", isAmong("Always")]
]

const jobSelector: Rule = (field, selector, spec) => {
  if (!isObject(selector)) return [required(field), ...mismatch(spec)]
  const { ["batch.kubernetes.io/controller-uid"]: uid } = asObject(at(spec, "template", "metadata", "labels"))
  const isOwn = jsonEqual(selector, { matchLabels: { "batch.kubernetes.io/controller-uid": uid } })
  return [...(isOwn ? [] : [invalidValue(field, selector, "`selector` not auto-generated")]), ...mismatch(spec)]
}

const jobPolicy: Rule = (field, policy, owner) =>
  policy === "Always" || isBlank(policy)
    ? [required(field, 'valid values: "OnFailure", "Never"')]
    : isAmong("OnFailure", "Never")(field, policy, owner)

const portsOfService: Rule = (field, ports, spec) => {
  const isFree = spec["type"] === "ExternalName" || spec["clusterIP"] === "None"
  if (isBlank(ports)) return isFree ? [] : [required(field)]
  const list = asObjects(ports)
  return list.length === 1
    ? []
    : list.flatMap(({ name }, index) => [...isRequired(`${field}[${index}].name`, name, spec)])
}

const externalName: Rule = (field, value, spec) =>
  spec["type"] === "ExternalName" ? isRequired(field, value, spec) : []

const namespaceOfEvent: Rule = (field, value, event) => {
  const namespace = at(value, "namespace") ?? ""
  const own = at(event, "metadata", "namespace")
  // Events about objects without a namespace live in "default".
  const fits = namespace === "" ? own === "default" : namespace === own
  return fits ? [] : [invalidValue(`${field}.namespace`, namespace, "does not match event.namespace")]
}

const positive: Rule = (field, value) =>
  typeof value === "number" && value <= 0 ? [invalidValue(field, value, "must be greater than 0")] : []

/** The rules of each kind, by `group/resource`. */
const tables: Readonly<Record<string, ReadonlyArray<FieldRules>>> = {
  "/configmaps": [
    ["data", configKeys, configMapSize],
    ["binaryData", configKeys]
  ],
  "/secrets": [["data", configKeys, secretSize, neededKeys]],
  "/services": [
    ["spec.ports", portsOfService, unique("name")],
    ["spec.ports[].name", dnsName("label")],
    ["spec.ports[].port", portNumber],
    ["spec.ports[].targetPort", portNumberOrName],
    ["spec.type", isAmong("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")],
    ["spec.externalName", externalName]
  ],
  "/events": [["involvedObject", namespaceOfEvent]],
  "/pods": [["spec", podSpec]],
  "apps/deployments": workload("deployment"),
  "apps/replicasets": workload("replicaset"),
  "apps/statefulsets": workload("statefulset", [["spec", podWithClaims]]),
  "apps/daemonsets": workload("daemonset"),
  "batch/jobs": [
    ["spec.selector", jobSelector],
    ["spec.parallelism", notNegative],
    ["spec.completions", notNegative],
    ["spec.activeDeadlineSeconds", notNegative],
    ["spec.backoffLimit", notNegative],
    ["spec.ttlSecondsAfterFinished", notNegative],
    ["spec.completionMode", isAmong("NonIndexed", "Indexed")],
    ...template,
    ["spec.template.spec.restartPolicy", jobPolicy]
  ],
  "admissionregistration.k8s.io/mutatingwebhookconfigurations": mutatingWebhooks,
  "coordination.k8s.io/leases": [
    ["spec.leaseDurationSeconds", positive],
    ["spec.leaseTransitions", notNegative]
  ]
}

/** Expects an object whose defaults are filled in. `key` is `group/resource`. */
export const checkBuiltIn = (key: string, object: KubeObject): ReadonlyArray<FieldError> => [
  ...refusals(tables[key] ?? [], "", asObject(object))
]
