import type { Enum, Shape } from "../../../src/domain/protocol/shape.ts"

/**
 * Paths of the variants of an enum, going into those sub-enums that `inside` names:
 * `TcpSteal.HttpResponseChunked.Body`.
 */
export const variantPaths = (shape: Shape, inside: ReadonlySet<string>): ReadonlyArray<string> => {
  if (shape.kind !== "enum") throw new Error(`an enum is needed, found ${shape.kind}`)
  return shape.variants.flatMap((variant) => {
    const content = variant.fields[0]?.shape
    return variant.style === "newtype" && content?.kind === "enum" && inside.has(content.name)
      ? variantPaths(content, inside).map((path) => `${variant.name}.${path}`)
      : [variant.name]
  })
}

const text = (rule: string): string =>
  ({ method: "GET", uri: "/", httpVersion: "HTTP/1.1", semver: "1.29.0" })[rule] ?? ""

const variant = (shape: Enum, name: string | undefined, rest: ReadonlyArray<string>): unknown => {
  const chosen = shape.variants.find((one) => one.name === name) ?? shape.variants[0]
  if (chosen === undefined) throw new Error(`${shape.name} has no variants`)
  return {
    _tag: chosen.name,
    ...Object.fromEntries(chosen.fields.map((field) => [field.name, sample(field.shape, rest)]))
  }
}

/** The smallest value of a shape; `path` chooses the variants of the enums on the way to it. */
export const sample = (shape: Shape, path: ReadonlyArray<string> = []): unknown => {
  switch (shape.kind) {
    case "u8":
    case "u16":
    case "u32":
    case "i32":
      return 0
    case "u64":
    case "u128":
    case "i64":
      return 0n
    case "bool":
      return false
    case "bytes":
      return new Uint8Array(0)
    case "unit":
    case "option":
      return null
    case "status":
      return 200
    case "ip":
      return "10.0.0.1"
    case "headers":
    case "list":
      return []
    case "text":
      return text(shape.rule)
    case "result":
      return { _tag: "Ok", value: sample(shape.ok) }
    case "array":
      return Array.from({ length: shape.length }, () => sample(shape.of))
    case "textSet":
      return new Set()
    case "textMap":
      return new Map()
    case "struct":
      return Object.fromEntries(shape.fields.map((field) => [field.name, sample(field.shape)]))
    case "enum":
      return variant(shape, path[0], path.slice(1))
    case "lazy":
      return sample(shape.force(), path)
  }
}
