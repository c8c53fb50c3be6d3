/**
 * Schemas of fields, as the tables of published-chart.md §1 note them. Each has a description for `kubectl explain`.
 *
 * Not here: shapes that several kinds share, such as object-meta.ts and session-shapes.ts.
 */

import * as Schema from "effect/Schema"
import { maxText, maxEntries, preservesUnknownFields, requiresExactlyOne } from "./open-api-schema.ts"

export const text = (description: string) => Schema.String.annotate({ description })

/** A text of which the API server takes at most `longest` characters; readers take any. */
export const shortText = (longest: number, description?: string) =>
  Schema.String.annotate({ [maxText]: longest, ...(description === undefined ? {} : { description }) })

/** A time as RFC 3339 text. */
export const time = (description: string) => Schema.String.annotate({ format: "date-time", description })

export const truth = (description: string) => Schema.Boolean.annotate({ description })

/**
 * An integer without an upper bound. `Schema.Int` rejects integers above 2^53 − 1, and one such field would make the
 * whole object unreadable.
 */
const isUnsigned = Schema.makeFilter((value: number) => Number.isInteger(value) && value >= 0, {
  expected: "an integer of at least 0",
  toJsonSchema: () => ({ type: "integer", minimum: 0 }),
  arbitraryConstraint: { number: "integer", minimum: 0 }
})

/** Rust's `u32` and `u64`. The published schemas give them no upper bound. */
export const unsigned = (description: string) => Schema.Finite.check(isUnsigned).annotate({ description })

/** Rust's `u16`: a port, or an HTTP status. */
export const uint16 = (description: string) =>
  Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 65_535 })).annotate({ description })

/** With bounds: API servers before 1.36 do not check the format. */
export const int32 = (description: string) =>
  Schema.Int.check(Schema.isBetween({ minimum: -(2 ** 31), maximum: 2 ** 31 - 1 })).annotate({
    description,
    format: "int32"
  })
export const int64 = (description: string) => Schema.Int.annotate({ description, format: "int64" })

export const literals = <const L extends ReadonlyArray<string>>(values: L, description: string) =>
  Schema.Literals(values).annotate({ description })

export const texts = (description: string) => Schema.Array(Schema.String).annotate({ description })
export const textMap = (description: string) => Schema.Record(Schema.String, Schema.String).annotate({ description })

/** As {@link texts}, with bounds for what the API server takes. */
export const shortTexts = (most: number, longest: number, description: string) =>
  Schema.Array(shortText(longest)).annotate({ description, [maxEntries]: most })
/** As {@link textMap}, with bounds for what the API server takes. */
export const shortTextMap = (most: number, longest: number, description: string) =>
  Schema.Record(Schema.String, shortText(longest)).annotate({ description, [maxEntries]: most })

/** Any JSON value, which the API server keeps unread. */
export const anything = (description: string) => Schema.Json.annotate({ description, [preservesUnknownFields]: true })

/** An object with these fields and any others: the API server and a reader keep all of them. */
export const open = <F extends Schema.Struct.Fields>(fields: F) =>
  Schema.StructWithRest(Schema.Struct(fields), [Schema.Record(Schema.String, Schema.Json)])

/** Optional and nullable, as Rust's `Option` arrives in the published schemas. */
export const nullable = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** For `annotate`: the object must have exactly one of these optional fields. */
export const exactlyOne = (...fields: ReadonlyArray<string>) => ({ [requiresExactlyOne]: fields })

/** Fields of the same shape under many names. */
export const eachNamed = <K extends string, S extends Schema.Constraint>(
  names: ReadonlyArray<K>,
  schema: (name: K) => S
) => {
  const fields = names.map((name) => [name, schema(name)] as const)
  // The type of Object.fromEntries does not keep the names.
  return Object.fromEntries(fields) as { readonly [name in K]: S }
}
