/** In a path: each element of an array. */
const every = Symbol("every element")
interface Key {
  readonly name: string
  /** As JSON is usually written. */
  readonly written: Uint8Array
}
type Path = ReadonlyArray<Key | typeof every>

const key = (name: string): Key => ({ name, written: Buffer.from(JSON.stringify(name)) })
const object: Path = ["metadata", "managedFields"].map(key)
/** Where managed fields are, by what a text holds: one object, a list of them, an event of a watch. */
const paths = { object, list: [key("items"), every, ...object], event: [key("object"), ...object] } satisfies Readonly<Record<string, Path>>

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d]

const afterSpace = (json: Buffer, at: number): number => {
  let end = at
  for (let code = json[end]; code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09; code = json[++end]);
  return end
}

/** Where the string ends that begins at `at`. */
const afterString = (json: Buffer, at: number, length: number): number => {
  for (let end = at + 1; end < length; end++) {
    const code = json[end]
    if (code === quote) return end + 1
    if (code === backslash) end++
  }
  return length
}

/** Where the object or array ends that begins at `at`. Most bytes of all go by here. */
const afterContainer = (json: Buffer, at: number, length: number): number => {
  let depth = 0
  for (let end = at; end < length; end++) {
    const code = json[end]
    if (code === quote) end = afterString(json, end, length) - 1
    else if (code === openBrace || code === openBracket) depth++
    else if ((code === closeBrace || code === closeBracket) && --depth === 0) return end + 1
  }
  return length
}

/** Where the value ends that begins at `at`. */
const afterValue = (json: Buffer, at: number, length: number): number => {
  const first = json[at]
  if (first === quote) return afterString(json, at, length)
  if (first === openBrace || first === openBracket) return afterContainer(json, at, length)
  for (let end = at; end < length; end++) {
    const code = json[end]
    if (code === comma || code === closeBrace || code === closeBracket) return end
  }
  return length
}

/** Whether the string there is the key. It may be written with escapes; compared is what it means. */
const isKey = (json: Buffer, start: number, end: number, { name, written }: Key): boolean => {
  let isSame = end - start === written.length
  for (let at = start; at < end; at++) {
    const code = json[at]
    if (code === backslash) return meaning(json.toString("utf8", start, end)) === name
    isSame &&= code === written[at - start]
  }
  return isSame
}

/**
 * Notes start and end of every value at the path, from its `index`-th part on, in the value that begins at `at`; gives where that ends. Where
 * there can only be one, what comes after it is not looked at. What is no JSON ends somewhere, and the parser says so.
 */
const find = (json: Buffer, at: number, path: Path, index: number, found: Array<number>): number => {
  const { length } = json
  const part = path[index]
  if (part === undefined) {
    const end = afterValue(json, at, length)
    if (end > at) found.push(at, end)
    return path.includes(every) ? end : length
  }
  const isArray = part === every
  if (json[at] !== (isArray ? openBracket : openBrace)) return afterValue(json, at, length)
  for (let next = afterSpace(json, at + 1); next < length; ) {
    const code = json[next]
    if (code === closeBrace || code === closeBracket) return next + 1
    if (code === comma) {
      next = afterSpace(json, next + 1)
      continue
    }
    let isOnPath = isArray
    if (!isArray) {
      const end = afterString(json, next, length)
      isOnPath = isKey(json, next, end, part)
      next = afterSpace(json, end)
      if (json[next] !== colon) return length
      next = afterSpace(json, next + 1)
    }
    const end = isOnPath ? find(json, next, path, index + 1, found) : afterValue(json, next, length)
    // Nothing there where a value should be.
    if (end === next) return length
    next = afterSpace(json, end)
  }
  return length
}

const meaning = (key: string): unknown => {
  try {
    return JSON.parse(key) as unknown
  } catch {
    return undefined
  }
}

/**
 * The text of an object, a list of objects or an event of a watch (JSON in UTF-8) with null for `metadata.managedFields`. They are a good part
 * of every object, in many small pieces; nobody here reads them, and no API leaves them out. So they are not even decoded. Nothing else
 * changes: a field of that name elsewhere stays, and what is no JSON stays none.
 */
export const withoutManagedFields = (json: Buffer, holds: keyof typeof paths): string => {
  const found: Array<number> = []
  find(json, afterSpace(json, 0), paths[holds], 0, found)
  let text = ""
  let from = 0
  for (let i = 0; i < found.length; i += 2) {
    text += `${json.toString("utf8", from, found[i])}null`
    from = found[i + 1] ?? json.length
  }
  return text + json.toString("utf8", from)
}
