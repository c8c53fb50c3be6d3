/**
 * From a CustomResourceDefinition to resources that the server can keep: check of the definition, its derived fields,
 * one `ResourceInfo` per served version. Schemas are compiled in `schema/structural-schema.ts`. No conversion between
 * versions.
 */

import { asNumber, asObject, asObjects, asString, asStrings, at, isObject } from "../../../src/domain/json.ts"
import { type KubeObject, kubeTime } from "../schema/kube-object.ts"
import type { PrinterColumn, ResourceInfo } from "../schema/resource-info.ts"
import { structuralSchema } from "../schema/structural-schema.ts"
import { type FieldError, invalid, invalidValue, required } from "../wire/status-error.ts"

const crudVerbs = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]

const columnsOf = (version: unknown): ReadonlyArray<PrinterColumn> =>
  asObjects(at(version, "additionalPrinterColumns")).map((column) => {
    const description = asString(column["description"])
    const priority = asNumber(column["priority"])
    const format = asString(column["format"])
    return {
      name: asString(column["name"]) ?? "",
      type: asString(column["type"]) ?? "string",
      jsonPath: asString(column["jsonPath"]) ?? "",
      ...(description === undefined ? {} : { description }),
      ...(priority === undefined ? {} : { priority }),
      ...(format === undefined ? {} : { format })
    }
  })

/** One `ResourceInfo` per served version of a CustomResourceDefinition. Throws if a schema does not compile. */
export const customResourceInfos = (crd: KubeObject): ReadonlyArray<ResourceInfo> => {
  const names = asObject(at(crd, "spec", "names"))
  const kind = asString(names["kind"]) ?? ""
  return asObjects(at(crd, "spec", "versions"))
    .filter((version) => version["served"] === true)
    .map((version) => ({
      group: asString(at(crd, "spec", "group")) ?? "",
      version: asString(version["name"]) ?? "",
      resource: asString(names["plural"]) ?? "",
      kind,
      listKind: asString(names["listKind"]) ?? `${kind}List`,
      singular: asString(names["singular"]) ?? kind.toLowerCase(),
      namespaced: at(crd, "spec", "scope") === "Namespaced",
      shortNames: asStrings(names["shortNames"]),
      categories: asStrings(names["categories"]),
      subresources: isObject(at(version, "subresources", "status")) ? ["status"] : [],
      verbs: crudVerbs,
      generation: true,
      nameRule: "subdomain",
      initialStatus: isObject(at(version, "subresources", "status")) ? { keep: false } : { keep: true },
      custom: {
        schema: structuralSchema(asObject(at(version, "schema", "openAPIV3Schema"))),
        columns: columnsOf(version)
      }
    }))
}

/** Checks a CustomResourceDefinition as far as the rest of the server relies on it; throws 422. */
export const checkDefinition = (crd: KubeObject): void => {
  const errors: Array<FieldError> = []
  const text = (...path: ReadonlyArray<string>): string => {
    const value = asString(at(crd, ...path)) ?? ""
    if (value === "") errors.push(required(path.join(".")))
    return value
  }
  const group = text("spec", "group")
  const plural = text("spec", "names", "plural")
  text("spec", "names", "kind")
  const scope = text("spec", "scope")
  if (scope !== "" && scope !== "Namespaced" && scope !== "Cluster") {
    errors.push({
      reason: "FieldValueNotSupported",
      field: "spec.scope",
      message: `Unsupported value: ${JSON.stringify(scope)}: supported values: "Cluster", "Namespaced"`
    })
  }
  if (group !== "" && plural !== "" && crd.metadata.name !== `${plural}.${group}`) {
    errors.push(invalidValue("metadata.name", crd.metadata.name, `must be spec.names.plural+"."+spec.group`))
  }
  const versions = asObjects(at(crd, "spec", "versions"))
  if (versions.length === 0 || versions.filter((version) => version["storage"] === true).length !== 1) {
    errors.push(
      invalidValue(
        "spec.versions",
        versions.map((version) => version["name"]),
        "must have exactly one version marked as storage version"
      )
    )
  }
  versions.forEach((version, index) => {
    if (!isObject(at(version, "schema", "openAPIV3Schema"))) {
      errors.push(required(`spec.versions[${index}].schema.openAPIV3Schema`, "schemas are required"))
    }
  })
  if (errors.length === 0) {
    try {
      customResourceInfos(crd)
    } catch (cause) {
      errors.push(invalidValue("spec.versions", null, cause instanceof Error ? cause.message : String(cause)))
    }
  }
  if (errors.length > 0) {
    throw invalid({ group: "apiextensions.k8s.io", kind: "CustomResourceDefinition" }, crd.metadata.name ?? "", errors)
  }
}

/** Fills in the fields that a real server derives: singular, listKind, and a status whose names are accepted. */
export const establish = (crd: KubeObject, now: number): void => {
  const names = asObject(at(crd, "spec", "names"))
  const kind = asString(names["kind"]) ?? ""
  names["singular"] ??= kind.toLowerCase()
  names["listKind"] ??= `${kind}List`
  const spec = asObject(crd["spec"])
  spec["conversion"] ??= { strategy: "None" }
  const storage = asObjects(spec["versions"]).find((version) => version["storage"] === true)
  const before = asObjects(at(crd, "status", "conditions"))
  const condition = (type: string, reason: string, message: string) =>
    before.find((item) => item["type"] === type) ?? {
      type,
      status: "True",
      reason,
      message,
      lastTransitionTime: kubeTime(now)
    }
  crd["status"] = {
    conditions: [
      condition("NamesAccepted", "NoConflicts", "no conflicts found"),
      condition("Established", "InitialNamesAccepted", "the initial names have been accepted")
    ],
    acceptedNames: structuredClone(names),
    storedVersions: [...new Set([...asStrings(at(crd, "status", "storedVersions")), asString(storage?.["name"]) ?? ""])]
  }
}
