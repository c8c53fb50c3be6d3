// @ts-check
/**
 * Gives a changelog its section for a new version, from its section "Unreleased". Reads and writes no file.
 */

/**
 * @typedef {{
 *   readonly heading: string
 *   readonly name: string
 *   readonly date: string | undefined
 *   readonly body: string
 *   readonly start: number
 * }} Section
 */

/**
 * The sections `## [NAME]` or `## [NAME] - DATE` of a changelog. @param {string} text @returns {ReadonlyArray<Section>}
 */
const sectionsOf = (text) => {
  const headings = [...text.matchAll(/^## \[([^\]\n]*)\](?: - (\S+))?[ \t]*$/gmu)]
  return headings.map(({ 0: heading, 1: name = "", 2: date, index }, at) => ({
    heading,
    name,
    date,
    body: text.slice(index + heading.length, headings[at + 1]?.index),
    start: index
  }))
}

/** Whether a section says that something changed: an entry of a list. @param {string} body */
const hasEntries = (body) => /^[-*] \S/mu.test(body)

/**
 * The changelog with a section for this version: the section that is there, or else the one called "Unreleased" until
 * now. The format is that of Keep a Changelog 1.1.0.
 *
 * @param {string} text @param {string} version @param {string} date as 2026-01-31
 * @returns {{ readonly text: string } | { readonly problem: string }}
 */
export const releaseChangelog = (text, version, date) => {
  const sections = sectionsOf(text)
  const named = sections.filter(({ name }) => name === version)
  const own = named[0]
  const unreleased = sections.find(({ name }) => name === "Unreleased")
  const waiting = unreleased !== undefined && hasEntries(unreleased.body)
  if (named.length > 1) return { problem: `## [${version}] is there ${named.length} times; leave one` }
  if (own !== undefined) {
    if (!hasEntries(own.body)) return { problem: `## [${version}] is empty; write what changed, as a list` }
    if (own.date === undefined) return { problem: `## [${version}] has no date; write ## [${version}] - ${date}` }
    if (waiting) return { problem: `## [Unreleased] has entries although there is ## [${version}]; move them there` }
    return { text }
  }
  if (unreleased === undefined)
    return { problem: `there is neither ## [${version}] nor ## [Unreleased]; write one, with what changed as a list` }
  if (!waiting) return { problem: "## [Unreleased] is empty; write what changed, as a list" }
  const { heading, start } = unreleased
  return {
    text: `${text.slice(0, start)}## [Unreleased]\n\n## [${version}] - ${date}${text.slice(start + heading.length)}`
  }
}
