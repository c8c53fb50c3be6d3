/**
 * Fields that may not change once an object of a built-in kind exists, with a real server's refusals. Custom resources
 * express the same in `x-kubernetes-validations` (`schema/validation-rules.ts`).
 */

import { type JsonObject, asArray, asObject, asObjects, jsonEqual, omit } from "../../../src/domain/json.ts"
import type { KubeObject } from "../schema/kube-object.ts"
import { duplicateValue, type FieldError, forbiddenField, invalidValue, notFoundValue } from "../wire/status-error.ts"
import type { FieldErrors } from "./field-checks.ts"

const specOf = (object: KubeObject): JsonObject => asObject(object["spec"])

const immutable = "field is immutable"

function* unchanged(field: string, after: unknown, before: unknown): FieldErrors {
  if (!jsonEqual(after, before)) yield invalidValue(field, after ?? null, immutable)
}

const selectorChange = (after: KubeObject, before: KubeObject): FieldErrors =>
  unchanged("spec.selector", specOf(after)["selector"], specOf(before)["selector"])

const podImages = (spec: JsonObject): JsonObject => {
  const withoutImages = (list: unknown): ReadonlyArray<JsonObject> =>
    asObjects(list).map((container) => omit(container, "image"))
  return {
    ...omit(spec, "activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds"),
    containers: withoutImages(spec["containers"]),
    initContainers: withoutImages(spec["initContainers"])
  }
}

const podChange = function* (after: KubeObject, before: KubeObject): FieldErrors {
  const [now, then] = [specOf(after), specOf(before)]
  if (asArray(now["containers"]).length !== asArray(then["containers"]).length) {
    yield forbiddenField("spec.containers", "pod updates may not add or remove containers")
  } else if (!jsonEqual(podImages(now), podImages(then))) {
    yield forbiddenField(
      "spec",
      "pod updates may not change fields other than " +
        "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` " +
        "(only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if " +
        "it was previously negative)"
    )
  }
}

/**
 * Ephemeral containers are added and never changed or removed, and not all that containers have is allowed in them. The
 * line feeds are a real server's.
 */
export function* ephemeralContainersChange(after: KubeObject, before: KubeObject): FieldErrors {
  const [now, then] = [specOf(after), specOf(before)]
  const list = asObjects(now["ephemeralContainers"])
  const others = [...asObjects(now["containers"]), ...asObjects(now["initContainers"])]
  const field = "spec.ephemeralContainers"
  const names = new Set(others.map(({ name }) => name))
  for (const [index, container] of list.entries()) {
    const at = `${field}[${index}]`
    const { name, resources, targetContainerName } = container
    if (names.has(name)) yield duplicateValue(`${at}.name`, name)
    names.add(name)
    if (targetContainerName !== undefined && !others.some((other) => other["name"] === targetContainerName))
      yield notFoundValue(`${at}.targetContainerName`, targetContainerName)
    for (const forbidden of ["ports", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"])
      if (container[forbidden] !== undefined)
        yield forbiddenField(`${at}.${forbidden}`, "cannot be set for an Ephemeral Container")
    if (Object.keys(asObject(resources)).length > 0)
      yield forbiddenField(`${at}.resources`, "cannot be set for an Ephemeral Container")
  }
  for (const old of asObjects(then["ephemeralContainers"])) {
    const same = list.find(({ name }) => name === old["name"])
    const may = same === undefined ? "removed" : "changed"
    if (same === undefined || !jsonEqual(same, old))
      yield forbiddenField(field, `existing ephemeral containers ${JSON.stringify(old["name"])} may not be ${may}\n`)
  }
}

const changes: Readonly<Record<string, (after: KubeObject, before: KubeObject) => FieldErrors>> = {
  "/secrets": (after, before) => unchanged("type", after["type"], before["type"]),
  "/pods": podChange,
  "apps/deployments": selectorChange,
  "apps/replicasets": selectorChange,
  "apps/daemonsets": selectorChange,
  "apps/statefulsets": selectorChange,
  "batch/jobs": function* (after, before) {
    const [now, then] = [specOf(after), specOf(before)]
    yield* unchanged("spec.completions", now["completions"], then["completions"])
    yield* selectorChange(after, before)
    yield* unchanged("spec.template", now["template"], then["template"])
  }
}

/** Refusals of an update. `key` is `group/resource`. */
export const checkChange = (key: string, after: KubeObject, before: KubeObject): ReadonlyArray<FieldError> => [
  ...(changes[key]?.(after, before) ?? [])
]
