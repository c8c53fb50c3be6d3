/**
 * The fields of built-in kinds, read from the classes that `@kubernetes/client-node` generates from the OpenAPI
 * document of Kubernetes. Corrections stand here where those classes and a real server's Go structs differ.
 */

import { createRequire } from "node:module"
import type { FieldType, StructType } from "./field-types.ts"

/** A generated class of `@kubernetes/client-node`. */
interface Model {
  readonly getAttributeTypeMap: () => ReadonlyArray<{
    readonly baseName: string
    readonly type: string
    readonly format: string
  }>
}

const isModel = (value: unknown): value is Model => typeof value === "function" && "getAttributeTypeMap" in value

// Each class is loaded alone, when it is needed: all 750 take half a second and 30 MB, a usual Pod's a few
// milliseconds.
const load = createRequire(import.meta.url)

const modelOf = (name: string): Model => {
  const module: Record<string, unknown> = load(`@kubernetes/client-node/dist/gen/models/${name}.js`)
  const model = module[name]
  if (!isModel(model)) throw new Error(`@kubernetes/client-node has no model ${name}`)
  return model
}

/** Fields that are quantities: the models call them `string`, a server also takes a number. */
const quantities = new Set([
  "allocatable",
  "allocatedResources",
  "capacity",
  "divisor",
  "hard",
  "limits",
  "overhead",
  "requests",
  "sizeLimit",
  "used"
])

const scalar = (type: string, format: string): FieldType => {
  switch (type) {
    case "string":
      return { _tag: format === "byte" ? "Bytes" : "Text" }
    case "boolean":
      return { _tag: "Bool" }
    case "number":
      return format === "double" ? { _tag: "Float" } : { _tag: "Int", bits: format === "int32" ? 32 : 64 }
    case "Date":
      return { _tag: "Time", micro: false }
    case "V1MicroTime":
      return { _tag: "Time", micro: true }
    case "IntOrString":
      return { _tag: "IntOrString" }
    case "any":
      return { _tag: "Any" }
    default:
      return structOf(type)
  }
}

const typeOf = (text: string, format: string, field: string): FieldType => {
  const list = /^Array<(.*)>$/.exec(text)?.[1]
  if (list !== undefined) return { _tag: "List", item: typeOf(list, format, field) }
  const map = /^\{ \[key: string\]: (.*); \}$/.exec(text)?.[1]
  if (map !== undefined) return { _tag: "Map", item: typeOf(map, format, field) }
  return text === "string" && quantities.has(field) ? { _tag: "Quantity" } : scalar(text, format)
}

const structs = new Map<string, StructType>()

/** The struct of a model. The model's file is read at the first look at a field. */
const structOf = (model: string): StructType => {
  const known = structs.get(model)
  if (known !== undefined) return known
  let fields: ReadonlyMap<string, FieldType> | undefined
  const read = (): ReadonlyMap<string, FieldType> =>
    new Map(
      modelOf(model)
        .getAttributeTypeMap()
        .map(({ baseName, type, format }) => [baseName, typeOf(type, format, baseName)])
    )
  const struct: StructType = {
    _tag: "Struct",
    name: model.replace(/^[A-Z][a-z]*?(?=V\d)/, "").replace(/^V\d+((alpha|beta)\d+)?/, ""),
    field: (name) => (fields ??= read()).get(name)
  }
  structs.set(model, struct)
  return struct
}

export const objectMetaType: StructType = structOf("V1ObjectMeta")

/** Kinds whose model has another name: two groups have Events. */
const modelNames: Readonly<Record<string, string>> = { Event: "CoreV1Event" }

/** The type of a built-in kind's objects. */
export const builtInType = ({ kind }: { readonly kind: string }): StructType =>
  structOf(modelNames[kind] ?? `V1${kind}`)
