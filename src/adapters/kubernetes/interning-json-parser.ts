/**
 * A JSON parser for the answers of API servers, made to save memory: equal parts become one value. The parser knows
 * where managed fields are and nothing else of Kubernetes.
 */

/** How many parts are remembered: a power of two. */
const most = 4_096
/** Longest parts that are remembered, in bytes; smaller parts inside of longer ones still are. */
const [maxString, maxContainer] = [128, 1_024]
/** Parts deeper than this are left to the platform's parser, which has no limit of depth. */
const deepest = 10

/** In a path: each element of an array. */
const every = null
type Path = ReadonlyArray<string | typeof every>

const object: Path = ["metadata", "managedFields"]
/** The paths of managed fields, by the content of a text: one object, a list of objects, an event of a watch. */
const paths = { object, list: ["items", every, ...object], event: ["object", ...object] } satisfies Readonly<
  Record<string, Path>
>
/** The path of a part that leads to no managed fields. */
const offPath: Path = []

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d]

const isSpace = (code: number): boolean =>
  code <= 0x20 && (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09)
const mixed = (hash: number, code: number): number => ((hash << 5) - hash + code) | 0
const slotOf = (hash: number): number => (hash ^ (hash >>> 15)) & (most - 1)
const empty = Buffer.alloc(0)

/**
 * Parses JSON (in UTF-8) and gives equal parts one place in memory. Most strings of a cluster's objects occur in
 * hundreds of objects (kinds, namespaces, users, reasons, times), and so do whole owners, tolerations and conditions. A
 * part with the same bytes as a remembered part is not parsed again. That saves more than the search costs, and more
 * than the platform's parser gains by being native.
 *
 * `metadata.managedFields` become null. They are a good part of every object, in many small pieces; no code here reads
 * them, and no API leaves them out. Nothing else changes: a field of that name elsewhere stays.
 */
export class InterningJsonParser {
  /**
   * The hash of the last part in each slot. A part is remembered at its second occurrence, so that names and uids do
   * not drive out common parts.
   */
  readonly #hashes = new Int32Array(most)
  readonly #texts = Array.from<Uint8Array>({ length: most }).fill(empty)
  readonly #values = Array.from<unknown>({ length: most })
  #json: Buffer = empty
  #at = 0

  /**
   * Parses one value, which callers must not change. Throws a SyntaxError, which quotes nothing, if the text is not
   * JSON.
   */
  parse(json: Buffer, holds: keyof typeof paths): unknown {
    const values: Array<unknown> = []
    this.parseEach(json, holds, (value) => values.push(value))
    return values.length === 1 ? values[0] : this.#fail()
  }

  /** Parses values that follow one another. If the text breaks off, the values before are still passed on. */
  parseEach(json: Buffer, holds: keyof typeof paths, tell: (value: unknown) => void): void {
    this.#json = json
    this.#at = 0
    try {
      for (this.#skipSpace(); this.#at < json.length; this.#skipSpace()) tell(this.#parseOnPath(paths[holds], 0))
    } finally {
      this.#json = empty
    }
  }

  #fail(): never {
    throw new SyntaxError(`not JSON at byte ${this.#at}`)
  }

  #skipSpace(): void {
    const json = this.#json
    for (let code = json[this.#at]; code !== undefined && isSpace(code); code = json[++this.#at]);
  }

  /** Takes this character if it comes next, after white space. */
  #takes(code: number): boolean {
    if (this.#json[this.#at] !== code) {
      this.#skipSpace()
      if (this.#json[this.#at] !== code) return false
    }
    this.#at++
    return true
  }

  /**
   * Parses the value at the path's `index`-th part. No two objects are equal as a whole, so no remembered part is
   * looked for.
   */
  #parseOnPath(path: Path, index: number): unknown {
    if (index === path.length) {
      const end = this.#endOfValue()
      if (end === this.#at) return this.#fail()
      this.#at = end
      return null
    }
    const code = this.#json[this.#at]
    const isOnPath = path[index] === every ? code === openBracket : code === openBrace
    return isOnPath ? this.#parseMembers(path, index, 0) : this.#parseValue(0)
  }

  #parseMembers(path: Path, index: number, depth: number): unknown {
    return this.#json[this.#at] === openBracket
      ? this.#parseArray(path, index, depth)
      : this.#parseObject(path, index, depth)
  }

  #parseObject(path: Path, index: number, depth: number): unknown {
    const object: Record<string, unknown> = {}
    const part = path[index]
    this.#at++
    if (this.#takes(closeBrace)) return object
    for (;;) {
      this.#skipSpace()
      if (this.#json[this.#at] !== quote) return this.#fail()
      const key = this.#parseString()
      if (!this.#takes(colon)) return this.#fail()
      this.#skipSpace()
      const value = key === part ? this.#parseOnPath(path, index + 1) : this.#parseValue(depth)
      if (key === "__proto__")
        Object.defineProperty(object, key, { value, configurable: true, enumerable: true, writable: true })
      else object[key] = value
      if (this.#takes(comma)) continue
      return this.#takes(closeBrace) ? object : this.#fail()
    }
  }

  #parseArray(path: Path, index: number, depth: number): unknown {
    const array: Array<unknown> = []
    this.#at++
    if (this.#takes(closeBracket)) return array
    for (;;) {
      this.#skipSpace()
      array.push(path[index] === every ? this.#parseOnPath(path, index + 1) : this.#parseValue(depth))
      if (this.#takes(comma)) continue
      return this.#takes(closeBracket) ? array : this.#fail()
    }
  }

  #parseValue(depth: number): unknown {
    const code = this.#json[this.#at]
    if (code === quote) return this.#parseString()
    if (code !== openBrace && code !== openBracket) return this.#parseScalar()
    return depth === deepest ? this.#parseDeepContainer() : this.#parseContainer(depth)
  }

  #parseDeepContainer(): unknown {
    const start = this.#at
    this.#at = this.#endOfValue()
    return this.#parseNatively(start)
  }

  #parseContainer(depth: number): unknown {
    const json = this.#json
    const start = this.#at
    const limit = start + maxContainer
    let hash = 0
    let level = 0
    let end = start
    for (let code = json[end]; code !== undefined && end < limit; code = json[++end]) {
      hash = mixed(hash, code)
      if (code === quote) {
        for (code = json[++end]; code !== undefined && code !== quote && end < limit; code = json[++end]) {
          hash = mixed(hash, code)
          if (code === backslash) end++
        }
      } else if (code === openBrace || code === openBracket) level++
      else if ((code === closeBrace || code === closeBracket) && --level === 0) break
    }
    if (level !== 0) return this.#parseMembers(offPath, 0, depth + 1)
    end++
    const slot = slotOf(hash)
    if (this.#isKnown(slot, start, end)) {
      this.#at = end
      return this.#values[slot]
    }
    const value = this.#parseMembers(offPath, 0, depth + 1)
    this.#met(slot, hash, start, value)
    return value
  }

  #parseString(): string {
    const json = this.#json
    const start = this.#at
    let hash = 0
    let end = start + 1
    let code = json[end]
    for (; code !== undefined && code !== quote; code = json[++end]) {
      hash = mixed(hash, code)
      if (code === backslash) end++
    }
    if (code === undefined) return this.#fail()
    end++
    const slot = slotOf(hash)
    this.#at = end
    if (this.#isKnown(slot, start, end)) return this.#values[slot] as string
    const value = this.#isPlain(start + 1, end - 1)
      ? json.toString("latin1", start + 1, end - 1)
      : (this.#parseNatively(start) as string)
    if (end - start <= maxString) this.#met(slot, hash, start, value)
    return value
  }

  #parseScalar(): unknown {
    const json = this.#json
    const start = this.#at
    let hash = 0
    let end = start
    for (
      let code = json[end];
      code !== undefined && code !== comma && code !== closeBrace && code !== closeBracket && code > 0x20;
      code = json[++end]
    ) {
      hash = mixed(hash, code)
    }
    const slot = slotOf(hash)
    this.#at = end
    if (this.#isKnown(slot, start, end)) return this.#values[slot]
    const value = this.#parseNatively(start)
    this.#met(slot, hash, start, value)
    return value
  }

  /** Parses the part that ends here. Its error is replaced, because the platform's own errors would quote the part. */
  #parseNatively(start: number): unknown {
    try {
      return JSON.parse(this.#json.toString("utf8", start, this.#at))
    } catch {
      return this.#fail()
    }
  }

  /** The end of the next value. */
  #endOfValue(): number {
    const json = this.#json
    let level = 0
    let end = this.#at
    for (let code = json[end]; code !== undefined; code = json[++end]) {
      if (code === quote) {
        for (code = json[++end]; code !== undefined && code !== quote; code = json[++end]) if (code === backslash) end++
      } else if (code === openBrace || code === openBracket) level++
      else if ((code === closeBrace || code === closeBracket) && --level <= 0) return level === 0 ? end + 1 : end
      else if (code === comma && level === 0) return end
    }
    return this.#fail()
  }

  /** Whether these bytes of a string are its characters as they are. */
  #isPlain(start: number, end: number): boolean {
    const json = this.#json
    for (let at = start; at < end; at++) {
      const code = json[at] ?? 0
      if (code === backslash || code < 0x20 || code >= 0x80) return false
    }
    return true
  }

  /** Whether the remembered part of a slot has these bytes. */
  #isKnown(slot: number, start: number, end: number): boolean {
    const json = this.#json
    const text = this.#texts[slot] ?? empty
    const { length } = text
    if (length !== end - start) return false
    for (let i = 0; i < length; i++) if (text[i] !== json[start + i]) return false
    return length > 0
  }

  /** Notes an unknown part that ends here; remembers it at its second occurrence. */
  #met(slot: number, hash: number, start: number, value: unknown): void {
    if (this.#hashes[slot] === hash) {
      this.#texts[slot] = new Uint8Array(this.#json.subarray(start, this.#at))
      this.#values[slot] = value
    } else this.#hashes[slot] = hash
  }
}
