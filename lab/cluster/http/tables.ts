/**
 * Objects as `kubectl get` shows them: the Table and PartialObjectMetadata. Kinds of which people read a state have the
 * columns of a real server, custom resources those of their definition, others their name and age.
 */

import { type JsonObject, asArray, asNumber, asObjects, asString, at, omit } from "../../../src/domain/json.ts"
import type { KubeObject } from "../schema/kube-object.ts"
import { storageKey, type PrinterColumn, type ResourceInfo } from "../schema/resource-info.ts"
import { evaluateJsonPath } from "./json-path.ts"

interface Column {
  readonly name: string
  readonly type: string
  readonly format: string
  readonly description: string
  readonly priority: number
  readonly cell: (object: KubeObject, now: number) => unknown
}

/** `kubectl`'s short form of a duration (k8s.io/apimachinery `util/duration.HumanDuration`). */
export const humanDuration = (ms: number): string => {
  const seconds = Math.floor(ms / 1000)
  if (seconds < -1) return "<invalid>"
  if (seconds <= 0) return "0s"
  const minutes = Math.floor(seconds / 60)
  if (seconds < 120) return `${seconds}s`
  const pair = (large: number, unit: string, small: number, smallUnit: string) =>
    small === 0 ? `${large}${unit}` : `${large}${unit}${small}${smallUnit}`
  if (minutes < 10) return pair(minutes, "m", seconds % 60, "s")
  if (minutes < 180) return `${minutes}m`
  const hours = Math.floor(minutes / 60)
  if (hours < 8) return pair(hours, "h", minutes % 60, "m")
  if (hours < 48) return `${hours}h`
  const days = Math.floor(hours / 24)
  if (hours < 192) return pair(days, "d", hours % 24, "h")
  if (days < 730) return `${days}d`
  const years = Math.floor(days / 365)
  return years < 8 ? pair(years, "y", days % 365, "d") : `${years}y`
}

const since = (timestamp: unknown, now: number): string => {
  const time = Date.parse(asString(timestamp) ?? "")
  return Number.isNaN(time) ? "<unknown>" : humanDuration(now - time)
}

const column = (name: string, cell: Column["cell"], type = "string", priority = 0): Column => ({
  name,
  type,
  format: name === "Name" ? "name" : "",
  description: "",
  priority,
  cell
})

const path =
  (...steps: ReadonlyArray<string>) =>
  (object: KubeObject): unknown =>
    at(object, ...steps) ?? "<none>"

const nameColumn = column("Name", (object) => object.metadata.name ?? "")
const ageColumn = column("Age", (object, now) => since(object.metadata.creationTimestamp, now))
const number = (object: KubeObject, ...steps: ReadonlyArray<string>): number => asNumber(at(object, ...steps)) ?? 0

const podStatus = (object: KubeObject): string => {
  if (object.metadata.deletionTimestamp !== undefined) return "Terminating"
  for (const status of asObjects(at(object, "status", "containerStatuses"))) {
    const reason =
      asString(at(status, "state", "waiting", "reason")) ?? asString(at(status, "state", "terminated", "reason"))
    if (reason !== undefined) return reason
  }
  return asString(at(object, "status", "reason")) ?? asString(at(object, "status", "phase")) ?? "Unknown"
}

const podColumns = [
  column("Ready", (object) => {
    const statuses = asObjects(at(object, "status", "containerStatuses"))
    const ready = statuses.filter((status) => status["ready"] === true)
    return `${ready.length}/${asArray(at(object, "spec", "containers")).length}`
  }),
  column("Status", podStatus),
  column("Restarts", (object) =>
    String(
      asObjects(at(object, "status", "containerStatuses")).reduce(
        (sum, status) => sum + (asNumber(status["restartCount"]) ?? 0),
        0
      )
    )
  ),
  ageColumn,
  column("IP", path("status", "podIP"), "string", 1),
  column("Node", path("spec", "nodeName"), "string", 1)
]

const replicas = (object: KubeObject): number => asNumber(at(object, "spec", "replicas")) ?? 1

const builtInColumns: Record<string, ReadonlyArray<Column>> = {
  "/pods": podColumns,
  "/namespaces": [column("Status", path("status", "phase")), ageColumn],
  "/services": [
    column("Type", path("spec", "type")),
    column("Cluster-IP", path("spec", "clusterIP")),
    column(
      "Port(s)",
      (object) =>
        asObjects(at(object, "spec", "ports"))
          .map(({ port, protocol }) => `${String(port)}/${String(protocol)}`)
          .join(",") || "<none>"
    ),
    ageColumn
  ],
  "/events": [
    column("Type", path("type")),
    column("Reason", path("reason")),
    column(
      "Object",
      (object) =>
        `${String(at(object, "involvedObject", "kind")).toLowerCase()}/${String(at(object, "involvedObject", "name"))}`
    ),
    column("Message", path("message"))
  ],
  "apps/deployments": [
    column("Ready", (object) => `${number(object, "status", "readyReplicas")}/${replicas(object)}`),
    column("Up-to-date", (object) => number(object, "status", "updatedReplicas"), "integer"),
    column("Available", (object) => number(object, "status", "availableReplicas"), "integer"),
    ageColumn
  ],
  "batch/jobs": [
    column("Status", (object) => {
      const done = asObjects(at(object, "status", "conditions")).find((item) => item["status"] === "True")
      return asString(done?.["type"]) ?? "Running"
    }),
    column(
      "Completions",
      (object) => `${number(object, "status", "succeeded")}/${asNumber(at(object, "spec", "completions")) ?? 1}`
    ),
    ageColumn
  ],
  "apiregistration.k8s.io/apiservices": [
    column("Service", (object) =>
      at(object, "spec", "service") === undefined
        ? "Local"
        : `${String(at(object, "spec", "service", "namespace"))}/${String(at(object, "spec", "service", "name"))}`
    ),
    column("Available", (object) => {
      const condition = asObjects(at(object, "status", "conditions")).find((item) => item["type"] === "Available")
      if (condition === undefined) return "Unknown"
      return condition["status"] === "True" ? "True" : `${String(condition["status"])} (${String(condition["reason"])})`
    }),
    ageColumn
  ]
}

const customColumn = ({ name, type, jsonPath, description, priority, format }: PrinterColumn): Column => ({
  name,
  type,
  format: format ?? "",
  description: description ?? "",
  priority: priority ?? 0,
  cell: (object, now) => {
    const value = evaluateJsonPath(object, jsonPath)
    if (value === undefined || value === null) return null
    if (type === "date") return since(value, now)
    if (typeof value === "object") return JSON.stringify(value)
    return type === "string" ? String(value) : value
  }
})

const columnsOf = (info: ResourceInfo): ReadonlyArray<Column> => {
  if (info.custom === undefined) return [nameColumn, ...(builtInColumns[storageKey(info)] ?? [ageColumn])]
  return [nameColumn, ...(info.custom.columns.length === 0 ? [ageColumn] : info.custom.columns.map(customColumn))]
}

/** `meta.k8s.io/v1 PartialObjectMetadata` of an object. */
export const partialMetadata = (object: KubeObject): JsonObject => ({
  apiVersion: "meta.k8s.io/v1",
  kind: "PartialObjectMetadata",
  metadata: object.metadata
})

/** `meta.k8s.io/v1 Table`. `includeObject` is the query parameter of that name. */
export const toTable = (
  info: ResourceInfo,
  objects: ReadonlyArray<KubeObject>,
  options: {
    readonly now: number
    readonly includeObject: string
    readonly metadata: JsonObject
    readonly withHeader: boolean
  }
): JsonObject => {
  const columns = columnsOf(info)
  return {
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata: options.metadata,
    columnDefinitions: options.withHeader ? columns.map((item) => omit(item, "cell")) : null,
    rows: objects.map((object) => ({
      cells: columns.map(({ cell }) => cell(object, options.now)),
      ...(options.includeObject === "None"
        ? {}
        : { object: options.includeObject === "Object" ? object : partialMetadata(object) })
    }))
  }
}
