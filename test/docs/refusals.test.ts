/** docs/refusals.md: a row for each sentence that is written in a refusal, and no other rows. */

import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { failureStatus } from "../../src/domain/sessions/failure-status.ts"
import { type TargetError, targetFailure } from "../../src/domain/targets/target-errors.ts"
import { refusalTexts, sentencesOf } from "./refusal-texts.ts"
import { lostParts, toldSentences } from "./told-sentences.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const source = join(root, "src")
const [page = "", tellings = ""] = readFileSync(join(root, "docs/refusals.md"), "utf8").split("\n## Failures")

/** A text with fewer words only passes another one on. */
const fewestWords = 2

const written = (): ReadonlySet<string> =>
  new Set(
    readdirSync(source, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .map((file) => readFileSync(join(source, file), "utf8"))
      // Other functions have such names as well.
      .filter((text) => /api\/status\.ts"|"\.\/(?:failure-)?status\.ts"|class ApiError/u.test(text))
      .flatMap(refusalTexts)
      .flatMap(({ code, text }) =>
        text !== undefined && (text.match(/[a-z']+/giu) ?? []).length >= fewestWords ? [`${code} ${text}`] : []
      )
  )

/** The anchors of a page's headings, as GitHub makes them. */
const anchorsOf = (path: string): ReadonlyArray<string> =>
  [...readFileSync(path, "utf8").matchAll(/^#+ (.+)$/gmu)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/gu, "")
      .replaceAll(" ", "-")
  )

/** Whether the text has a link to a section of a page, and each such link has its section. */
const leadsSomewhere = (text: string): boolean => {
  const links = [...text.matchAll(/\]\(([^)#]+)#([^)]+)\)/gu)]
  return (
    links.length > 0 &&
    links.every(([, file = "", anchor = ""]) => anchorsOf(join(root, "docs", file)).includes(anchor))
  )
}

const rows = page
  .split("\n")
  .flatMap((line) => /^\| (\d{3}) \| `([^`]+)` \| (.+) \| (.+) \|$/u.exec(line)?.slice(1) ?? [])

/** Rows of sentences beside those of refusals. One with backticks stands between two of them. */
const tellingForm = /^\| (?:\d{3}|–) \| (?:`` (.+?) ``|`([^`]+)`) \| .+ \| .+ \|$/u

describe("docs/refusals.md", () => {
  it("has each sentence of a refusal in the source, with its code, and no other one", () => {
    const listed = Array.from({ length: rows.length / 4 }, (_, row) => `${rows[4 * row]} ${rows[4 * row + 1]}`)
    const texts = written()
    // Missing: give each a row, with cause and cure. Lost: nothing says this any more.
    expect({
      missing: [...texts].filter((text) => !listed.includes(text)),
      lost: listed.filter((text) => !texts.has(text))
    }).toEqual({ missing: [], lost: [] })
  })

  it("leads from each sentence to a section that says more", () => {
    const lines = page.split("\n").filter((line) => /^\| \d{3} \|/u.test(line))
    // A sentence with backticks of its own comes from the domain, whose sentences this test does not know.
    const others = lines.filter((line) => /^\| \d{3} \| ``/u.test(line))
    expect(lines.length - others.length).toBe(rows.length / 4)
    expect(lines.filter((line) => !leadsSomewhere(line))).toEqual([])
  })
})

describe("docs/refusals.md, failures and what is told", () => {
  const lines = tellings.split("\n").filter((line) => /^\| (?:\d|–)/u.test(line))
  const listed = lines.map((line) => tellingForm.exec(line)).map((row) => row?.[1] ?? row?.[2])

  it("has each sentence of the rooms that speak to users, and no other one", () => {
    const refused = page.split("\n").flatMap((line) => /^\| \d{3} \| (`+)(.+?)\1 \| /u.exec(line)?.[2] ?? [])
    // Missing: give each a row, or name it among the parts of sentences. Lost: nothing says this any more.
    const told = toldSentences(source, new Set(refused))
    expect({
      missing: told.filter((text) => !listed.includes(text)),
      lost: listed.filter((text) => text === undefined || !told.includes(text)),
      lostParts: lostParts(source)
    }).toEqual({ missing: [], lost: [], lostParts: [] })
  })

  it("leads from each of them to a section that says more", () => {
    expect(lines.filter((line) => !leadsSomewhere(line))).toEqual([])
  })

  it.each<TargetError>([
    { _tag: "NoSuchTarget", target: "…", namespace: "…" },
    { _tag: "NoSuchKind", target: "…", resource: "…" },
    { _tag: "NoSuchContainer", target: "…", container: "…" },
    { _tag: "MissingSelector", target: "…", field: "…" },
    { _tag: "MissingSelector", target: "…", field: "…", isService: true },
    { _tag: "NoSuchReference", target: "…", reference: "…", namespace: "…" },
    { _tag: "AmbiguousTemplate", target: "…", problem: "…" },
    { _tag: "UnknownWorkloadRef", target: "…", apiVersion: "…", kind: "…" },
    { _tag: "NoPodMatches", target: "…", selector: "…" },
    { _tag: "PodsOfOthers", target: "…", selector: "…", pod: "…" },
    { _tag: "NoPodUsable", target: "…", pods: 2 },
    { _tag: "LabelTargetNotReady", selector: "…" },
    { _tag: "CopyTargetRequired", target: "…" },
    { _tag: "Forbidden", target: "…", detail: "…" }
  ])("has the code of $_tag", (error) => {
    const failure = targetFailure(error)
    const sentence = failure.message.replace("2", "…")
    expect(lines.filter((line) => line.includes(`\`${sentence}\``))).toEqual([
      expect.stringContaining(`| ${failureStatus(failure).code} |`)
    ])
  })

  it("finds sentences wherever they stand, and none in comments, regular expressions and the log", () => {
    const text = [
      "/** This is no sentence of the operator. */",
      'import { a } from "./not this one here.ts"',
      "// Nor is this one here.",
      'const form = /["`] and no sentence either/u',
      'logWarning("this is for the log alone", {})',
      'fail({ message: `the pod ${name} is ` + "not ready at all" })',
      "const quoted = 'he said \"no\" to all of it'",
      'const key = "spec.selector.matchLabels"',
      String.raw`const odd = "\u{fffd} stands for it"`
    ].join("\n")
    expect(sentencesOf(text).filter((found) => found.includes(" "))).toEqual([
      "the pod … is not ready at all",
      'he said "no" to all of it',
      "\u{fffd} stands for it"
    ])
  })
})

describe("the sentences of refusals", () => {
  it("are found in every form, with a sign for what is filled in", () => {
    const text = [
      'const a = badRequest("plain")',
      "yield* forbidden(",
      '  `User ${user.name} may not (${list.map((x) => `"${x}"`).join(", ")}) ` +',
      '    "do it."',
      ")",
      "Effect.mapError(({ message }) => internalError(message))",
      "notFound(`${title} is gone.`)",
      "export const badRequest = (message: string): ApiError => new ApiError({ code: 400 })",
      "policy.forbidden(text)"
    ].join("\n")
    expect(refusalTexts(text)).toEqual([
      { code: 400, text: "plain" },
      { code: 403, text: "User … may not (…) do it." },
      { code: 500, text: undefined },
      { code: 404, text: "… is gone." }
    ])
  })
})
