/**
 * The defaults of built-in kinds, as a server writes them into what it is sent (k8s.io/kubernetes `defaults.go` of each
 * API group). Pods have `pod-defaults.ts`; custom resources bring their defaults in their schema.
 */

import { type JsonObject, asNumber, asObject, asObjects, at, isObject } from "../../../src/domain/json.ts"
import type { KubeObject } from "./kube-object.ts"
import { podDefaults, podSpecDefaults, qosClassOf } from "./pod-defaults.ts"

const objectAt = (object: JsonObject, field: string): JsonObject => {
  if (!isObject(object[field])) object[field] = {}
  return asObject(object[field])
}

const specOf = (object: KubeObject): JsonObject => objectAt(object, "spec")

const templateDefaults = (spec: JsonObject): void => {
  const template = objectAt(spec, "template")
  template["metadata"] ??= {}
  podSpecDefaults(objectAt(template, "spec"))
}

const replicated = (object: KubeObject): JsonObject => {
  const spec = specOf(object)
  spec["replicas"] ??= 1
  templateDefaults(spec)
  return spec
}

const deploymentDefaults = (object: KubeObject): void => {
  const spec = replicated(object)
  spec["revisionHistoryLimit"] ??= 10
  spec["progressDeadlineSeconds"] ??= 600
  const strategy = objectAt(spec, "strategy")
  strategy["type"] ??= "RollingUpdate"
  if (strategy["type"] !== "RollingUpdate") return
  const rolling = objectAt(strategy, "rollingUpdate")
  rolling["maxUnavailable"] ??= "25%"
  rolling["maxSurge"] ??= "25%"
}

const statefulSetDefaults = (object: KubeObject): void => {
  const spec = replicated(object)
  spec["revisionHistoryLimit"] ??= 10
  spec["podManagementPolicy"] ??= "OrderedReady"
  spec["serviceName"] ??= ""
  const strategy = objectAt(spec, "updateStrategy")
  strategy["type"] ??= "RollingUpdate"
  if (strategy["type"] === "RollingUpdate") objectAt(strategy, "rollingUpdate")["partition"] ??= 0
  const retention = objectAt(spec, "persistentVolumeClaimRetentionPolicy")
  retention["whenDeleted"] ??= "Retain"
  retention["whenScaled"] ??= "Retain"
  for (const claim of asObjects(spec["volumeClaimTemplates"])) {
    claim["apiVersion"] ??= "v1"
    claim["kind"] ??= "PersistentVolumeClaim"
    objectAt(claim, "spec")["volumeMode"] ??= "Filesystem"
    objectAt(claim, "status")["phase"] ??= "Pending"
  }
}

const daemonSetDefaults = (object: KubeObject, isNew: boolean): void => {
  const spec = specOf(object)
  templateDefaults(spec)
  spec["revisionHistoryLimit"] ??= 10
  const strategy = objectAt(spec, "updateStrategy")
  strategy["type"] ??= "RollingUpdate"
  if (strategy["type"] === "RollingUpdate") {
    const rolling = objectAt(strategy, "rollingUpdate")
    rolling["maxUnavailable"] ??= 1
    rolling["maxSurge"] ??= 0
  }
  if (isNew)
    object.metadata.annotations = { ...object.metadata.annotations, "deprecated.daemonset.template.generation": "1" }
}

/** A new Job selects its own pods by labels that its template receives here. */
const selectOwnPods = (object: KubeObject, spec: JsonObject): void => {
  const uid = object.metadata.uid ?? ""
  const name = object.metadata.name ?? ""
  const metadata = objectAt(objectAt(spec, "template"), "metadata")
  const labels = {
    ...asObject(metadata["labels"]),
    "batch.kubernetes.io/controller-uid": uid,
    "batch.kubernetes.io/job-name": name,
    "controller-uid": uid,
    "job-name": name
  }
  // A Job without labels takes those of its template: on a real server both are then the same map.
  if (Object.keys(object.metadata.labels ?? {}).length === 0 && isObject(metadata["labels"]))
    object.metadata.labels = labels
  metadata["labels"] = labels
  const selector = objectAt(spec, "selector")
  selector["matchLabels"] = { ...asObject(selector["matchLabels"]), "batch.kubernetes.io/controller-uid": uid }
}

const jobSpecDefaults = (spec: JsonObject): void => {
  if (spec["completions"] === undefined && spec["parallelism"] === undefined) spec["completions"] = 1
  spec["parallelism"] ??= 1
  spec["backoffLimit"] ??= 6
  spec["completionMode"] ??= "NonIndexed"
  spec["suspend"] ??= false
  spec["manualSelector"] ??= false
  spec["podReplacementPolicy"] ??= spec["podFailurePolicy"] === undefined ? "TerminatingOrFailed" : "Failed"
  templateDefaults(spec)
}

const jobDefaults = (object: KubeObject, isNew: boolean): void => {
  const spec = specOf(object)
  jobSpecDefaults(spec)
  if (isNew && spec["manualSelector"] === false) selectOwnPods(object, spec)
}

const cronJobDefaults = (object: KubeObject): void => {
  const spec = specOf(object)
  spec["concurrencyPolicy"] ??= "Allow"
  spec["suspend"] ??= false
  spec["successfulJobsHistoryLimit"] ??= 3
  spec["failedJobsHistoryLimit"] ??= 1
  const template = objectAt(spec, "jobTemplate")
  template["metadata"] ??= {}
  // The defaults of a Job's own fields come later, when the CronJob makes the Job.
  templateDefaults(objectAt(template, "spec"))
}

const serviceDefaults = (object: KubeObject): void => {
  const spec = specOf(object)
  spec["type"] ??= "ClusterIP"
  spec["sessionAffinity"] ??= "None"
  for (const port of asObjects(spec["ports"])) {
    port["protocol"] ??= "TCP"
    port["targetPort"] ??= port["port"]
  }
}

const secretDefaults = (object: KubeObject): void => {
  object["type"] ??= "Opaque"
  if (!isObject(object["stringData"])) return
  const data: JsonObject = { ...asObject(object["data"]) }
  for (const [key, value] of Object.entries(object["stringData"]))
    data[key] = Buffer.from(String(value)).toString("base64")
  object["data"] = data
  delete object["stringData"]
}

const rulesDefaults = (object: KubeObject): void => {
  // Go writes its nil list as null.
  if (asObjects(object["rules"]).length === 0) object["rules"] = null
}

const rbacGroup = "rbac.authorization.k8s.io"

const bindingDefaults = (object: KubeObject): void => {
  const roleRef = objectAt(object, "roleRef")
  roleRef["apiGroup"] ||= rbacGroup
  for (const subject of asObjects(object["subjects"])) {
    if (subject["kind"] === "User" || subject["kind"] === "Group") subject["apiGroup"] ||= rbacGroup
  }
}

const webhookDefaults = (configuration: KubeObject): void => {
  for (const webhook of asObjects(configuration["webhooks"])) {
    webhook["failurePolicy"] ??= "Fail"
    webhook["matchPolicy"] ??= "Equivalent"
    webhook["reinvocationPolicy"] ??= "Never"
    webhook["timeoutSeconds"] ??= 10
    webhook["namespaceSelector"] ??= {}
    webhook["objectSelector"] ??= {}
    asObject(at(webhook, "clientConfig", "service"))["port"] ??= 443
    for (const rule of asObjects(webhook["rules"])) rule["scope"] ??= "*"
  }
}

const defaults: Record<string, (object: KubeObject, isNew: boolean) => void> = {
  "/pods": (object, isNew) => {
    const spec = specOf(object)
    podDefaults(spec, isNew)
    if (isNew) object["status"] = { ...asObject(object["status"]), qosClass: qosClassOf(spec) }
  },
  "/services": serviceDefaults,
  "/secrets": secretDefaults,
  "/namespaces": (object) => {
    const spec = specOf(object)
    spec["finalizers"] ??= ["kubernetes"]
    object.metadata.labels = { ...object.metadata.labels, "kubernetes.io/metadata.name": object.metadata.name ?? "" }
  },
  "apps/deployments": deploymentDefaults,
  "apps/replicasets": replicated,
  "apps/statefulsets": statefulSetDefaults,
  "apps/daemonsets": daemonSetDefaults,
  "batch/jobs": jobDefaults,
  "batch/cronjobs": cronJobDefaults,
  "coordination.k8s.io/leases": specOf,
  "admissionregistration.k8s.io/mutatingwebhookconfigurations": webhookDefaults,
  "apiregistration.k8s.io/apiservices": (object) => {
    const service = at(object, "spec", "service")
    if (isObject(service)) service["port"] = asNumber(service["port"]) ?? 443
  },
  "rbac.authorization.k8s.io/roles": rulesDefaults,
  "rbac.authorization.k8s.io/clusterroles": rulesDefaults,
  "rbac.authorization.k8s.io/rolebindings": bindingDefaults,
  "rbac.authorization.k8s.io/clusterrolebindings": bindingDefaults
}

/** Changes the object in place. `key` is `group/resource`. */
export const applyBuiltInDefaults = (key: string, object: KubeObject, isNew: boolean): void =>
  defaults[key]?.(object, isNew)
