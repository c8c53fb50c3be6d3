import { describe, expect, it } from "vitest"
import { releaseChangelog } from "../../scripts/release/changelog.mjs"

const head = "# Changelog\n\nSome words.\n\n"
const old = "## [1.0.0] - 2026-01-01\n\n### Added\n\n- The first.\n"
const entries = "\n### Fixed\n\n- A mistake.\n\n"
const release = (text: string) => releaseChangelog(text, "1.1.0", "2026-02-03")

describe("the changelog", () => {
  it("turns what is unreleased into the version's section", () => {
    expect(release(`${head}## [Unreleased]\n${entries}${old}`)).toEqual({
      text: `${head}## [Unreleased]\n\n## [1.1.0] - 2026-02-03\n${entries}${old}`
    })
  })
  it("keeps a section that is there already", () => {
    const text = `${head}## [Unreleased]\n\n## [1.1.0] - 2026-02-02\n${entries}${old}`
    expect(release(text)).toEqual({ text })
    expect(release(text.replace("## [Unreleased]\n\n", ""))).toEqual({ text: text.replace("## [Unreleased]\n\n", "") })
  })
  it("is the same when it is released again", () => {
    const once = release(`${head}## [Unreleased]\n${entries}${old}`)
    expect("text" in once && release(once.text)).toEqual(once)
  })
  it("takes the version's dots for dots", () => {
    expect(release(`${head}## [Unreleased]\n${entries}## [1x1.0] - 2026-01-01\n${entries}`)).toMatchObject({
      text: expect.stringContaining("## [1.1.0] - 2026-02-03") as string
    })
  })
  it.each([
    ["nothing is unreleased", `${head}## [Unreleased]\n\n### Added\n\n${old}`, "## [Unreleased] is empty"],
    ["there is no section at all", `${head}${old}`, "there is neither ## [1.1.0] nor ## [Unreleased]"],
    ["the version's section is empty", `${head}## [1.1.0] - 2026-02-03\n\nSoon.\n\n${old}`, "## [1.1.0] is empty"],
    [
      "the version's section has no date",
      `${head}## [1.1.0]\n${entries}${old}`,
      "## [1.1.0] has no date; write ## [1.1.0] - 2026-02-03"
    ],
    [
      "something would stay unreleased",
      `${head}## [Unreleased]\n${entries}## [1.1.0] - 2026-02-03\n${entries}`,
      "## [Unreleased] has entries although there is ## [1.1.0]"
    ],
    [
      "the version is there twice",
      `${head}## [1.1.0] - 2026-02-03\n${entries}## [1.1.0] - 2026-02-03\n${entries}`,
      "## [1.1.0] is there 2 times"
    ]
  ])("is refused when %s", (_, text, sentence) => {
    expect(release(text)).toEqual({ problem: expect.stringContaining(sentence) as string })
  })
})
