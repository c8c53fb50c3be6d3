/**
 * The part of an object that the operator keeps in memory when it lists or watches it: the fields that its kind's
 * schema names, and nothing else. Objects are written by users, and anything may be in them.
 *
 * Not here: which kinds keep less than their schema (each says so beside it), and reading objects
 * (resource-descriptor.ts).
 */

import * as Schema from "effect/Schema"
import type * as SchemaAST from "effect/SchemaAST"
import { asString, at, isObject, type JsonObject, setField } from "../json.ts"
import { ObjectMeta } from "./object-meta.ts"

/** An object as an API server stores it. */
export interface StoredObject {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata: ObjectMeta
  readonly [field: string]: unknown
}

/**
 * The part of an object that is kept; `undefined` if the object counts as if it were not there. Done twice, it gives
 * the same as once. Parts of which all is kept stay the same values, so that equal parts of several objects stay one.
 */
export type Keeps = (object: StoredObject) => StoredObject | undefined

type Keep = (value: unknown) => unknown

/** `kubectl apply` repeats the whole object in this annotation, which the operator does not read. */
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

/** Longest text that is kept where no text belongs, UTF-16 code units. */
const maxStray = 64

const whole: Keep = (value) => value

/** A value of another type than the schema says: it keeps its type, so that it stays unreadable, but no content. */
const emptied = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.length === 0 ? value : []
  if (isObject(value)) return Object.keys(value).length === 0 ? value : {}
  return typeof value === "string" && value.length > maxStray ? "" : value
}

const scalar: Keep = (value) => (typeof value === "object" && value !== null ? emptied(value) : value)

const keptItems =
  (keep: Keep): Keep =>
  (value) => {
    if (!Array.isArray(value)) return emptied(value)
    const kept = value.map(keep)
    return kept.every((item, index) => item === value[index]) ? value : kept
  }

/** How a field is kept; `undefined` if it is not. */
type KeepField = (name: string) => Keep | undefined

const keptFields =
  (of: KeepField): Keep =>
  (value) => {
    if (!isObject(value)) return emptied(value)
    const names = Object.keys(value)
    let kept: JsonObject | undefined
    for (const [index, name] of names.entries()) {
      const keep = of(name)
      const before = value[name]
      const after = keep?.(before)
      if (kept === undefined) {
        if (keep !== undefined && after === before) continue
        kept = {}
        for (const earlier of names.slice(0, index)) setField(kept, earlier, value[earlier])
      }
      if (keep !== undefined) setField(kept, name, after)
    }
    return kept ?? value
  }

const keepOfObjects = ({ indexSignatures, propertySignatures }: SchemaAST.Objects): Keep => {
  const named = new Map(propertySignatures.map(({ name, type }) => [String(name), keepOf(type)]))
  const [others] = indexSignatures.map(({ type }) => keepOf(type))
  return keptFields((name) => (name === lastApplied ? undefined : (named.get(name) ?? others)))
}

/** Of several alternatives that are no scalars, all is kept. */
const keepOfUnion = ({ types }: SchemaAST.Union): Keep => {
  const [first, second] = types.map(keepOf).filter((keep) => keep !== scalar)
  if (first === undefined) return scalar
  return second === undefined ? (value) => (value === null ? null : first(value)) : whole
}

const keepOf = (ast: SchemaAST.AST): Keep => {
  // Such a value is stored in another form than it is read in.
  if (ast.encoding !== undefined) return whole
  switch (ast._tag) {
    case "Objects":
      return keepOfObjects(ast)
    case "Arrays": {
      const [item] = ast.rest
      return item === undefined || ast.elements.length > 0 ? whole : keptItems(keepOf(item))
    }
    case "Union":
      return keepOfUnion(ast)
    case "String":
    case "Number":
    case "Boolean":
    case "Null":
    case "Literal":
      return scalar
    default:
      return whole
  }
}

const ofType: ReadonlySet<string> = new Set(["apiVersion", "kind"])

/** Keeps the fields that a schema names, and of values of any shape everything. */
export const keptBy = (schema: Schema.Constraint): Keeps => {
  const { ast } = schema
  if (ast._tag !== "Objects" || ast.encoding !== undefined) throw new Error("the schema of a kind must name its fields")
  const named = new Map(ast.propertySignatures.map(({ name, type }) => [String(name), keepOf(type)]))
  const keep = keptFields((name) => named.get(name) ?? (ofType.has(name) ? scalar : undefined))
  return (object) => keep(object) as StoredObject
}

/**
 * Keeps `spec` as it is. Rules that administrators write are refused as a whole if they have a field that is not known,
 * so all fields have to be seen.
 */
export const keepsWholeSpec: Keeps = keptBy(Schema.Struct({ metadata: ObjectMeta, spec: Schema.Unknown }))

/** The names of labels and annotations that are read of a kind. */
export interface ReadNames {
  readonly labels: ReadonlyArray<string>
  readonly annotations: ReadonlyArray<string>
  /** Longest value of an annotation that is kept, UTF-16 code units; of a longer one there is an empty text. */
  readonly longest: number
}

/** Most owners that are kept. The operator's own objects have one. */
const maxOwners = 16

const namedAlone = (
  values: Readonly<Record<string, string>> | null | undefined,
  names: ReadonlyArray<string>,
  longest: number
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = asString(at(values, name))
      return value === undefined ? [] : [[name, value.length > longest ? "" : value] as const]
    })
  )

/**
 * The metadata of an object that any developer may make: they may hold a megabyte of labels, annotations, owners or
 * finalizers. Of these only what is read stays, and no finalizer.
 */
export const readMetadata = (metadata: ObjectMeta, { annotations, labels, longest }: ReadNames): ObjectMeta => {
  const { annotations: noted, finalizers: _, labels: labelled, ownerReferences, ...named } = metadata
  const owners = ownerReferences?.slice(0, maxOwners)
  return {
    ...named,
    labels: namedAlone(labelled, labels, longest),
    annotations: namedAlone(noted, annotations, longest),
    ...(owners === undefined ? {} : { ownerReferences: owners })
  }
}

/** Keeps less of the metadata: {@link readMetadata}. */
export const withNames =
  (keeps: Keeps, names: ReadNames): Keeps =>
  (object) => {
    const kept = keeps(object)
    return kept === undefined ? undefined : { ...kept, metadata: readMetadata(kept.metadata, names) }
  }

/** Roughly the bytes that a field, an object or a list takes beside its content. */
const bytesOfPart = 48

/**
 * Roughly the bytes of memory that a JSON value takes; beyond `most` the rest is not counted. Without recursion: an API
 * server takes values that are 10,000 levels deep.
 */
export const weightOf = (value: unknown, most = Infinity): number => {
  const left: Array<unknown> = [value]
  let weight = 0
  while (left.length > 0 && weight <= most) {
    const part = left.pop()
    weight += typeof part === "string" ? 16 + part.length : bytesOfPart
    if (Array.isArray(part)) for (const item of part) left.push(item)
    else if (isObject(part))
      for (const [name, field] of Object.entries(part)) {
        weight += name.length
        left.push(field)
      }
  }
  return weight
}
