/** How many strings are remembered, and how long they may be. */
const most = 4_096
const longest = 128

/**
 * Gives equal strings of parsed JSON one place in memory: most strings of a cluster's objects are in hundreds of them (kinds, namespaces,
 * users, reasons, times), and a parser makes each anew.
 */
export class StringPool {
  readonly #known = new Map<string, string>()

  #share(text: string): string {
    if (text.length > longest) return text
    const known = this.#known.get(text)
    if (known !== undefined) return known
    // What is common is soon known again.
    if (this.#known.size >= most) this.#known.clear()
    this.#known.set(text, text)
    return text
  }

  /** The same value; its strings are replaced in place, so nobody else may have it yet. */
  shareIn<T>(value: T): T {
    if (typeof value !== "object" || value === null) return value
    const members = value as Record<string, unknown>
    for (const key of Object.keys(members)) {
      const member = members[key]
      if (typeof member === "string") members[key] = this.#share(member)
      else this.shareIn(member)
    }
    return value
  }
}
