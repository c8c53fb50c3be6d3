/**
 * A real server's refusals of objects of built-in kinds, in its words (k8s.io/kubernetes `pkg/apis/…/validation`): the
 * breaches that authors of charts and operators make, not all that exist. This file has the small kinds and the table
 * of all kinds; pods, workloads and networks have files of their own. Types are checked before, by `schema`.
 */

import { type JsonObject, asNumber, asObject, asObjects, at, isObject } from "../../../src/domain/json.ts"
import type { KubeObject } from "../schema/kube-object.ts"
import { type FieldError, invalidValue, required, tooLong, unsupportedValue } from "../wire/status-error.ts"
import {
  type FieldErrors,
  countOrPercent,
  dnsName,
  isBlank,
  isRequired,
  labelSelector,
  notNegative,
  oneOf,
  specOf
} from "./field-checks.ts"
import { ingressChecks, networkPolicyChecks, serviceChecks } from "./network-checks.ts"
import { podSpecChecks } from "./pod-checks.ts"
import {
  cronJobChecks,
  daemonSetChecks,
  deploymentChecks,
  jobChecks,
  replicaSetChecks,
  statefulSetChecks
} from "./workload-checks.ts"

const sizeLimit = 1024 * 1024

const byteSize = (...maps: ReadonlyArray<unknown>): number =>
  maps
    .flatMap((map) => Object.values(asObject(map)))
    .reduce<number>((sum, value) => sum + Buffer.byteLength(String(value)), 0)

const configKey = /^[-._a-zA-Z0-9]+$/
const configKeyRule =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME', " +
  " or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"

function* configKeys(field: string, data: unknown): FieldErrors {
  for (const key of Object.keys(asObject(data)).toSorted()) {
    if (!configKey.test(key)) yield invalidValue(`${field}[${key}]`, key, configKeyRule)
    else if (key === "." || key === "..") yield invalidValue(`${field}[${key}]`, key, `must not be '${key}'`)
    else if (key.startsWith("..")) yield invalidValue(`${field}[${key}]`, key, "must not start with '..'")
  }
}

function* configMap(object: KubeObject): FieldErrors {
  yield* configKeys("data", object["data"])
  for (const key of Object.keys(asObject(object["data"]))) {
    if (Object.hasOwn(asObject(object["binaryData"]), key))
      yield invalidValue(`data[${key}]`, key, "duplicate of key present in binaryData")
  }
  yield* configKeys("binaryData", object["binaryData"])
  // A real server gives "[]" in place of a field.
  if (byteSize(object["data"], object["binaryData"]) > sizeLimit) yield tooLong("[]", sizeLimit)
}

/** The keys that each type of Secret must hold. */
const secretKeys: Readonly<Record<string, ReadonlyArray<string>>> = {
  "kubernetes.io/tls": ["tls.crt", "tls.key"],
  "kubernetes.io/dockerconfigjson": [".dockerconfigjson"],
  "kubernetes.io/dockercfg": [".dockercfg"],
  "kubernetes.io/ssh-auth": ["ssh-privatekey"]
}

function* secret(object: KubeObject): FieldErrors {
  const data = asObject(object["data"])
  yield* configKeys("data", data)
  if (Buffer.byteLength(Object.values(data).join("")) * 0.75 > sizeLimit) yield tooLong("data", sizeLimit)
  for (const key of secretKeys[String(object["type"])] ?? []) {
    if (data[key] === undefined) yield required(`data[${key}]`)
    else if (key.startsWith(".docker") && !isJson(String(data[key]))) {
      yield invalidValue(`data[${key}]`, "<secret contents redacted>", "invalid character in JSON")
    }
  }
  if (
    object["type"] === "kubernetes.io/basic-auth" &&
    data["username"] === undefined &&
    data["password"] === undefined
  ) {
    yield required("data[username]")
    yield required("data[password]")
  }
  const account = "kubernetes.io/service-account.name"
  if (object["type"] === "kubernetes.io/service-account-token" && isBlank(object.metadata.annotations?.[account]))
    yield required(`metadata.annotations[${account}]`)
}

const isJson = (base64: string): boolean => {
  try {
    JSON.parse(Buffer.from(base64, "base64").toString("utf8"))
    return true
  } catch {
    return false
  }
}

function* rule(field: string, value: JsonObject, namespaced: boolean): FieldErrors {
  if (isBlank(value["verbs"])) yield required(`${field}.verbs`, "verbs must contain at least one value")
  if (!isBlank(value["nonResourceURLs"])) {
    const wrong = (detail: string): FieldError =>
      invalidValue(`${field}.nonResourceURLs`, value["nonResourceURLs"], detail)
    if (namespaced) yield wrong("namespaced rules cannot apply to non-resource URLs")
    if (!isBlank(value["resources"]) || !isBlank(value["apiGroups"]) || !isBlank(value["resourceNames"])) {
      yield wrong("rules cannot apply to both regular resources and non-resource URLs")
    }
    return
  }
  if (isBlank(value["apiGroups"]))
    yield required(`${field}.apiGroups`, "resource rules must supply at least one api group")
  if (isBlank(value["resources"]))
    yield required(`${field}.resources`, "resource rules must supply at least one resource")
}

const role = (namespaced: boolean) =>
  function* (object: KubeObject): FieldErrors {
    for (const [index, value] of asObjects(object["rules"]).entries()) yield* rule(`rules[${index}]`, value, namespaced)
    if (isObject(object["aggregationRule"]) && isBlank(object["aggregationRule"]["clusterRoleSelectors"])) {
      yield required(
        "aggregationRule.clusterRoleSelectors",
        "at least one clusterRoleSelector required if aggregationRule is non-nil"
      )
    }
  }

const rbacGroup = "rbac.authorization.k8s.io"

const binding = (kinds: ReadonlyArray<string>) =>
  function* (object: KubeObject): FieldErrors {
    const { apiGroup, kind, name } = asObject(object["roleRef"])
    yield* oneOf("roleRef.apiGroup", apiGroup, [rbacGroup])
    if (!kinds.includes(String(kind))) yield unsupportedValue("roleRef.kind", kind ?? "", kinds)
    yield* isRequired("roleRef.name", name)
    for (const [index, subject] of asObjects(object["subjects"]).entries()) {
      const field = `subjects[${index}]`
      const isAccount = subject["kind"] === "ServiceAccount"
      yield* isRequired(`${field}.name`, subject["name"])
      if (isAccount && !isBlank(subject["name"])) yield* dnsName("subdomain", `${field}.name`, subject["name"])
      if (isAccount && !isBlank(subject["apiGroup"]))
        yield unsupportedValue(`${field}.apiGroup`, subject["apiGroup"], [""])
      if (!isAccount) yield* oneOf(`${field}.apiGroup`, subject["apiGroup"], [rbacGroup])
      if (!["ServiceAccount", "User", "Group"].includes(String(subject["kind"]))) {
        yield unsupportedValue(`${field}.kind`, subject["kind"] ?? "", ["ServiceAccount", "User", "Group"])
      }
    }
  }

function* disruptionBudget(object: KubeObject): FieldErrors {
  const { minAvailable, maxUnavailable, selector, unhealthyPodEvictionPolicy: policy } = specOf(object)
  if (minAvailable !== undefined && maxUnavailable !== undefined) {
    const shown = {
      MinAvailable: minAvailable,
      Selector: selector ?? null,
      MaxUnavailable: maxUnavailable,
      UnhealthyPodEvictionPolicy: policy ?? null
    }
    yield invalidValue("spec", shown, "minAvailable and maxUnavailable cannot be both set")
  }
  for (const [field, value] of [
    ["spec.minAvailable", minAvailable],
    ["spec.maxUnavailable", maxUnavailable]
  ] as const) {
    yield* countOrPercent(field, value)
    if (typeof value === "string" && Number.parseInt(value, 10) > 100)
      yield invalidValue(field, value, "must not be greater than 100%")
  }
  yield* labelSelector("spec.selector", selector)
  yield* oneOf("spec.unhealthyPodEvictionPolicy", policy, ["AlwaysAllow", "IfHealthyBudget"])
}

function* lease(object: KubeObject): FieldErrors {
  const { leaseDurationSeconds, leaseTransitions } = specOf(object)
  if (typeof leaseDurationSeconds === "number" && leaseDurationSeconds <= 0)
    yield invalidValue("spec.leaseDurationSeconds", leaseDurationSeconds, "must be greater than 0")
  yield* notNegative("spec.leaseTransitions", leaseTransitions)
}

function* event(object: KubeObject): FieldErrors {
  const namespace = at(object, "involvedObject", "namespace") ?? ""
  // Events about objects without a namespace live in "default".
  const fits = namespace === "" ? object.metadata.namespace === "default" : namespace === object.metadata.namespace
  if (!fits) yield invalidValue("involvedObject.namespace", namespace, "does not match event.namespace")
}

function* apiService(object: KubeObject): FieldErrors {
  const { group, version, groupPriorityMinimum, versionPriority, insecureSkipTLSVerify, caBundle } = specOf(object)
  const name = `${String(version ?? "")}.${String(group ?? "")}`
  if (object.metadata.name !== name)
    yield invalidValue(
      "metadata.name",
      object.metadata.name,
      `must be \`spec.version+"."+spec.group\`: ${JSON.stringify(name)}`
    )
  for (const [field, value, limit] of [
    ["groupPriorityMinimum", groupPriorityMinimum, 20000],
    ["versionPriority", versionPriority, 1000]
  ] as const) {
    const number = asNumber(value) ?? 0
    if (number <= 0 || number > limit)
      yield invalidValue(`spec.${field}`, number, `must be positive and less than ${limit}`)
  }
  if (insecureSkipTLSVerify === true && !isBlank(caBundle))
    yield invalidValue("spec.insecureSkipTLSVerify", true, "may not be true if caBundle is present")
}

const checks: Readonly<Record<string, (object: KubeObject) => FieldErrors>> = {
  "/configmaps": configMap,
  "/secrets": secret,
  "/services": serviceChecks,
  "/events": event,
  "/pods": (object) => podSpecChecks("spec", specOf(object)),
  "apps/deployments": deploymentChecks,
  "apps/replicasets": replicaSetChecks,
  "apps/statefulsets": statefulSetChecks,
  "apps/daemonsets": daemonSetChecks,
  "batch/jobs": jobChecks,
  "batch/cronjobs": cronJobChecks,
  "policy/poddisruptionbudgets": disruptionBudget,
  "networking.k8s.io/networkpolicies": networkPolicyChecks,
  "networking.k8s.io/ingresses": ingressChecks,
  "coordination.k8s.io/leases": lease,
  "apiregistration.k8s.io/apiservices": apiService,
  "rbac.authorization.k8s.io/roles": role(true),
  "rbac.authorization.k8s.io/clusterroles": role(false),
  "rbac.authorization.k8s.io/rolebindings": binding(["Role", "ClusterRole"]),
  "rbac.authorization.k8s.io/clusterrolebindings": binding(["ClusterRole"])
}

/** Expects an object whose defaults are filled in. `key` is `group/resource`. */
export const checkBuiltIn = (key: string, object: KubeObject): ReadonlyArray<FieldError> => [
  ...(checks[key]?.(object) ?? [])
]
