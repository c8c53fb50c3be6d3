import { readFileSync } from "node:fs"
import { parse } from "yaml"
import { asObject, asObjects, asString, asStrings, isObject, type JsonObject } from "../../src/domain/json.ts"

/** A kind as the published chart describes it. */
export interface PublishedKind {
  readonly plural: string
  readonly group: string
  readonly kind: string
  readonly version: string
  readonly scope: string
  readonly shortNames: ReadonlyArray<string>
  readonly status: boolean
  /** Values paths; any of them installs the kind, none: always installed. */
  readonly installedWith: ReadonlyArray<string>
  /** Name → JSONPath, in order. */
  readonly columns: ReadonlyArray<readonly [string, unknown]>
  readonly valid: ReadonlyArray<ValidSample>
  readonly invalid: ReadonlyArray<InvalidSample>
}

export interface ValidSample {
  readonly name: string
  readonly spec: JsonObject
  /** Written through the subresource; `null` is a legal status of some kinds. */
  readonly status?: unknown
  /** Of the stored `spec`, beyond what was sent. */
  readonly stored: JsonObject
  /** Paths in `spec` and `status` that are not stored. */
  readonly dropped: ReadonlyArray<string>
}

/** The first valid sample with one field changed, which makes it invalid. */
export interface InvalidSample {
  readonly name: string
  readonly path: string
  /** The new value; nothing removes the field. */
  readonly value?: unknown
  /** Field that the refusal must name. */
  readonly field: string
}

const read = (file: string): unknown => parse(readFileSync(new URL(file, import.meta.url), "utf8"), { merge: true })

const validSample = (sample: JsonObject): ValidSample => ({
  name: asString(sample["name"]) ?? "",
  spec: asObject(sample["spec"]),
  ...("status" in sample ? { status: sample["status"] } : {}),
  stored: asObject(sample["stored"]),
  dropped: asStrings(sample["dropped"])
})

/** A text with one character more than its field may have: `longerThan: { spec.key: 4096 }`. */
const longSample = (longest: JsonObject): ReadonlyArray<InvalidSample> =>
  Object.entries(longest).map(([path, most]) => ({
    name: `${path} with more than ${String(most)} characters`,
    path,
    value: "x".repeat(Number(most) + 1),
    field: path
  }))

/** A list with one entry more than its field may have: `moreThan: { spec.args: 1000 }`. */
const fullSample = (most: JsonObject): ReadonlyArray<InvalidSample> =>
  Object.entries(most).map(([path, entries]) => ({
    name: `${path} with more than ${String(entries)} entries`,
    path,
    value: Array.from({ length: Number(entries) + 1 }, () => "x"),
    field: path
  }))

const invalidSample = (sample: JsonObject): InvalidSample => {
  const without = asString(sample["without"])
  const [[path, value] = ["", undefined]] = Object.entries(asObject(sample["set"]))
  return {
    name: without === undefined ? `${path} = ${JSON.stringify(value)}` : `no ${without}`,
    path: without ?? path,
    ...(without === undefined ? { value } : {}),
    field: asString(sample["field"]) ?? without ?? path
  }
}

const publishedKind = (facts: JsonObject): PublishedKind => {
  const text = (field: string): string => asString(facts[field]) ?? ""
  const samples = asObject(read(`samples/${asString(facts["samples"]) ?? text("plural")}.yaml`))
  return {
    plural: text("plural"),
    group: text("group"),
    kind: text("kind"),
    version: text("version"),
    scope: text("scope"),
    shortNames: asStrings(facts["shortNames"]),
    status: facts["status"] === true,
    installedWith: asStrings(facts["installedWith"]).map((path) => `operator.${path}`),
    columns: Object.entries(asObject(facts["columns"])),
    valid: asObjects(samples["valid"]).map(validSample),
    invalid: [
      ...asObjects(samples["invalid"]).map(invalidSample),
      ...longSample(asObject(samples["longerThan"])),
      ...fullSample(asObject(samples["moreThan"]))
    ]
  }
}

export const publishedKinds: ReadonlyArray<PublishedKind> = asObjects(read("kinds.yaml")).map(publishedKind)

const steps = (path: string): ReadonlyArray<string> => path.split(/\.|\[|\]\.?/u).filter((step) => step !== "")

/** The field at a path such as `spec.ports[0].name`. */
export const fieldAt = (object: unknown, path: string): unknown =>
  steps(path).reduce<unknown>(
    (value, step) => (Array.isArray(value) ? value[Number(step)] : asObject(value)[step]),
    object
  )

/** The object with another value at a path; without one, without the field. */
export const withField = (
  object: unknown,
  path: ReadonlyArray<string> | string,
  ...value: ReadonlyArray<unknown>
): unknown => {
  const [step, ...rest] = typeof path === "string" ? steps(path) : path
  if (step === undefined) return value[0]
  const child = (before: unknown): unknown => withField(before, rest, ...value)
  if (Array.isArray(object)) return object.map((item, index) => (String(index) === step ? child(item) : item))
  if (!isObject(object)) throw new Error(`there is no ${step} in ${JSON.stringify(object)}`)
  if (rest.length > 0 || value.length > 0) return { ...object, [step]: child(object[step]) }
  return Object.fromEntries(Object.entries(object).filter(([name]) => name !== step))
}

/** The path of a kind's objects, of a namespaced kind in `default`. */
export const collectionOf = ({ group, plural, scope, version }: PublishedKind): string =>
  `/apis/${group}/${version}/${scope === "Cluster" ? "" : "namespaces/default/"}${plural}`

export const objectOf = ({ group, kind, version }: PublishedKind, name: string, spec: unknown): JsonObject => ({
  apiVersion: `${group}/${version}`,
  kind,
  metadata: { name },
  spec
})
