/**
 * A real server's refusals of Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs and CronJobs (k8s.io/kubernetes
 * `pkg/apis/apps/validation`, `pkg/apis/batch/validation`), called through `checkBuiltIn`.
 */

import {
  type JsonObject,
  asNumber,
  asObject,
  asObjects,
  asString,
  at,
  isObject,
  jsonEqual
} from "../../../src/domain/json.ts"
import type { KubeObject } from "../schema/kube-object.ts"
import { forbiddenField, invalidValue, required, unsupportedValue } from "../wire/status-error.ts"
import {
  type FieldErrors,
  allNotNegative,
  countOrPercent,
  isBlank,
  labelSelector,
  notNegative,
  oneOf,
  selects,
  specOf
} from "./field-checks.ts"
import { annotationErrors, labelErrors } from "./object-metadata.ts"
import { podSpecChecks } from "./pod-checks.ts"

function* template(field: string, value: unknown): FieldErrors {
  const { metadata, spec } = asObject(value)
  yield* labelErrors(`${field}.labels`, asObject(metadata)["labels"])
  yield* annotationErrors(`${field}.annotations`, asObject(metadata)["annotations"])
  yield* podSpecChecks(`${field}.spec`, asObject(spec))
}

const invalidSelector = "invalid label selector"

/** Selector, template, and whether the selector selects the template. `kind` is the word in the refusal. */
function* workload(spec: JsonObject, kind: string, needsSelector = true): FieldErrors {
  const { selector } = spec
  const problems = [...labelSelector("spec.selector", selector)]
  yield* problems
  if (!isObject(selector)) {
    if (needsSelector) yield required("spec.selector")
  } else if (isBlank(Object.keys(asObject(selector["matchLabels"]))) && isBlank(selector["matchExpressions"])) {
    yield invalidValue("spec.selector", {}, `empty selector is invalid for ${kind}`)
  }
  if (problems.length > 0) yield invalidValue("spec.selector", selector, invalidSelector)
  else {
    const labels = at(spec, "template", "metadata", "labels")
    if (!selects(selector, labels))
      yield invalidValue("spec.template.metadata.labels", labels ?? null, "`selector` does not match template `labels`")
  }
  yield* template("spec.template", spec["template"])
  const policy = at(spec, "template", "spec", "restartPolicy")
  yield* oneOf("spec.template.spec.restartPolicy", policy, ["Always"])
}

/** The strategy as Go prints its internal object. */
const strategyValue = (strategy: JsonObject): JsonObject => ({
  Type: strategy["type"] ?? "",
  RollingUpdate: strategy["rollingUpdate"] ?? null
})

function* rollingUpdate(strategy: JsonObject): FieldErrors {
  const field = "spec.strategy.rollingUpdate"
  const { maxSurge, maxUnavailable } = asObject(strategy["rollingUpdate"])
  yield* countOrPercent(`${field}.maxUnavailable`, maxUnavailable)
  yield* countOrPercent(`${field}.maxSurge`, maxSurge)
  const isNone = (value: unknown): boolean => value === 0 || value === "0%"
  if (isNone(maxSurge) && isNone(maxUnavailable))
    yield invalidValue(`${field}.maxUnavailable`, maxUnavailable, "may not be 0 when `maxSurge` is 0")
}

export function* deploymentChecks(object: KubeObject): FieldErrors {
  const spec = specOf(object)
  yield* notNegative("spec.replicas", spec["replicas"])
  yield* workload(spec, "deployment")
  const strategy = asObject(spec["strategy"])
  if (strategy["type"] === "Recreate") {
    if (strategy["rollingUpdate"] !== undefined)
      yield forbiddenField("spec.strategy.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'")
  } else if (strategy["type"] === "RollingUpdate") yield* rollingUpdate(strategy)
  else yield unsupportedValue("spec.strategy", strategyValue(strategy), ["Recreate", "RollingUpdate"])
  yield* allNotNegative("spec", spec, ["minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"])
  const deadline = asNumber(spec["progressDeadlineSeconds"]) ?? 600
  if (deadline >= 0 && deadline <= (asNumber(spec["minReadySeconds"]) ?? 0)) {
    yield invalidValue("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")
  }
}

export function* replicaSetChecks(object: KubeObject): FieldErrors {
  const spec = specOf(object)
  yield* allNotNegative("spec", spec, ["replicas", "minReadySeconds"])
  yield* workload(spec, "replicaset")
}

/** The pod template with a volume for each claim, as its pods will have. */
const withClaims = ({ template, volumeClaimTemplates }: JsonObject): JsonObject => {
  const spec = asObject(at(template, "spec"))
  const own = asObjects(spec["volumes"])
  const claims = asObjects(volumeClaimTemplates)
    .map((claim) => ({ name: at(claim, "metadata", "name"), emptyDir: {} }))
    .filter(({ name }) => !own.some((volume) => volume["name"] === name))
  return { ...asObject(template), spec: { ...spec, volumes: [...own, ...claims] } }
}

export function* statefulSetChecks(object: KubeObject): FieldErrors {
  const spec = specOf(object)
  const { podManagementPolicy: policy } = spec
  if (!["OrderedReady", "Parallel"].includes(String(policy)))
    yield invalidValue("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
  const strategy = asObject(spec["updateStrategy"])
  if (!["RollingUpdate", "OnDelete"].includes(String(strategy["type"]))) {
    yield invalidValue("spec.updateStrategy", strategyValue(strategy), "must be 'RollingUpdate' or 'OnDelete'")
  }
  yield* allNotNegative("spec", spec, ["replicas", "minReadySeconds"])
  yield* workload({ ...spec, template: withClaims(spec) }, "statefulset")
}

export function* daemonSetChecks(object: KubeObject): FieldErrors {
  const spec = specOf(object)
  yield* workload(spec, "daemonset", false)
  yield* allNotNegative("spec", spec, ["minReadySeconds", "revisionHistoryLimit"])
  const strategy = asObject(spec["updateStrategy"])
  if (!["RollingUpdate", "OnDelete"].includes(String(strategy["type"]))) {
    yield unsupportedValue("spec.updateStrategy", strategyValue(strategy), ["RollingUpdate", "OnDelete"])
  }
}

const counts = ["parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"]

function* jobSpec(field: string, spec: JsonObject): FieldErrors {
  yield* allNotNegative(field, spec, counts)
  yield* oneOf(`${field}.completionMode`, spec["completionMode"], ["NonIndexed", "Indexed"])
  if (spec["completionMode"] === "Indexed" && spec["completions"] === undefined) {
    yield required(`${field}.completions`, "when completion mode is Indexed")
  }
  yield* template(`${field}.template`, spec["template"])
  const policy = asString(at(spec, "template", "spec", "restartPolicy")) ?? ""
  if (policy === "Always" || policy === "")
    yield required(`${field}.template.spec.restartPolicy`, 'valid values: "OnFailure", "Never"')
  else yield* oneOf(`${field}.template.spec.restartPolicy`, policy, ["OnFailure", "Never"])
}

export function* jobChecks(object: KubeObject): FieldErrors {
  const spec = specOf(object)
  const { selector } = spec
  const labels = at(spec, "template", "metadata", "labels")
  yield* labelSelector("spec.selector", selector)
  if (!isObject(selector)) yield required("spec.selector")
  else if (
    spec["manualSelector"] !== true &&
    !jsonEqual(selector, { matchLabels: { "batch.kubernetes.io/controller-uid": object.metadata.uid } })
  ) {
    yield invalidValue("spec.selector", selector, "`selector` not auto-generated")
  }
  if (!selects(selector, labels))
    yield invalidValue("spec.template.metadata.labels", labels ?? null, "`selector` does not match template `labels`")
  yield* jobSpec("spec", spec)
}

export function* cronJobChecks(object: KubeObject): FieldErrors {
  const spec = specOf(object)
  const name = object.metadata.name ?? ""
  // The names of the CronJob's Jobs need eleven characters more.
  if (name.length > 52) yield invalidValue("metadata.name", name, "must be no more than 52 characters")
  const schedule = asString(spec["schedule"]) ?? ""
  const fields = schedule.split(/\s+/).filter((text) => text !== "")
  if (schedule === "") yield required("spec.schedule")
  else if (!/@|TZ=/.test(schedule) && fields.length !== 5) {
    yield invalidValue(
      "spec.schedule",
      schedule,
      `expected exactly 5 fields, found ${fields.length}: [${fields.join(" ")}]`
    )
  }
  yield* oneOf("spec.concurrencyPolicy", spec["concurrencyPolicy"], ["Allow", "Forbid", "Replace"])
  yield* allNotNegative("spec", spec, [
    "startingDeadlineSeconds",
    "successfulJobsHistoryLimit",
    "failedJobsHistoryLimit"
  ])
  yield* jobSpec("spec.jobTemplate.spec", asObject(at(spec, "jobTemplate", "spec")))
}
