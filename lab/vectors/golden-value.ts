/**
 * Renders decoded messages as plain JSON for golden vectors: every type is recognisable, and equal messages give equal
 * JSON, because sets and maps are sorted. Reading and comparing are in `golden-vectors.ts`.
 */

import type { Shape, Variant } from "../../src/domain/protocol/shape.ts"

export type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json }

const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")
const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
const asText = new TextDecoder()
const asBytes = new TextEncoder()

const byUtf8 = (a: string, b: string): number => {
  const [x, y] = [asBytes.encode(a), asBytes.encode(b)]
  const at = x.findIndex((byte, i) => byte !== y[i])
  return at < 0 ? x.length - y.length : (x[at] ?? 0) - (y[at] ?? -1)
}

const headerValue = (value: Uint8Array): Json =>
  value.every((byte) => byte === 9 || (byte >= 32 && byte < 127)) ? asText.decode(value) : { bytes: hex(value) }

const isSocketAddr = (shape: Shape): boolean =>
  shape.kind === "struct" &&
  shape.fields.length === 2 &&
  shape.fields[0]?.shape.kind === "ip" &&
  shape.fields[1]?.name === "port"

const renderVariant = (variant: Variant, value: Readonly<Record<string, unknown>>): Json => {
  const named = variant.style === "struct"
  const entries = variant.fields.map(
    ({ name, shape }, i) => [named ? snakeCase(name) : String(i), render(shape, value[name])] as const
  )
  return { $: variant.name, ...Object.fromEntries(entries) }
}

const renderStruct = (shape: Extract<Shape, { readonly kind: "struct" }>, value: unknown): Json => {
  const struct = value as Readonly<Record<string, unknown>>
  if (isSocketAddr(shape)) {
    const address = String(struct["ip"])
    return `${address.includes(":") ? `[${address}]` : address}:${String(struct["port"])}`
  }
  return Object.fromEntries(
    shape.fields.map(({ name, shape: field }) => [snakeCase(name), render(field, struct[name])])
  )
}

const renderResult = (shape: Extract<Shape, { readonly kind: "result" }>, value: unknown): Json => {
  const result = value as { readonly _tag: string; readonly value?: unknown; readonly error?: unknown }
  return result._tag === "Ok" ? { ok: render(shape.ok, result.value) } : { err: render(shape.err, result.error) }
}

const renderEnum = (shape: Extract<Shape, { readonly kind: "enum" }>, value: unknown): Json => {
  const tagged = value as Readonly<Record<string, unknown>>
  const variant = shape.variants.find(({ name }) => name === tagged["_tag"])
  return variant === undefined ? null : renderVariant(variant, tagged)
}

/** Renders a decoded value, which must be one that the shape's decoder makes. */
export const render = (shape: Shape, value: unknown): Json => {
  switch (shape.kind) {
    case "option":
      return value === null ? null : { some: render(shape.of, value) }
    case "result":
      return renderResult(shape, value)
    case "list":
    case "array":
      return (value as ReadonlyArray<unknown>).map((item) => render(shape.of, item))
    case "struct":
      return renderStruct(shape, value)
    case "enum":
      return renderEnum(shape, value)
    case "lazy":
      return render(shape.force(), value)
    default:
      return renderPlain(shape.kind, value)
  }
}

/** A number or a text as JSON has it, or as text where JSON has no such number. */
const renderPlain = (kind: PlainKind, value: unknown): Json => {
  switch (kind) {
    case "u64":
    case "u128":
    case "i64":
      return String(value)
    case "bytes":
      return { bytes: hex(value as Uint8Array) }
    case "unit":
      return null
    case "headers":
      return (value as ReadonlyArray<readonly [string, Uint8Array]>).map(([name, bytes]) => [name, headerValue(bytes)])
    case "textSet":
      return [...(value as ReadonlySet<string>)].sort(byUtf8)
    case "textMap":
      return [...(value as ReadonlyMap<string, string>)].sort(([a], [b]) => byUtf8(a, b))
    default:
      return value as number | boolean | string
  }
}

type PlainKind = Exclude<Shape["kind"], "option" | "result" | "list" | "array" | "struct" | "enum" | "lazy">
