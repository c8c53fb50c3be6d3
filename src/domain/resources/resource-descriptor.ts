/**
 * How a kind is addressed at an API server, and how its objects are read without being trusted.
 *
 * Not here: the kinds, and the requests (ports/kube-api.ts).
 */

import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import { cleanText, textLimits } from "../clean-text.ts"
import type { Keeps } from "./kept-fields.ts"

/**
 * The address of a kind at a Kubernetes API server, and the schema of its objects.
 *
 * The schema is a _view_: it names the fields that this operator reads and ignores all others, so that an object of a
 * newer client can be read. A view forgets the fields that it does not name, so nothing ever writes a view back: a
 * `PUT` would erase the rest (failures.md §4.19). Objects are created from data that is all ours, and changed by merge
 * patches that mention only the changed fields.
 */
export interface ResourceDescriptor<T> {
  /** API group, empty for the core group. */
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly scope: "Cluster" | "Namespaced"
  readonly schema: Schema.ConstraintDecoder<T>
  /** The part of the objects that lists and watches give; `undefined` if all of it. */
  readonly keeps?: Keeps
}

/** A kind whose objects are kept in memory: it says which part of them. */
export type WatchedResource<T> = ResourceDescriptor<T> & { readonly keeps: Keeps }

/** `group/version`, or the bare version for the core group: the value of an object's `apiVersion`. */
export const apiVersionOf = (resource: { readonly group: string; readonly version: string }): string =>
  resource.group === "" ? resource.version : `${resource.group}/${resource.version}`

/** A field of an object that departs from its kind's schema. `path` is written like `spec.clusters[0]`. */
export interface FieldProblem {
  readonly path: string
  readonly message: string
}

/** An object that cannot be read as its kind, with every problem at once. Holds no values, so it may be logged. */
export interface UnreadableResource {
  readonly _tag: "UnreadableResource"
  readonly kind: string
  readonly problems: ReadonlyArray<FieldProblem>
  /** All problems as one sentence. */
  readonly message: string
}

const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()

const fieldPath = (path: ReadonlyArray<PropertyKey>): string =>
  path.reduce<string>((text, key) => {
    if (typeof key === "number") return `${text}[${key}]`
    return text === "" ? String(key) : `${text}.${String(key)}`
  }, "")

/** Every place where a value departs from a schema, without the values themselves. */
export const fieldProblems = (error: Schema.SchemaError): ReadonlyArray<FieldProblem> =>
  formatIssue(error.issue).issues.map(({ message, path }) => ({
    path: fieldPath((path ?? []).map((part) => (typeof part === "object" ? part.key : part))),
    message
  }))

/**
 * Reads an object of a kind. Unknown fields are fine and are not part of the result; see {@link ResourceDescriptor}.
 */
export const readResource = <T>(
  resource: ResourceDescriptor<T>,
  value: unknown
): Result.Result<T, UnreadableResource> =>
  Result.mapError(Schema.decodeUnknownResult(resource.schema, { errors: "all" })(value), (error) => {
    const problems = fieldProblems(error)
    const list = problems.map(({ path, message }) => `${path === "" ? "the object" : path}: ${message}`).join("; ")
    return {
      _tag: "UnreadableResource",
      kind: resource.kind,
      problems,
      message: cleanText(`This is not a readable ${resource.kind}: ${list}.`, textLimits.message)
    }
  })
