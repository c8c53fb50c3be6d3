import { existsSync, readdirSync, readFileSync } from "node:fs"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"

/**
 * Comments, strings and pages cite rules as "name.md", section sign, number. A number is a heading of that page of
 * `docs`, or a paragraph that begins with it in bold. The sign itself is not written in this file: it would be a
 * citation.
 */

const root = fileURLToPath(new URL("../..", import.meta.url))
const read = (path: string): string => readFileSync(join(root, path), "utf8")
const below = (folder: string, kind: RegExp): ReadonlyArray<string> =>
  existsSync(join(root, folder))
    ? readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
        .filter((name) => kind.test(name) && !name.includes("node_modules"))
        .map((name) => join(folder, name))
    : []

const pages = below("docs", /\.md$/u)
const sources = ["src", "lab", "test", "scripts"].flatMap((folder) => below(folder, /\.(?:ts|mjs)$/u))

/**
 * In the order of the page: its headings with a number, and its paragraphs, items and rows that begin with a bold one.
 */
const numbersOf = (page: string): ReadonlyArray<string> =>
  [...read(page).matchAll(/^(?:#+ (\d{1,2}(?:\.\d+)?)\.? | *(?:[-*|] )?\*\*(\d{1,2}(?:\.\d+)?)\*\*)/gmu)].map(
    ([, heading, bold]) => heading ?? bold ?? ""
  )
const numbered = new Map(pages.map((page) => [basename(page), numbersOf(page)]))

/** Citations of these are of the outside world and not looked up. */
const outside = /^(?:RFC \d+|semver\.org)$/u
const documents = /[\w-]+\.md|RFC \d+|semver\.org/gu
/** One or more signs with their numbers, with the name before them if there is one; a kebab name lacks its `.md`. */
const citations =
  /(?:([\w-]+\.md|RFC \d+|semver\.org|[a-z]+(?:-[a-z]+)+)`?,? )?(\u00a7\S*(?:(?:,| and| to|;) \u00a7\S*)*)/gu

/** Texts that belong together: the lines of one comment, each string, or what stands outside of them. */
const unitsOfSource = (text: string): ReadonlyArray<string> => {
  const units: Array<string> = []
  let comment = ""
  for (const line of text.split("\n")) {
    if (/^\s*(?:\/\*|\*|\/\/)/u.test(line)) {
      comment += ` ${line.replace(/^\s*(?:\/\*+|\*|\/\/)\s*/u, "")}`
      if (!line.includes("*/")) continue
    } else units.push(...line.split(/["`]/u))
    units.push(comment)
    comment = ""
  }
  return [...units, comment]
}

/** Paragraphs, items and rows. */
const unitsOfPage = (text: string): ReadonlyArray<string> =>
  text.split(/\n\s*\n|\n(?=\s*(?:[-*] |\|))/u).map((unit) => unit.replaceAll(/\s+/gu, " "))

interface Citation {
  readonly file: string
  readonly document: string | undefined
  readonly number: string
  readonly unit: string
}

/** In a page with numbers a sign without a name is about that page; elsewhere about the document named last. */
const citationsOf = (file: string): ReadonlyArray<Citation> => {
  const isPage = file.endsWith(".md")
  const self = isPage && numbersOf(file).length > 0 ? basename(file) : undefined
  // Regular expressions write a name as `name\.md`.
  return (isPage ? unitsOfPage : unitsOfSource)(read(file).replaceAll(String.raw`\.`, ".")).flatMap((unit) =>
    [...unit.matchAll(citations)].flatMap((match) => {
      const [, name, signs = ""] = match
      const document = name ?? self ?? unit.slice(0, match.index).match(documents)?.at(-1)
      return signs
        .split("\u00a7")
        .slice(1)
        .map((rest) => ({
          file,
          document,
          number: /^\d+(?:\.\d+)*/u.exec(rest)?.[0] ?? "",
          unit: unit.trim().slice(0, 160)
        }))
    })
  )
}

const cited = [...sources, ...pages].flatMap(citationsOf)

describe("citations", () => {
  it("are found at all", () => {
    expect(cited.length).toBeGreaterThan(100)
  })

  it("name their document before the section sign", () => {
    expect(cited.filter(({ document }) => document === undefined)).toEqual([])
  })

  it("lead to a number of a page of docs", () => {
    const lost = cited.filter(
      ({ document, number }) =>
        document !== undefined && !outside.test(document) && numbered.get(document)?.includes(number) !== true
    )
    expect(lost).toEqual([])
  })
})

/** The number that follows, in the same section or as the next one. */
const follows = (before: string, number: string): boolean => {
  const [section = 0, item = 0] = before.split(".").map(Number)
  return number === `${section + 1}` || number === `${section}.${item + 1}`
}

describe.each(pages.filter((page) => numbersOf(page).length > 0))("the numbers of %s", (page) => {
  it("are consecutive, each given once", () => {
    const numbers = numbersOf(page)
    expect(numbers.filter((number, at) => !follows(numbers[at - 1] ?? "0", number))).toEqual([])
  })
})
