/** docs/operating/client-behaviour.md: each row names a test with the real client that is there. */

import { existsSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { caseNames } from "./case-names.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const page = readFileSync(join(root, "docs/operating/client-behaviour.md"), "utf8")
const rows = page.split("\n").filter((line) => /^\| (?!when |word |\*|---)/u.test(line))
const proof = /\[[^\]]+\]\((\.\.\/\.\.\/test\/[^)]+)\): `([^`]+)`/gu

describe("docs/operating/client-behaviour.md", () => {
  it("names in each row a test that is there", () => {
    expect(rows.length).toBeGreaterThan(10)
    const lost = rows.flatMap((row) => {
      const proofs = [...row.matchAll(proof)]
      if (proofs.length === 0) return [`no test: ${row}`]
      return proofs.flatMap(([, path = "", name = ""]) => {
        const file = relative(root, join(root, "docs/operating", path))
        if (!existsSync(join(root, file))) return [`${file} is not there`]
        return caseNames(readFileSync(join(root, file), "utf8")).includes(name) ? [] : [`${file} has no ${name}`]
      })
    })
    expect(lost).toEqual([])
  })
})
