import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"

const root = fileURLToPath(new URL("../..", import.meta.url))
const markdownIn = (folder: string, recursive = false): ReadonlyArray<string> =>
  readdirSync(join(root, folder), { encoding: "utf8", recursive })
    .filter((name) => name.endsWith(".md"))
    .map((name) => join(folder, name))
/** Pages that people write; docs/reference/routing.md is printed from the routing table. */
const pages = [
  ...markdownIn("."),
  ...["docs", "lab"].flatMap((folder) => markdownIn(folder, true)),
  ...markdownIn("charts/mirrord-operator")
].filter((page) => page !== "docs/reference/routing.md")

interface Line {
  readonly number: number
  readonly text: string
}

/** The lines of a page without code, tables, headings and comments. */
const proseOf = (page: string): ReadonlyArray<Line> => {
  let isCode = false
  return readFileSync(join(root, page), "utf8")
    .split("\n")
    .flatMap((text, index) => {
      const isFence = text.trimStart().startsWith("```")
      if (isFence) isCode = !isCode
      return isFence || isCode || /^(?:\||#|<!--)/u.test(text) ? [] : [{ number: index + 1, text }]
    })
}

const longest = 120
/** The words that comments may not have either (scripts/lint-house.mjs). */
const vague = /\b(?:somebody|nobody|anybody|told of|tells? of|anew)\b|[;,.] nothing: /iu
const startsHard = /(?:^|[.:;?!] |^\* |^\d+\. )(?:\*\*)?(?:Who|What|Whoever|Whatever|Whose)\b/u

describe.each(pages)("%s", (page) => {
  it(`has no prose line of more than ${longest} columns`, () => {
    expect(proseOf(page).filter(({ text }) => text.length > longest)).toEqual([])
  })
  it("names the actor and the thing", () => {
    expect(proseOf(page).filter(({ text }) => vague.test(text) && !text.includes('"somebody"'))).toEqual([])
  })
  it("begins no sentence with Who or What", () => {
    expect(proseOf(page).filter(({ text }) => startsHard.test(text) && !text.includes("?"))).toEqual([])
  })
})
