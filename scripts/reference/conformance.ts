/**
 * The page of conformance, from the rules in test/conformance: counts, and the rules that do not hold or hold in part,
 * each with its reason.
 */

import { readFileSync } from "node:fs"
import { type Page, table } from "./page.ts"

interface Rule {
  readonly id: string
  readonly rule: string
  /** The part of the document that states the rule; missing where the document has no parts. */
  readonly source?: string
  readonly status: string
  readonly tests?: ReadonlyArray<{ readonly file: string; readonly names: ReadonlyArray<string> }>
  /** A sentence on what is missing, or what should be known of a rule that holds. */
  readonly reason?: string
}

interface Document {
  readonly document: string
  readonly about: string
  /** The first letter of the ids of its rules. */
  readonly letter: string
  readonly rules: ReadonlyArray<Rule>
}

const names = [
  "operator-api",
  "router",
  "targets-and-agents",
  "sessions-in-lists",
  "multi-cluster-sessions",
  "public-documentation",
  "branches",
  "queues",
  "usage",
  "magic",
  "local-sessions"
]

export const statuses = ["yes", "part", "no", "n/a"]

/** The documents, in the order of the page; each is a file of test/conformance. */
export const documents: ReadonlyArray<Document> = names.map(
  (name) =>
    JSON.parse(readFileSync(new URL(`../../test/conformance/${name}.json`, import.meta.url), "utf8")) as Document
)

/** Links of a reason are written as from the root. */
const fromPage = (reason: string): string =>
  reason.replaceAll(/\]\((?!https?:)([^)]+)\)/gu, (_, path: string) =>
    path.startsWith("docs/") ? `](../${path.slice("docs/".length)})` : `](../../${path})`
  )

const count = ({ rules }: Document, status: string): number => rules.filter((rule) => rule.status === status).length

const section = ({ about, document, rules }: Document): ReadonlyArray<string> => {
  const rows = rules.filter(({ status }) => status !== "yes")
  if (rows.length === 0) return []
  const head = [`## ${document}`, ...(about === "" ? [] : [about])]
  const cells = rows.map(({ id, reason = "–", rule, status }) => [id, rule, status, fromPage(reason)])
  return [...head, table(["id", "rule", "state", "reason"], cells)]
}

export const conformance: Page = {
  file: "conformance.md",
  title: "Conformance",
  source: "test/conformance",
  body: [
    "The rules are what mirrord's client and agent, the published chart and the description of sessions over many " +
      "clusters ask of an operator. [Each rule](../../test/conformance) has an id, and names the tests that fail " +
      "when it does not hold. [status.md](status.md) says the same by feature, in less space.",
    "**yes**: the rule holds. **part**: it holds except for what its reason says. **no**: it does not hold, and the " +
      "reason says what happens to a user who needs it. **n/a**: there is nothing here that the rule is about. " +
      "Rules that hold are not listed here.",
    table(
      ["document", "ids", "rules", ...statuses],
      documents.map((document) => [
        document.document,
        document.letter,
        `${document.rules.length}`,
        ...statuses.map((status) => `${count(document, status)}`)
      ])
    ),
    ...documents.flatMap(section)
  ]
}
