/**
 * Finds the fields that a JSON text has twice in one object, for the warnings and refusals of `fieldValidation`.
 * `JSON.parse` keeps the last value and says nothing. The text must be valid JSON: this is no parser.
 */

interface Level {
  readonly path: string
  /** The keys seen so far; `undefined` in a list. */
  readonly keys: Set<string> | undefined
  key: string
  index: number
  wantsKey: boolean
}

const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]/g

const childPath = (level: Level | undefined): string => {
  if (level === undefined) return ""
  if (level.keys === undefined) return `${level.path}[${level.index}]`
  return level.path === "" ? level.key : `${level.path}.${level.key}`
}

/** Paths of the fields that a valid JSON text has more than once in one object. */
export const duplicateFields = (text: string): ReadonlyArray<string> => {
  const found = new Set<string>()
  const levels: Array<Level> = []
  for (const [token] of text.matchAll(tokens)) {
    const level = levels.at(-1)
    if (token === "{" || token === "[") {
      const isMap = token === "{"
      levels.push({ path: childPath(level), keys: isMap ? new Set() : undefined, key: "", index: 0, wantsKey: isMap })
    } else if (token === "}" || token === "]") levels.pop()
    else if (level === undefined || token === ":") continue
    else if (token === ",") {
      level.index++
      level.wantsKey = level.keys !== undefined
    } else if (level.wantsKey) {
      level.key = String(JSON.parse(token))
      level.wantsKey = false
      if (level.keys?.has(level.key) === true) found.add(childPath(level))
      level.keys?.add(level.key)
    }
  }
  return [...found]
}
