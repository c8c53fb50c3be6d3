/**
 * Property lists: which object a name means, which ConfigMaps and Secrets it reads, and its properties. As with a
 * container's variables, single properties win over whole objects, and the last of those wins.
 *
 * Not here: the meaning of properties (queue-properties.ts).
 */

import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { quoted } from "../clean-text.ts"
import { type MirrordPropertyList, mirrordPropertyLists } from "../resources/queues/mirrord-property-list.ts"
import { readResource } from "../resources/resource-descriptor.ts"

/** Properties by name. A value may come from a Secret. */
export type Properties = ReadonlyMap<string, Redacted.Redacted>

/** A place where a list may be. `object`: as the API server has it; `undefined` if there is none. */
export interface PropertyListPlace {
  readonly namespace: string
  readonly object: unknown
}

/** A list, and the namespace in which its references are. */
export interface FoundPropertyList {
  readonly namespace: string
  readonly list: MirrordPropertyList
}

/**
 * The list of a name: the first of the places that has one, which are the target's namespace and the operator's. One
 * that cannot be read hides those behind it: the administrator of the target means it, and the other may lead
 * elsewhere.
 */
export const findPropertyList = (
  name: string,
  places: ReadonlyArray<PropertyListPlace>
): Result.Result<FoundPropertyList, string> => {
  const found = places.find(({ object }) => object !== undefined)
  if (found === undefined) {
    const namespaces = [...new Set(places.map(({ namespace }) => namespace))].join(" or ")
    return Result.fail(
      `There is no MirrordPropertyList ${quoted(name)} in the namespace ${namespaces}: create it there.`
    )
  }
  return Result.mapBoth(readResource(mirrordPropertyLists, found.object), {
    onFailure: ({ message }) =>
      `The MirrordPropertyList ${quoted(name)} in the namespace ${found.namespace} cannot be used. ${message}`,
    onSuccess: (list) => ({ namespace: found.namespace, list })
  })
}

type Single = NonNullable<MirrordPropertyList["spec"]["properties"]>[number]
type Whole = NonNullable<MirrordPropertyList["spec"]["propertiesFrom"]>[number]

/** A reference of either sort; `key` is `undefined` if the whole object is meant. */
interface PropertyReference {
  readonly kind: "ConfigMap" | "Secret"
  readonly name: string
  readonly key: string | undefined
  readonly isOptional: boolean
}

interface RawReference {
  readonly name: string
  readonly key?: string
  readonly optional?: boolean
}

/** Exactly one of the two; `undefined` if it is none or both, which the API server refuses. */
const referenceOf = (configMap: RawReference | undefined, secret: RawReference | undefined) => {
  const raw = configMap ?? secret
  if (raw === undefined || (configMap !== undefined && secret !== undefined)) return undefined
  const { key, name, optional: isOptional = false } = raw
  const reference: PropertyReference = { kind: configMap === undefined ? "Secret" : "ConfigMap", name, key, isOptional }
  return reference
}
const ofSingle = ({ valueFrom }: Single) => referenceOf(valueFrom?.configMapKeyRef, valueFrom?.secretKeyRef)
const ofWhole = ({ configMapRef, secretRef }: Whole) => referenceOf(configMapRef, secretRef)

/** The names of the objects that a list reads, in its own namespace. */
export const objectsOf = ({
  spec
}: MirrordPropertyList): { readonly configMaps: ReadonlyArray<string>; readonly secrets: ReadonlyArray<string> } => {
  const all = [...(spec.properties ?? []).map(ofSingle), ...(spec.propertiesFrom ?? []).map(ofWhole)]
  const named = (kind: PropertyReference["kind"]) => [
    ...new Set(all.flatMap((one) => (one?.kind === kind ? one.name : [])))
  ]
  return { configMaps: named("ConfigMap"), secrets: named("Secret") }
}

/** The contents of objects by name. One that does not exist is not in it. */
export interface PropertyObjects {
  readonly configMaps: ReadonlyMap<string, ReadonlyMap<string, string>>
  readonly secrets: ReadonlyMap<string, Properties>
}

const contentOf = (
  { kind, name }: PropertyReference,
  { configMaps, secrets }: PropertyObjects
): Properties | undefined => {
  if (kind === "Secret") return secrets.get(name)
  const map = configMaps.get(name)
  return map === undefined ? undefined : new Map([...map].map(([key, value]) => [key, Redacted.make(value)]))
}

const missing = ({ key, kind, name }: PropertyReference): string =>
  `reads ${key === undefined ? "" : `the key ${quoted(key)} of `}the ${kind} ${quoted(name)}, which is not there: ` +
  "create it, or make the reference optional"

/** One property; an empty list if its value is optional and missing. */
const single = (
  property: Single,
  objects: PropertyObjects
): Result.Result<ReadonlyArray<readonly [string, Redacted.Redacted]>, string> => {
  const { name, value, valueFrom } = property
  const reference = ofSingle(property)
  if (value !== undefined && valueFrom === undefined) return Result.succeed([[name, Redacted.make(value)]])
  if (value !== undefined || reference?.key === undefined) {
    return Result.fail(`must have exactly one value for the property ${quoted(name)}`)
  }
  const found = contentOf(reference, objects)?.get(reference.key)
  if (found !== undefined) return Result.succeed([[name, found]])
  return reference.isOptional ? Result.succeed([]) : Result.fail(missing(reference))
}

const whole = (
  entry: Whole,
  objects: PropertyObjects
): Result.Result<ReadonlyArray<readonly [string, Redacted.Redacted]>, string> => {
  const reference = ofWhole(entry)
  if (reference === undefined) return Result.fail("must name either a ConfigMap or a Secret in each of propertiesFrom")
  const content = contentOf(reference, objects)
  if (content === undefined && !reference.isOptional) return Result.fail(missing(reference))
  return Result.succeed([...(content ?? [])].map(([key, value]) => [(entry.prefix ?? "") + key, value]))
}

/** The properties of a list. The failure is a sentence that quotes no value. */
export const resolveProperties = (
  { list: { metadata, spec }, namespace }: FoundPropertyList,
  objects: PropertyObjects
): Result.Result<Properties, string> =>
  Result.mapBoth(
    Result.all([
      ...(spec.propertiesFrom ?? []).map((entry) => whole(entry, objects)),
      ...(spec.properties ?? []).map((property) => single(property, objects))
    ]),
    {
      onFailure: (problem) =>
        `The MirrordPropertyList ${quoted(metadata.name)} in the namespace ${namespace} ${problem}.`,
      onSuccess: (entries) => new Map(entries.flat())
    }
  )
