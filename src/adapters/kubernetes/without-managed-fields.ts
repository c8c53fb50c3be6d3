/** In a path: each element of an array. */
const every = Symbol("every element")
type Path = ReadonlyArray<string | typeof every>

const object: Path = ["metadata", "managedFields"]
/** Where managed fields are, by what a text holds: one object, a list of them, an event of a watch. */
const paths = { object, list: ["items", every, ...object], event: ["object", ...object] } satisfies Readonly<Record<string, Path>>

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d]

const afterSpace = (text: string, at: number): number => {
  let end = at
  for (let code = text.charCodeAt(end); code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09; code = text.charCodeAt(++end));
  return end
}

/** Where the string ends that begins at `at`. */
const afterString = (text: string, at: number): number => {
  for (let end = text.indexOf('"', at + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes++
    if (slashes % 2 === 0) return end + 1
  }
  return text.length
}

/** Where the value ends that begins at `at`. */
const afterValue = (text: string, at: number): number => {
  const first = text.charCodeAt(at)
  if (first === quote) return afterString(text, at)
  const isContainer = first === openBrace || first === openBracket
  let depth = 0
  for (let end = at; end < text.length; ) {
    const code = text.charCodeAt(end)
    if (code === quote) {
      end = afterString(text, end)
      continue
    }
    if (code === openBrace || code === openBracket) depth++
    else if (code === closeBrace || code === closeBracket) {
      // The end of what a number or a word stands in.
      if (depth === 0) return end
      if (--depth === 0) return end + 1
    } else if (code === comma && !isContainer) return end
    end++
  }
  return text.length
}

/**
 * Notes start and end of every value at the path, from its `index`-th part on, in the value that begins at `at`; gives where that ends.
 * What is no JSON ends somewhere, and the parser says so.
 */
const find = (text: string, at: number, path: Path, index: number, found: Array<number>): number => {
  const part = path[index]
  if (part === undefined) {
    const end = afterValue(text, at)
    if (end > at) found.push(at, end)
    return end
  }
  const isArray = part === every
  if (text.charCodeAt(at) !== (isArray ? openBracket : openBrace)) return afterValue(text, at)
  for (let next = afterSpace(text, at + 1); next < text.length; ) {
    const code = text.charCodeAt(next)
    if (code === closeBrace || code === closeBracket) return next + 1
    if (code === comma) {
      next = afterSpace(text, next + 1)
      continue
    }
    let isOnPath = isArray
    if (!isArray) {
      const end = afterString(text, next)
      const key = text.slice(next, end)
      // A key may be written with escapes; compared is what it means.
      isOnPath = key === `"${part}"` || (key.includes("\\") && meaning(key) === part)
      next = afterSpace(text, end)
      if (text.charCodeAt(next) !== colon) return text.length
      next = afterSpace(text, next + 1)
    }
    const end = isOnPath ? find(text, next, path, index + 1, found) : afterValue(text, next)
    // Nothing there where a value should be.
    if (end === next) return text.length
    next = afterSpace(text, end)
  }
  return text.length
}

const meaning = (key: string): unknown => {
  try {
    return JSON.parse(key) as unknown
  } catch {
    return undefined
  }
}

/**
 * The text of an object, a list of objects or an event of a watch with null for `metadata.managedFields`. They are a good part of
 * every object, in many small pieces; nobody here reads them, and no API leaves them out. So they are not even parsed. Nothing else changes:
 * a field of that name elsewhere stays, and what is no JSON stays none.
 */
export const withoutManagedFields = (text: string, holds: keyof typeof paths): string => {
  const found: Array<number> = []
  find(text, afterSpace(text, 0), paths[holds], 0, found)
  if (found.length === 0) return text
  const kept: Array<string> = []
  let from = 0
  for (let i = 0; i < found.length; i += 2) {
    kept.push(text.slice(from, found[i]), "null")
    from = found[i + 1] ?? text.length
  }
  kept.push(text.slice(from))
  return kept.join("")
}
