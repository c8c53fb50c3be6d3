// @ts-check
/**
 * Gives a changelog its section for a new version, from the files of changelog.d, each of which is one change. Reads
 * and writes no file.
 */

/**
 * @typedef {{
 *   readonly name: string
 *   readonly date: string | undefined
 *   readonly body: string
 *   readonly start: number
 * }} Section
 *
 * @typedef {{ readonly file: string; readonly text: string }} Fragment
 */

/** Kinds of changes, in the order of a section. The format is that of Keep a Changelog 1.1.0. */
const kinds = ["Added", "Changed", "Removed", "Fixed", "Security"]

/**
 * The sections `## [NAME]` or `## [NAME] - DATE` of a changelog. @param {string} text @returns {ReadonlyArray<Section>}
 */
const sectionsOf = (text) => {
  const headings = [...text.matchAll(/^## \[([^\]\n]*)\](?: - (\S+))?[ \t]*$/gmu)]
  return headings.map(({ 0: heading, 1: name = "", 2: date, index }, at) => ({
    name,
    date,
    body: text.slice(index + heading.length, headings[at + 1]?.index),
    start: index
  }))
}

/** Whether a section says that something changed: an entry of a list. @param {string} body */
const hasEntries = (body) => /^[-*] \S/mu.test(body)

/** A file of changelog.d: its kind, and its entries as a list. @param {Fragment} fragment */
const read = ({ text }) => {
  const [, kind = "", entries = ""] = /^### (\w+)\n\n(- [^]*)$/u.exec(text.trim()) ?? []
  return { kind, entries: entries.trim() }
}

/** The mistake of a file of changelog.d, or `undefined`. @param {Fragment} fragment */
export const fragmentProblem = (fragment) => {
  const { entries, kind } = read(fragment)
  if (!kinds.includes(kind))
    return `${fragment.file} does not begin with a kind and a list; write ### Added, a blank line, and - what changed`
  return entries.split("\n").every((line) => /^(?:- \S| {2}\S)/u.test(line))
    ? undefined
    : `${fragment.file} has more than a list of entries; begin each with "- ", and indent what follows by two`
}

/** The body of a section. @param {ReadonlyArray<Fragment>} fragments */
const bodyOf = (fragments) =>
  kinds.flatMap((kind) => {
    const entries = fragments.map(read).filter((fragment) => fragment.kind === kind)
    return entries.length === 0 ? [] : [`### ${kind}\n\n${entries.map((entry) => entry.entries).join("\n")}\n`]
  })

/**
 * The changelog with a section for this version: the section that is there, or else one made from the files of
 * changelog.d.
 *
 * @param {string} text
 * @param {{ readonly version: string; readonly date: string }} release the date as 2026-01-31
 * @param {ReadonlyArray<Fragment>} fragments
 * @returns {{ readonly text: string } | { readonly problem: string }}
 */
export const releaseChangelog = (text, { date, version }, fragments) => {
  const sections = sectionsOf(text)
  const named = sections.filter(({ name }) => name === version)
  const own = named[0]
  const mistakes = fragments.flatMap((fragment) => fragmentProblem(fragment) ?? [])
  if (mistakes.length > 0) return { problem: mistakes.join("; ") }
  if (sections.some(({ name }) => name === "Unreleased"))
    return { problem: "there is ## [Unreleased]; give each of its entries a file in changelog.d" }
  if (named.length > 1) return { problem: `## [${version}] is there ${named.length} times; leave one` }
  if (own !== undefined) {
    if (!hasEntries(own.body)) return { problem: `## [${version}] is empty; write what changed, as a list` }
    if (own.date === undefined) return { problem: `## [${version}] has no date; write ## [${version}] - ${date}` }
    if (fragments.length > 0)
      return { problem: `changelog.d has entries although there is ## [${version}]; move them there` }
    return { text }
  }
  if (fragments.length === 0)
    return { problem: `there is no ## [${version}], and changelog.d is empty; write a file there for each change` }
  const start = sections[0]?.start ?? text.length
  const section = [`## [${version}] - ${date}\n`, ...bodyOf(fragments)].join("\n")
  const rest = text.slice(start)
  return { text: `${text.slice(0, start).trimEnd()}\n\n${section}${rest === "" ? "" : `\n${rest}`}` }
}
