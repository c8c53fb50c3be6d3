/** How many strings, and how many objects and arrays, are remembered: a power of two. */
const most = 4_096
/** Strings outside these lengths are left alone: V8's parser itself gives shorter ones one place. */
const [shortest, longest] = [11, 128]

type Members = Record<string, unknown>

const mixed = (hash: number, value: number): number => Math.imul(hash ^ value, 0x01000193)
const slotOf = (hash: number): number => (hash ^ (hash >>> 15)) & (most - 1)

/** Whether both have the same members, which have been shared. */
const isSame = (one: Members, other: Members): boolean => {
  let more = 0
  for (const key in one) {
    if (one[key] !== other[key]) return false
    more++
  }
  for (const _ in other) more--
  return more === 0
}
const isSameArray = (one: ReadonlyArray<unknown>, other: ReadonlyArray<unknown>): boolean => {
  for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return false
  return one.length === other.length
}

/**
 * Gives equal parts of parsed JSON one place in memory: most strings of a cluster's objects are in hundreds of them (kinds, namespaces, users,
 * reasons, times), and so are whole owners, finalizers, tolerations. A parser makes each anew; what is met again here is garbage at once, which
 * costs less than to keep it. Tables without chains: what comes later takes the slot.
 */
export class SharedParts {
  readonly #strings = Array.from<string | undefined>({ length: most })
  readonly #arrays = Array.from<ReadonlyArray<unknown> | undefined>({ length: most })
  readonly #objects = Array.from<Members | undefined>({ length: most })
  /** Of what was shared last: its hash, and whether its like was met before, so that what holds it may have been too. */
  #hash = 0
  #isKnown = false

  /** An equal value of the same parts as those before; nobody else may have the given one yet, and nobody may change the result. */
  share(value: unknown): unknown {
    if (typeof value === "string") return this.#shareString(value)
    if (Array.isArray(value)) return this.#shareArray(value)
    if (typeof value === "object" && value !== null) return this.#shareObject(value as Members)
    this.#hash = typeof value === "number" ? value | 0 : value === true ? 1 : 0
    this.#isKnown = true
    return value
  }

  #shareString(text: string): string {
    const { length } = text
    this.#isKnown = length < shortest
    this.#hash = length
    if (length > longest) return text
    let hash = length
    for (let i = 0; i < length; i++) hash = mixed(hash, text.charCodeAt(i))
    this.#hash = hash
    if (this.#isKnown) return text
    const slot = slotOf(hash)
    const known = this.#strings[slot]
    this.#isKnown = known === text
    if (known !== undefined && this.#isKnown) return known
    this.#strings[slot] = text
    return text
  }

  #shareArray(array: Array<unknown>): ReadonlyArray<unknown> {
    const slot = slotOf(this.#shareElements(array))
    if (!this.#isKnown) return array
    const known = this.#arrays[slot]
    if (known !== undefined && isSameArray(known, array)) return known
    this.#arrays[slot] = array
    this.#isKnown = false
    return array
  }

  #shareObject(object: Members): Members {
    const slot = slotOf(this.#shareMembers(object))
    if (!this.#isKnown) return object
    const known = this.#objects[slot]
    if (known !== undefined && isSame(known, object)) return known
    this.#objects[slot] = object
    this.#isKnown = false
    return object
  }

  /** Gives the hash of all, and notes whether all are known. */
  #shareElements(array: Array<unknown>): number {
    let hash = array.length
    let areKnown = true
    for (let i = 0; i < array.length; i++) {
      const shared = this.share(array[i])
      if (this.#isKnown) array[i] = shared
      else areKnown = false
      hash = mixed(hash, this.#hash)
    }
    this.#isKnown = areKnown
    return (this.#hash = hash)
  }

  #shareMembers(members: Members): number {
    let hash = 0
    let areKnown = true
    for (const key in members) {
      const member = members[key]
      const shared = this.share(member)
      if (!this.#isKnown) areKnown = false
      // Writing to an object costs more than asking; a known string is most often another one.
      else if (typeof member === "string" ? member.length >= shortest : member !== shared) members[key] = shared
      hash = mixed(mixed(hash, key.length), this.#hash)
    }
    this.#isKnown = areKnown
    return (this.#hash = hash)
  }
}
