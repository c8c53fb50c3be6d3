/**
 * Reads an object as a server with Go structs does: unknown fields are dropped, null counts as absent, empty lists and
 * maps disappear, quantities take their canonical form; refusals are Go's, word for word. For built-in kinds and
 * metadata; the rest of a custom resource is checked by its schema.
 */

import { type JsonObject, isObject, setField } from "../../../src/domain/json.ts"
import type { FieldType, StructType } from "./field-types.ts"
import { canonicalQuantity } from "./quantity.ts"

/** The reason, in a real server's words, that a value cannot be decoded. */
export class DecodingProblem extends Error {
  readonly _tag = "DecodingProblem"
}

interface Place {
  /** The struct that has the field. */
  readonly owner: string
  /** Go's path, without indexes. */
  readonly steps: ReadonlyArray<string>
  /** The path for people. */
  readonly path: string
}

const goType = (type: FieldType): string => {
  switch (type._tag) {
    case "Struct":
      return `v1.${type.name}`
    case "List":
      return `[]${goType(type.item)}`
    case "Map":
      return type.item._tag === "Quantity" ? "v1.ResourceList" : `map[string]${goType(type.item)}`
    case "Int":
      return `int${type.bits}`
    case "Bool":
      return "bool"
    case "Float":
      return "float64"
    case "Bytes":
      return "[]uint8"
    case "IntOrString":
      return "int32"
    case "Text":
    case "Time":
    case "Quantity":
    case "Any":
      return "string"
  }
}

/** A JSON value's type in the words of encoding/json. */
export const jsonType = (value: unknown): string => {
  if (Array.isArray(value)) return "array"
  return typeof value === "boolean" ? "bool" : typeof value
}

const wrong = (type: FieldType, value: unknown, { owner, steps }: Place): DecodingProblem => {
  const number = typeof value === "number" && ["Int", "IntOrString"].includes(type._tag) ? ` ${value}` : ""
  // A Go type that reads JSON itself does not know its field's path.
  const into = steps.length === 0 ? "Go value" : `Go struct field ${owner}.${steps.join(".")}`
  return new DecodingProblem(`json: cannot unmarshal ${jsonType(value)}${number} into ${into} of type ${goType(type)}`)
}

/** The byte at which Go's base64 decoder refuses the text; `undefined` if the text is right. */
const base64Problem = (text: string): number | undefined => {
  const data = text.replace(/[\r\n]/g, "")
  const end = data.replace(/={1,2}$/, "").length
  const bad = data.slice(0, end).search(/[^A-Za-z0-9+/]/)
  if (bad >= 0) return bad
  return data.length % 4 === 0 ? undefined : Math.floor(data.length / 4) * 4
}

const timeLayout = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/

const decodeTime = (text: string, micro: boolean): string => {
  const layout = `2006-01-02T15:04:05${micro ? ".000000" : ""}Z07:00`
  const refused = (rest: string, part: string): DecodingProblem =>
    new DecodingProblem(
      `parsing time ${JSON.stringify(text)} as ${JSON.stringify(layout)}: cannot parse ${JSON.stringify(rest)} ` +
        `as ${JSON.stringify(part)}`
    )
  const fraction = timeLayout.exec(text)
  if (fraction === null || Number.isNaN(Date.parse(text))) throw refused(text, "2006")
  if (micro && fraction[1]?.length !== 7) throw refused(text.slice(19), ".000000")
  if (micro) return text
  return `${new Date(text).toISOString().slice(0, 19)}Z`
}

/** Go's zero value, as Go writes it to JSON. */
const zeroOf = (type: FieldType): unknown => {
  switch (type._tag) {
    case "Struct":
      return {}
    case "Text":
    case "Bytes":
      return ""
    case "Int":
    case "Float":
    case "IntOrString":
      return 0
    case "Bool":
      return false
    case "Quantity":
      return "0"
    case "List":
    case "Map":
    case "Time":
    case "Any":
      return null
  }
}

const decodeItem = (type: FieldType, value: unknown, place: Place, unknown: Array<string>): unknown =>
  value === null || value === undefined ? zeroOf(type) : decodeValue(type, value, place, unknown)

/** Lists that a server shows even when they are empty (k8s.io/api, fields without `omitempty`). */
const keptWhenEmpty = new Set(["PolicyRule.verbs", "Role.rules", "ClusterRole.rules", "PodSpec.containers"])

/** Fields that a server drops when they hold Go's zero value (k8s.io/api, `omitempty` without a pointer). */
const leftOutWhenZero = new Set([
  ...["workingDir", "stdin", "stdinOnce", "tty"].map((field) => `Container.${field}`),
  ...[
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "hostname",
    "nodeName",
    "priorityClassName",
    "serviceAccountName",
    "subdomain"
  ].map((field) => `PodSpec.${field}`),
  ...[
    "DeploymentSpec.minReadySeconds",
    "DeploymentSpec.paused",
    "StatefulSetSpec.minReadySeconds",
    "StatefulSetSpec.serviceName",
    "DaemonSetSpec.minReadySeconds"
  ],
  ...[
    "EnvVar.value",
    "EnvFromSource.prefix",
    "VolumeMount.readOnly",
    "VolumeMount.subPath",
    "EmptyDirVolumeSource.medium",
    "Probe.initialDelaySeconds"
  ],
  ...[
    "ContainerPort.name",
    "ContainerPort.hostPort",
    "ServicePort.name",
    "ServicePort.nodePort",
    "ServiceSpec.externalName"
  ]
])

const isZero = (value: unknown): boolean => value === "" || value === 0 || value === false

const isEmptyCollection = (type: FieldType, value: unknown): boolean =>
  (type._tag === "List" && Array.isArray(value) && value.length === 0) ||
  (type._tag === "Map" && isObject(value) && Object.keys(value).length === 0)

const decodeStruct = (
  type: StructType,
  value: JsonObject,
  { steps, path }: Place,
  unknown: Array<string>
): JsonObject => {
  const result: JsonObject = {}
  for (const [name, item] of Object.entries(value)) {
    const child = path === "" ? name : `${path}.${name}`
    const field = type.field(name)
    if (field === undefined) {
      unknown.push(child)
      continue
    }
    if (item === null || item === undefined) continue
    const decoded = decodeValue(field, item, { owner: type.name, steps: [...steps, name], path: child }, unknown)
    const declared = `${type.name}.${name}`
    if (isEmptyCollection(field, decoded) && !keptWhenEmpty.has(declared)) continue
    if (isZero(decoded) && leftOutWhenZero.has(declared)) continue
    result[name] = decoded
  }
  return result
}

/** Values of structs, lists and maps; the others are decoded in `decodeScalar`. */
const decodeValue = (type: FieldType, value: unknown, place: Place, unknown: Array<string>): unknown => {
  switch (type._tag) {
    case "Struct":
      if (!isObject(value)) throw wrong(type, value, place)
      return decodeStruct(type, value, place, unknown)
    case "List":
      if (!Array.isArray(value)) throw wrong(type, value, place)
      return value.map((item, index) =>
        decodeItem(type.item, item, { ...place, path: `${place.path}[${index}]` }, unknown)
      )
    case "Map": {
      if (!isObject(value)) throw wrong(type, value, place)
      const result: JsonObject = {}
      for (const [key, item] of Object.entries(value))
        setField(result, key, decodeItem(type.item, item, { ...place, path: `${place.path}.${key}` }, unknown))
      return result
    }
    default: {
      const decoded = decodeScalar(type, value)
      if (decoded === undefined && type._tag !== "Any") throw wrong(type, value, place)
      return decoded
    }
  }
}

/** The decoded value; `undefined` if it has another type. */
const decodeScalar = (
  type: Exclude<FieldType, { readonly _tag: "Struct" | "List" | "Map" }>,
  value: unknown
): unknown => {
  switch (type._tag) {
    case "Time":
      return typeof value === "string" ? decodeTime(value, type.micro) : undefined
    case "Int":
      return typeof value === "number" ? decodeInt(value, type.bits) : undefined
    case "Text":
      return typeof value === "string" ? value : undefined
    case "Bytes":
      return typeof value === "string" ? decodeBytes(value) : undefined
    case "Bool":
      return typeof value === "boolean" ? value : undefined
    default:
      return decodeNumeric(type._tag, value)
  }
}

const decodeNumeric = (type: "Float" | "IntOrString" | "Quantity" | "Any", value: unknown): unknown => {
  switch (type) {
    case "Float":
      return typeof value === "number" ? value : undefined
    case "IntOrString":
      return typeof value === "string" || (typeof value === "number" && (value | 0) === value) ? value : undefined
    case "Quantity":
      return decodeQuantity(value)
    case "Any":
      return value
  }
}

const decodeBytes = (value: string): string => {
  const problem = base64Problem(value)
  if (problem !== undefined) throw new DecodingProblem(`illegal base64 data at input byte ${problem}`)
  return value
}

const decodeInt = (value: number, bits: 32 | 64): number | undefined =>
  Number.isInteger(value) && (bits === 64 || (value | 0) === value) ? value : undefined

const decodeQuantity = (value: unknown): string => {
  const canonical =
    typeof value === "string" || typeof value === "number" ? canonicalQuantity(String(value)) : undefined
  if (canonical !== undefined) return canonical
  throw new DecodingProblem(
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
  )
}

/** The decoded object, and the paths of the unknown fields that were dropped. */
export interface Decoded {
  readonly value: JsonObject
  readonly unknown: ReadonlyArray<string>
}

/** `at` is the path of the object in the request's body. Throws {@link DecodingProblem}. */
export const decode = (type: StructType, value: unknown, at = ""): Decoded => {
  const place: Place = { owner: type.name, steps: [], path: at }
  const unknown: Array<string> = []
  if (!isObject(value)) throw wrong(type, value, place)
  return { value: decodeStruct(type, value, place, unknown), unknown }
}
