/**
 * Shapes of HTTP filters and of subscriptions to steal (wire.md §3.4). Agents evaluate the filters; the router reads
 * only which versions they need.
 */

import {
  bool,
  enumeration,
  fields,
  lazy,
  list,
  newtype,
  text,
  tuple,
  type TypedShape,
  type TypeOf,
  u16,
  unitVariant
} from "./shape.ts"

export const HttpMethodFilter = enumeration("HttpMethodFilter", {
  Get: unitVariant,
  Head: unitVariant,
  Post: unitVariant,
  Put: unitVariant,
  Delete: unitVariant,
  Connect: unitVariant,
  Options: unitVariant,
  Trace: unitVariant,
  Patch: unitVariant,
  Other: newtype(text)
})
export type HttpMethodFilter = TypeOf<typeof HttpMethodFilter>

export const HttpBodyFilter = enumeration("HttpBodyFilter", {
  /** `query` is a JSONPath, `matches` a regular expression. */
  Json: fields({ query: text, matches: text })
})
export type HttpBodyFilter = TypeOf<typeof HttpBodyFilter>

/**
 * Which HTTP requests a subscription wants (wire.md §3.4). Texts are not validated on the wire: the agent compiles
 * them.
 */
export type HttpFilter =
  | { readonly _tag: "Header"; readonly value: string }
  | { readonly _tag: "Path"; readonly value: string }
  | { readonly _tag: "Composite"; readonly all: boolean; readonly filters: ReadonlyArray<HttpFilter> }
  | { readonly _tag: "Method"; readonly value: HttpMethodFilter }
  | { readonly _tag: "Body"; readonly value: HttpBodyFilter }
  | { readonly _tag: "HeaderJq"; readonly value: string }

export const HttpFilter: TypedShape<HttpFilter> = enumeration("HttpFilter", {
  Header: newtype(text),
  Path: newtype(text),
  Composite: fields({ all: bool, filters: list(lazy((): TypedShape<HttpFilter> => HttpFilter)) }),
  Method: newtype(HttpMethodFilter),
  Body: newtype(HttpBodyFilter),
  HeaderJq: newtype(text)
})

export const StealType = enumeration("StealType", {
  All: newtype(u16),
  /** A regular expression on `name: value` of headers; the form before {@link HttpFilter}. */
  FilteredHttp: tuple({ port: u16, filter: text }),
  FilteredHttpEx: tuple({ port: u16, filter: HttpFilter })
})
export type StealType = TypeOf<typeof StealType>
