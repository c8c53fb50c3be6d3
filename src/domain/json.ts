/**
 * Helpers for JSON whose shape is not known at compile time, such as objects that a client sends. A value of another
 * type counts as missing.
 *
 * Not here: shapes that are known, which have a Schema (domain/resources).
 */

export type JsonObject = Record<string, unknown>

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export const asObject = (value: unknown): JsonObject => (isObject(value) ? value : {})

/** The object that a text holds as JSON; an empty one if it holds none. */
export const parseObject = (text: string): JsonObject => {
  try {
    return asObject(JSON.parse(text))
  } catch {
    return {}
  }
}

export const asArray = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

export const asObjects = (value: unknown): ReadonlyArray<JsonObject> => asArray(value).filter(isObject)

export const asString = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)

export const asNumber = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined)

export const asStrings = (value: unknown): ReadonlyArray<string> =>
  asArray(value).filter((item): item is string => typeof item === "string")

/** The value at a path of field names, `undefined` where any step is missing. */
export const at = (value: unknown, ...path: ReadonlyArray<string>): unknown => {
  let current = value
  for (const step of path) {
    if (!isObject(current) || !Object.hasOwn(current, step)) return undefined
    current = current[step]
  }
  return current
}

/** Structural equality of JSON values; a field that is `undefined` counts as missing. */
export const jsonEqual = (a: unknown, b: unknown): boolean => {
  if (a === b) return true
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, i) => jsonEqual(item, b[i]))
  }
  if (!isObject(a) || !isObject(b)) return false
  for (const key of Object.keys(a)) if (!jsonEqual(a[key], b[key])) return false
  for (const key of Object.keys(b)) if (b[key] !== undefined && a[key] === undefined) return false
  return true
}

/** Sets an own field even if it is called `__proto__`. */
export const setField = (target: JsonObject, key: string, value: unknown): void => {
  if (key === "__proto__")
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
  else target[key] = value
}

/** Freezes a JSON value deeply, so that a reader of a stored object cannot change the store by accident. */
export const deepFreeze = <A>(value: A): A => {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const item of Object.values(value)) deepFreeze(item)
  return value
}

/** A copy without some fields. */
export const omit = (object: object, ...fields: ReadonlyArray<string>): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([key]) => !fields.includes(key)))
