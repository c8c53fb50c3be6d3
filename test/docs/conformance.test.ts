/**
 * The rules of test/conformance: each has an id, a state and what the state asks for; each test that a rule names is
 * there; and no rule is missing. docs/reference/conformance.md is generated from them, and `npm run check` compares
 * it.
 */

import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { documents, statuses } from "../../scripts/reference/conformance.ts"
import { caseNames } from "./case-names.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** The rules that each document has, by the first letter of their ids. */
const rules: Readonly<Record<string, number>> = {
  A: 13,
  W: 25,
  T: 15,
  U: 31,
  R: 198,
  D: 6,
  B: 97,
  Q: 83,
  V: 43,
  M: 4,
  L: 82
}

const rows = documents.flatMap((document) => document.rules)
const proofs = rows.flatMap(({ id, tests = [] }) => tests.map(({ file, names }) => ({ id, file, names })))

/** Files that are cases by themselves: a test plays each story of these folders, and looks at each sample's render. */
const isCase = (file: string): boolean =>
  /^(?:lab\/simulation\/scenarios\/[\w-]+\.txt|test\/charts\/values\/\w+\.yaml)$/u.test(file)

/** Whether the rule says what its state asks for. */
const isWhole = ({ reason = "", rule, status, tests = [] }: (typeof rows)[number]): boolean => {
  const isProved = tests.length > 0
  if (rule === "" || rule.includes("|") || reason.includes("|")) return false
  switch (status) {
    case "yes":
      return isProved
    case "part":
      return isProved && reason !== ""
    default:
      return reason !== "" && statuses.includes(status)
  }
}

/** The number of rules that a part of a reference has, by what its rules look like. */
const inReference = (file: string, heading: RegExp, rule: RegExp): number => {
  const text = readFileSync(join(root, "../shared/reference", file), "utf8").split("\n")
  const start = text.findIndex((line) => heading.test(line))
  const level = /^#+/u.exec(text[start] ?? "")?.[0].length ?? 0
  const length = text.slice(start + 1).findIndex((line) => (/^#+(?= )/u.exec(line)?.[0].length ?? 9) <= level)
  return text.slice(start + 1, length < 0 ? undefined : start + 1 + length).filter((line) => rule.test(line)).length
}

/**
 * Counts of rules in the texts that they come from. These are no part of the project; where they are, nothing of them
 * may be left out.
 */
const references = (): ReadonlyArray<readonly [letter: string, count: () => number]> => {
  const item = /^\d+\. /u
  const ofUsage = (part: number, rule: RegExp): number =>
    inReference("session-monitor.md", new RegExp(`^### 3\\.${part} `, "u"), rule)
  const lists = (rule: RegExp): number => inReference("session-monitor.md", /^## 2\./u, rule)
  return [
    ["A", () => inReference("operator-api.md", /^## 9\./u, item)],
    ["W", () => inReference("wire-protocol.md", /^### 8\.3 /u, item)],
    ["T", () => inReference("agent-and-targets.md", /^## 11\./u, item)],
    // Readers, fields and points, one paragraph of three rules, and three of two.
    ["U", () => lists(/^\| (?!Consumer|Field|---)/u) + lists(/^\* /u) + 3 + 3 * 2],
    ["R", () => inReference("session-monitor.md", /^## 6\./u, /^\| \d+ \|/u)],
    ["D", () => inReference("session-monitor.md", /^### 6\.15 /u, /^\| (?!Topic|---)/u)],
    // One row stands for three. Of the mistakes of another section, 17 rows are about those that no rule here is about.
    ["B", () => inReference("branching.md", /^## 7\./u, /^\| \d+(?:–\d+)? \|/u) + 2 + 17],
    // Points, parameters and fields, four paragraphs, points of the page, and rows of the calculator.
    ["V", () => ofUsage(3, /^\* /u) + ofUsage(4, /^\| `/u) + 4 + ofUsage(5, /^\* /u) + ofUsage(6, /^\| (?!Item|---)/u)],
    // Flags, and one paragraph.
    ["M", () => inReference("session-monitor.md", /^### 4\.2 /u, /^\| `/u) + 1],
    // Without the rules of two other brokers.
    ["Q", () => inReference("queue-splitting.md", /^## 8\./u, /^\| \d+ \| (?!Kafka|RabbitMQ)/u)]
  ]
}

describe("test/conformance", () => {
  it("has each rule, in order, each id once", () => {
    const expected = Object.entries(rules).flatMap(([letter, last]) =>
      Array.from({ length: last }, (_, index) => `${letter}${index + 1}`)
    )
    expect(rows.map(({ id }) => id)).toEqual(expected)
    expect(documents.map(({ letter }) => letter)).toEqual(Object.keys(rules))
  })

  it.each(existsSync(join(root, "../shared/reference")) ? references() : [])(
    "has as many rules in document %s as the reference has",
    (letter, rulesThere) => expect(rulesThere()).toBe(rules[letter])
  )

  it("has a state in each rule, with the proof or the reason that the state asks for", () => {
    expect(rows.filter((row) => !isWhole(row))).toEqual([])
  })

  it("names only tests that are there", () => {
    const cases = new Map<string, ReadonlySet<string>>()
    const casesOf = (file: string): ReadonlySet<string> => {
      const known = cases.get(file) ?? new Set(caseNames(readFileSync(join(root, file), "utf8")))
      cases.set(file, known)
      return known
    }
    const lost = proofs.flatMap(({ file, id, names }) => {
      if (!existsSync(join(root, file))) return [`${id}: ${file} is not there`]
      if (isCase(file)) return []
      if (!file.startsWith("test/") || names.length === 0) return [`${id}: ${file} is no test, or has no name`]
      return names.filter((wanted) => !casesOf(file).has(wanted)).map((wanted) => `${id}: ${file} has no ${wanted}`)
    })
    expect(lost).toEqual([])
  })
})

describe("the names of cases", () => {
  it("are found in every form, and only there", () => {
    const source = [
      'describe("a group", () => {',
      '  it("is plain", () => {})',
      '  it.effect("has a method", () => {})',
      "  it.each([",
      '    ["a row", 1]',
      '  ])("has %s", () => {})',
      "  it.live(",
      '    "stands alone",',
      "    () => {}",
      "  )",
      '  it.each(["a"] as const)(',
      '    "%s stands alone",',
      "    () => {}",
      "  )",
      "  it(`is ${text}`, () => {})",
      '  it.skip("is skipped", () => {})',
      '  call("is no case", () => {})',
      "})",
      'describe.each(["a"])("a group of %s", () => {})',
      'test("is \\"quoted\\"", () => {})'
    ].join("\n")
    expect(caseNames(source)).toEqual([
      "is plain",
      "has a method",
      "has %s",
      "stands alone",
      "%s stands alone",
      "is ${text}",
      'is "quoted"'
    ])
  })
})
