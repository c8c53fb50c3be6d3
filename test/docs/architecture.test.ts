import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"

const root = fileURLToPath(new URL("../..", import.meta.url))
const read = (path: string): string => readFileSync(join(root, path), "utf8")
const pages = [
  ...readdirSync(root).filter((name) => name.endsWith(".md")),
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`)
]

/** The headings of a page as links name them. */
const anchorsOf = (page: string): ReadonlyArray<string> =>
  [...read(page).matchAll(/^#+ (.+)$/gmu)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w\- ]/gu, "")
      .replaceAll(" ", "-")
  )

interface Link {
  readonly text: string
  /** From the project's root. */
  readonly file: string
  /** Missing: the link is to the file as a whole. */
  readonly line: number | undefined
}

/** `[text](path#L12)`; links to other sites are not ours to check. */
const linkPattern = /\[([^\][]+)\]\((?![a-z]+:|#)([^)#\s]+)(?:#(?:L(\d+))?[^)\s]*)?\)/gu

const toLink = (page: string, [, text = "", path = "", line]: ReadonlyArray<string | undefined>): Link => ({
  text: text.replaceAll("`", ""),
  file: relative(root, join(root, dirname(page), path)),
  line: line === undefined ? undefined : Number(line)
})
const linksOf = (page: string): ReadonlyArray<Link> =>
  [...read(page).matchAll(linkPattern)].map((match) => toLink(page, match))

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/gu, String.raw`\$&`)

/** The line that a link should name: the one that declares the identifier, or one that mentions it; from 1. */
const lineOf = ({ file, line, text }: Link): number | undefined => {
  const lines = read(file).split("\n")
  const numbers = (pattern: RegExp): ReadonlyArray<number> =>
    lines.flatMap((content, index) => (pattern.test(content) ? [index + 1] : []))
  const declared = numbers(
    new RegExp(String.raw`\b(?:const|function|class|interface|type|let) ${escaped(text)}(?!\w)`, "u")
  )
  if (declared.length === 1) return declared[0]
  const mentioned = numbers(new RegExp(String.raw`(?<!\w)${escaped(text)}(?!\w)`, "u"))
  return line !== undefined && mentioned.includes(line) ? line : mentioned[0]
}

/** The page with the line numbers of its links as they should be. */
const pinned = (page: string): string =>
  read(page).replaceAll(linkPattern, (whole: string, ...groups: ReadonlyArray<string | undefined>) => {
    const link = toLink(page, [whole, ...groups.slice(0, 3)])
    const line = link.line === undefined || !existsSync(join(root, link.file)) ? undefined : lineOf(link)
    return line === undefined ? whole : whole.replace(/#L\d+/u, `#L${line}`)
  })

describe.each(pages)("%s", (page) => {
  it("links only to files that exist", () => {
    expect(linksOf(page).filter(({ file }) => !existsSync(join(root, file)))).toEqual([])
  })

  it("links only to headings that exist", () => {
    const lost = [...read(page).matchAll(/\]\(([^():#\s]*)#(?!L\d)([^)\s]+)\)/gu)].filter(
      ([, path = "", anchor = ""]) => {
        const file = path === "" ? page : join(dirname(page), path)
        return file.endsWith(".md") && existsSync(join(root, file)) && !anchorsOf(file).includes(anchor)
      }
    )
    expect(lost.map(([link]) => link)).toEqual([])
  })

  it("names only identifiers that the linked files hold", () => {
    const lost = linksOf(page).filter(
      (link) => link.line !== undefined && existsSync(join(root, link.file)) && lineOf(link) === undefined
    )
    expect(lost).toEqual([])
  })

  // Moved by an edit? `npx vitest run test/docs -u` puts the numbers right.
  it("names the lines where they stand", async () => {
    await expect(pinned(page)).toMatchFileSnapshot(join(root, page))
  })
})

describe("docs/concepts/architecture.md", () => {
  it("answers its questions, each with a line of src", () => {
    const [, answers = ""] = read("docs/concepts/architecture.md").split("## Where is it decided that")
    const [table = ""] = answers.split("\n## ")
    const rows = table.split("\n").filter((row) => /^\| \d/u.test(row))
    expect(rows.map((row) => Number(/^\| (\d+)/u.exec(row)?.[1]))).toEqual(
      Array.from({ length: rows.length }, (_, index) => index + 1)
    )
    expect(rows.length).toBeGreaterThan(20)
    for (const row of rows) expect(row).toMatch(/\]\(\.\.\/\.\.\/src\/[^)]+#L\d+\)/u)
  })
})
