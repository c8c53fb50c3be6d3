// @ts-check
/**
 * Reads regular expressions of JavaScript, to find those whose time grows faster than the text: by their form, for the
 * linter, and by the texts that would show it, for a test.
 *
 * Not here: the full grammar. Flag `v` and inline flags are not read.
 */

/**
 * One step of a sequence: an atom, and how often it comes. A set is given by the source that matches one character of
 * it.
 *
 * @typedef {{ readonly atom: Atom; readonly min: number; readonly max: number }} Item
 *
 * @typedef {{ readonly kind: "set"; readonly source: string }
 *   | { readonly kind: "group"; readonly branches: ReadonlyArray<ReadonlyArray<Item>> }
 *   | { readonly kind: "look"; readonly branches: ReadonlyArray<ReadonlyArray<Item>> }
 *   | { readonly kind: "edge"; readonly source: string }
 *   | { readonly kind: "reference" }} Atom
 *
 * @typedef {{ readonly branches: ReadonlyArray<ReadonlyArray<Item>>; readonly flags: string }} Expression
 */

const escapePart =
  /^\\(?:u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|[pP]\{[^}]*\}|k<[^>]*>|[1-9]\d*|[^])/u
const quantifier = /^(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/u
const groupStart = /^\((?:\?(?:[:=!]|<[=!]|<[^>]*>))?/u

/** @param {string} text */
const bounds = (text) => {
  const [, least, comma, most] = quantifier.exec(text) ?? []
  if (text.startsWith("*")) return { min: 0, max: Infinity }
  if (text.startsWith("+")) return { min: 1, max: Infinity }
  if (text.startsWith("?")) return { min: 0, max: 1 }
  const min = Number(least)
  if (comma === "") return { min, max: min }
  return { min, max: most === "" ? Infinity : Number(most) }
}

/** @param {string} pattern */
const classEnd = (pattern, /** @type {number} */ from) => {
  let at = from + 1
  while (at < pattern.length && pattern[at] !== "]") at += pattern[at] === "\\" ? 2 : 1
  return at + 1
}

/**
 * @param {string} pattern
 * @param {string} flags
 * @returns {Expression}
 */
export const readExpression = (pattern, flags) => {
  let at = 0
  const isGroup = () => at < pattern.length && pattern[at] !== ")"

  /** @returns {Atom} */
  const readAtom = () => {
    const char = pattern[at] ?? ""
    if (char === "(") {
      const start = groupStart.exec(pattern.slice(at))?.[0] ?? "("
      at += start.length
      const branches = readBranches()
      at++
      return { kind: /^\(\?<?[=!]$/u.test(start) ? "look" : "group", branches }
    }
    if (char === "[") {
      const end = classEnd(pattern, at)
      const source = pattern.slice(at, end)
      at = end
      return { kind: "set", source }
    }
    const source = char === "\\" ? (escapePart.exec(pattern.slice(at))?.[0] ?? char) : char
    at += source.length
    if (/^[$^]$|^\\[bB]$/u.test(source)) return { kind: "edge", source }
    return /^\\(?:[1-9]|k<)/u.test(source) ? { kind: "reference" } : { kind: "set", source }
  }

  /** @returns {ReadonlyArray<Item>} */
  const readSequence = () => {
    /** @type {Item[]} */
    const items = []
    while (isGroup() && pattern[at] !== "|") {
      const atom = readAtom()
      const times = quantifier.exec(pattern.slice(at))?.[0]
      at += times?.length ?? 0
      items.push({ atom, ...(times === undefined ? { min: 1, max: 1 } : bounds(times)) })
    }
    return items
  }

  /** @returns {ReadonlyArray<ReadonlyArray<Item>>} */
  const readBranches = () => {
    const branches = [readSequence()]
    while (pattern[at] === "|") {
      at++
      branches.push(readSequence())
    }
    return branches
  }

  return { branches: readBranches(), flags }
}

/** Characters by which sets are compared: letters first, then all of ASCII and some of each other sort. */
const samples = [
  ..."aAzZ09-",
  ...Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)),
  ..."\u0085\u00e4\u00d6\u0416\u2028\u202e\ufeff\u{1f389}\ud800"
]

/**
 * The samples that a set matches.
 *
 * @param {string} source
 * @param {string} flags
 */
const membersOf = (source, flags) => {
  const one = new RegExp(`^(?:${source})$`, flags.replaceAll(/[gym]/gu, ""))
  return samples.filter((sample) => one.test(sample))
}

/** @param {Atom} atom */
const branchesOf = (atom) => (atom.kind === "group" || atom.kind === "look" ? atom.branches : [])

/**
 * @param {ReadonlyArray<Item>} items
 * @returns {boolean}
 */
const isUnbounded = (items) =>
  items.some(({ atom, max }) => max === Infinity || branchesOf(atom).some((branch) => isUnbounded(branch)))

/**
 * The sets in a sequence that come without a bound, however deep.
 *
 * @param {ReadonlyArray<Item>} items
 * @returns {ReadonlyArray<string>}
 */
const unboundedSets = (items) =>
  items.flatMap(({ atom, max }) => {
    if (atom.kind !== "set") return branchesOf(atom).flatMap(unboundedSets)
    return max === Infinity ? [atom.source] : []
  })

/**
 * @param {string} one
 * @param {string} other
 * @param {string} flags
 */
const overlap = (one, other, flags) => {
  const members = new Set(membersOf(one, flags))
  return membersOf(other, flags).some((member) => members.has(member))
}

/**
 * Whether each round of a repeated branch begins with a character that none of its own repetitions can take, so that a
 * text can be divided into rounds in one way only.
 *
 * @param {ReadonlyArray<Item>} branch
 * @param {string} flags
 */
const beginsApart = (branch, flags) => {
  const [first] = branch
  if (first?.atom.kind !== "set" || first.min !== 1 || first.max !== 1) return false
  const { source } = first.atom
  return unboundedSets(branch).every((set) => !overlap(source, set, flags))
}

/**
 * @param {ReadonlyArray<Item>} items
 * @param {string} flags
 * @returns {string | undefined}
 */
const nestedProblem = (items, flags) => {
  for (const { atom, max } of items) {
    if (atom.kind === "reference") return "it refers back to a group"
    for (const branch of branchesOf(atom)) {
      if (max === Infinity && isUnbounded(branch) && !beginsApart(branch, flags)) return "a repetition is repeated"
      const inner = nestedProblem(branch, flags)
      if (inner !== undefined) return inner
    }
  }
  return undefined
}

/**
 * Repetitions that can share their characters: `open` holds the sets of those that came before, as far as nothing
 * stands between that they cannot take. Returns the sets that are open at the end.
 *
 * @param {ReadonlyArray<Item>} items
 * @param {ReadonlyArray<string>} open
 * @param {string} flags
 * @returns {ReadonlyArray<string> | undefined} `undefined`: two do share characters.
 */
const openSets = (items, open, flags) => {
  /** @type {ReadonlyArray<string>} */
  let sets = open
  for (const { atom, max, min } of items) {
    if (atom.kind === "set") {
      const { source } = atom
      const shares = sets.filter((set) => overlap(set, source, flags))
      if (max === Infinity && shares.length > 0) return undefined
      if (min > 0) sets = shares
      if (max === Infinity) sets = [...sets, source]
    } else if (atom.kind === "group") {
      const ends = atom.branches.map((branch) => openSets(branch, sets, flags))
      if (ends.includes(undefined)) return undefined
      sets = [...new Set([...(min === 0 ? sets : []), ...ends.flatMap((end) => end ?? [])])]
    }
  }
  return sets
}

/** @param {ReadonlyArray<Item>} items */
const isAnchored = ([first], /** @type {string} */ flags) =>
  flags.includes("y") || (first?.atom.kind === "edge" && first.atom.source === "^" && !flags.includes("m"))

/** Whether something that may be missing in the text follows a repetition. @param {ReadonlyArray<Item>} items */
const failsAfterRepetition = (items) => {
  const at = items.findIndex((item) => isUnbounded([item]))
  if (at === -1) return false
  return at < items.length - 1 || items[at]?.atom.kind !== "set"
}

/**
 * Why the time of an expression may grow faster than the text, if it may. The check knows forms only, and refuses some
 * that are linear; those can be written otherwise.
 *
 * @param {string} pattern
 * @param {string} flags
 * @returns {string | undefined}
 */
export const growthProblem = (pattern, flags) => {
  if (flags.includes("v")) return "flag v is not known to this check"
  const { branches } = readExpression(pattern, flags)
  for (const branch of branches) {
    const nested = nestedProblem(branch, flags)
    if (nested !== undefined) return nested
    if (openSets(branch, [], flags) === undefined) return "two repetitions can share the same characters"
    if (!isAnchored(branch, flags) && failsAfterRepetition(branch))
      return "it does not begin with ^, and something follows a repetition: each place of the text is tried as a start"
  }
  return undefined
}

/**
 * A shortest text that a sequence matches, without its edges.
 *
 * @param {ReadonlyArray<Item>} items
 * @param {string} flags
 * @returns {string}
 */
const sampleOf = (items, flags) =>
  items
    .map(({ atom, max, min }) => {
      if (atom.kind === "set") return (membersOf(atom.source, flags)[0] ?? "").repeat(Math.max(min, Math.min(max, 1)))
      return atom.kind === "group" ? sampleOf(atom.branches[0] ?? [], flags) : ""
    })
    .join("")

/**
 * @param {ReadonlyArray<Item>} items
 * @returns {ReadonlyArray<ReadonlyArray<Item>>}
 */
const sequencesIn = (items) => [
  items,
  ...items.flatMap(({ atom }) => branchesOf(atom).flatMap((branch) => sequencesIn(branch)))
]

/** The parts of a text that makes an expression slow: `before`, then `repeated` many times, then `after`. */
/** @typedef {{ readonly before: string; readonly repeated: string; readonly after: string }} Attack */

/**
 * Texts that would make a bad expression slow: runs of each of its characters and of its beginnings, behind nothing,
 * something strange or one of its beginnings, with an end that does not fit.
 *
 * @param {string} pattern
 * @param {string} flags
 * @returns {ReadonlyArray<Attack>}
 */
export const attacksOn = (pattern, flags) => {
  const sequences = readExpression(pattern, flags).branches.flatMap((branch) => sequencesIn(branch))
  const chars = sequences.flatMap((items) =>
    items.flatMap(({ atom }) => (atom.kind === "set" ? membersOf(atom.source, flags).slice(0, 2) : []))
  )
  // Before and behind each repetition, and whole.
  const beginnings = sequences.flatMap((items) => {
    const cuts = items.flatMap((item, index) => (isUnbounded([item]) ? [index, index + 1] : []))
    return [...cuts, items.length].map((cut) => sampleOf(items.slice(0, cut), flags))
  })
  const pairs = chars.flatMap((one, index) => chars.slice(index + 1, index + 3).map((other) => `${one}${other}`))
  const repeated = [...new Set([...beginnings, ...chars, ...pairs])].filter((text) => text !== "").slice(0, 20)
  const before = ["", "\u0000", ...new Set(beginnings)].slice(0, 5)
  return before.flatMap((start) =>
    repeated.flatMap((text) => ["\u0000", "\n"].map((after) => ({ before: start, repeated: text, after })))
  )
}
