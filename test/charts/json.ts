/** Reading of what helm rendered: what is not of the expected shape is an error. */
export const asMap = (value: unknown): Readonly<Record<string, unknown>> => {
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Readonly<Record<string, unknown>>
  throw new Error(`no map: ${JSON.stringify(value)}`)
}

export const asList = (value: unknown): ReadonlyArray<unknown> => {
  if (Array.isArray(value)) return value as ReadonlyArray<unknown>
  throw new Error(`no list: ${JSON.stringify(value)}`)
}

export const asText = (value: unknown): string => {
  if (typeof value === "string") return value
  throw new Error(`no text: ${JSON.stringify(value)}`)
}

/** The value at a path, or nothing. */
export const at = (value: unknown, ...path: ReadonlyArray<string | number>): unknown =>
  path.reduce<unknown>(
    (found, key) =>
      typeof found === "object" && found !== null
        ? (found as Readonly<Record<string | number, unknown>>)[key]
        : undefined,
    value
  )
