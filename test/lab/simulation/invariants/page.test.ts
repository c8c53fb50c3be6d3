/**
 * Compares docs/concepts/failures.md with the invariants: every rule of its sections 1 to 3 has the words that a broken
 * story prints.
 */

import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { invariants } from "../../../../lab/simulation/invariants/invariants.ts"

const page = readFileSync(fileURLToPath(new URL("../../../../docs/concepts/failures.md", import.meta.url)), "utf8")

/** The paragraphs that begin with a number in bold and an invariant's code, as one line each, by code. */
const rules: ReadonlyMap<string, string> = new Map(
  page.split(/\n\s*\n/u).flatMap((paragraph) => {
    const [, code, text] =
      /^\*\*[123]\.\d+\*\* ([SLNT](?:-B)?\d+|ledger)\. (.*)$/u.exec(paragraph.trim().replaceAll("\n", " ")) ?? []
    return code === undefined || text === undefined ? [] : [[code, text]]
  })
)

/** The page may cite failures in a bracket before the full stop of the sentence. */
const withoutCitations = (text: string): string => text.replaceAll(/ \([^)]*\u00a7[^)]*\)/gu, "")

describe("docs/concepts/failures.md", () => {
  it("has a rule for each invariant, and no other", () => {
    expect([...rules.keys()].toSorted()).toEqual(invariants.map(({ id }) => id).toSorted())
  })

  it.each(invariants.map(({ id, sentence }) => [id, sentence] as const))(
    "quotes the sentence of %s",
    (id, sentence) => {
      expect(withoutCitations(rules.get(id) ?? "").startsWith(sentence)).toBe(true)
    }
  )
})
