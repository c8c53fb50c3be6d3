import { readdirSync, readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { fragmentProblem, releaseChangelog } from "../../scripts/release/changelog.mjs"

const folder = new URL("../../changelog.d/", import.meta.url)
const head = "# Changelog\n\nSome words.\n\n"
const old = "## [1.0.0] - 2026-01-01\n\n### Added\n\n- The first.\n"
const fixed = { file: "mistake.md", text: "### Fixed\n\n- A mistake.\n" }
const added = { file: "thing.md", text: "### Added\n\n- A thing,\n  and more of it.\n- Another thing.\n" }
const release = (text: string, fragments = [fixed]) =>
  releaseChangelog(text, { version: "1.1.0", date: "2026-02-03" }, fragments)

describe("the changelog", () => {
  it("gets a section from the files of changelog.d, by kinds", () => {
    expect(release(head + old, [fixed, added, { ...fixed, text: "### Fixed\n\n- One more.\n" }])).toEqual({
      text:
        `${head}## [1.1.0] - 2026-02-03\n\n### Added\n\n- A thing,\n  and more of it.\n- Another thing.\n\n` +
        `### Fixed\n\n- A mistake.\n- One more.\n\n${old}`
    })
  })
  it("gets its first section", () => {
    expect(release(head)).toMatchObject({ text: expect.stringContaining("\n\n## [1.1.0] - 2026-02-03\n") as string })
  })
  it("keeps a section that is there already", () => {
    const text = `${head}## [1.1.0] - 2026-02-02\n\n- This.\n\n${old}`
    expect(release(text, [])).toEqual({ text })
  })
  it("is the same when it is released again", () => {
    const once = release(head + old)
    expect("text" in once && release(once.text, [])).toEqual(once)
  })
  it("takes the version's dots for dots", () => {
    expect(release(`${head}## [1x1.0] - 2026-01-01\n\n- This.\n`)).toMatchObject({
      text: expect.stringContaining("## [1.1.0] - 2026-02-03") as string
    })
  })
  it.each([
    ["nothing waits", head + old, [], "there is no ## [1.1.0], and changelog.d is empty"],
    ["the version's section is empty", `${head}## [1.1.0] - 2026-02-03\n\nSoon.\n\n${old}`, [], "## [1.1.0] is empty"],
    [
      "the version's section has no date",
      `${head}## [1.1.0]\n\n- This.\n\n${old}`,
      [],
      "## [1.1.0] has no date; write ## [1.1.0] - 2026-02-03"
    ],
    [
      "something would stay in changelog.d",
      `${head}## [1.1.0] - 2026-02-03\n\n- This.\n`,
      [fixed],
      "changelog.d has entries although there is ## [1.1.0]"
    ],
    [
      "the version is there twice",
      `${head}## [1.1.0] - 2026-02-03\n\n- This.\n\n## [1.1.0] - 2026-02-03\n\n- That.\n`,
      [],
      "## [1.1.0] is there 2 times"
    ],
    ["entries stand under Unreleased", `${head}## [Unreleased]\n\n- This.\n`, [], "there is ## [Unreleased]"],
    ["a file has no kind", head, [{ ...fixed, text: "- A mistake.\n" }], "mistake.md does not begin with a kind"],
    ["a file has another kind", head, [{ ...fixed, text: "### New\n\n- A mistake.\n" }], "mistake.md does not begin"],
    ["a file has prose", head, [{ ...fixed, text: "### Fixed\n\n- A mistake.\n\nAnd so on.\n" }], "mistake.md has more"]
  ])("is refused when %s", (_, text, fragments, sentence) => {
    expect(release(text, fragments)).toEqual({ problem: expect.stringContaining(sentence) as string })
  })
})

describe("the files of changelog.d", () => {
  it("are entries of a known kind", () => {
    const files = readdirSync(folder).filter((file) => file !== "README.md")
    const problems = files.map((file) =>
      file.endsWith(".md")
        ? fragmentProblem({ file, text: readFileSync(new URL(file, folder), "utf8") })
        : `${file} does not end in .md`
    )
    expect(problems.filter((problem) => problem !== undefined)).toEqual([])
  })
})
