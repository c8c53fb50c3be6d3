/** The page of refusals: the sentences of the source that users read. */

import { readdirSync, readFileSync } from "node:fs"
import { type Page, table } from "./page.ts"
import { refusalTexts, sentencesOf } from "./refusal-texts.ts"

const source = new URL("../../src/", import.meta.url)

const files = readdirSync(source, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts"))
  .toSorted()
  .map((file) => ({ file, text: readFileSync(new URL(file, source), "utf8") }))

/** The files whose calls of these names make an `ApiError`: other functions have such names as well. */
const makesRefusals = /api\/status\.ts"|"\.\/(?:failure-)?status\.ts"|class ApiError/u

/** The rooms and files that speak to a user: of one session, or of a branch of a database in its status. */
const tellingRooms = new RegExp(
  "^(?:domain/(?:agents|targets|sessions|policies|relay|copies)/|domain/(?:pod-problem|regex|rust-pattern)|" +
    "domain/(?:resources/session-failure|protocol/answer-order)|" +
    "domain/branches/(?:branch-(?:address|admission|bounds|credentials|image|plan|pod-state|request)|" +
    "connection-source|environment-|kept-branch|source-|migrations/(?:migration-plan|archive-mark))|" +
    "domain/queues/wanted-split-reader|" +
    "app/(?:sessions|relay|policies|copies)/|" +
    "app/branches/(?:session-|make-|source-target)|adapters/agents/)",
  "u"
)

/** Files of these rooms with texts that are for administrators or for this documentation. */
const forOthers =
  /(?:\/settings|\/rights|\/agent-(?:configuration|fields)|\/check-field|relay\/table|-catalogue|target-json)\.ts$/u

const minWords = 3
const hasWords = (text: string): boolean => (text.match(/[a-z']+/giu) ?? []).length >= minWords
const quoted = (text: string): string => (text.includes("`") ? `\`\` ${text} \`\`` : `\`${text}\``)
const linked = (file: string): string => `[${file}](../../src/${file})`

const refused = [
  ...new Map(
    files
      .filter(({ text }) => makesRefusals.test(text))
      .flatMap(({ file, text }) => refusalTexts(text).map(({ code, text: sentence }) => ({ code, file, sentence })))
      .flatMap(({ code, file, sentence }) =>
        sentence !== undefined && hasWords(sentence) ? [[`${code} ${sentence}`, { code, file, sentence }] as const] : []
      )
  ).values()
].toSorted((a, b) => a.code - b.code || (a.sentence < b.sentence ? -1 : 1))

const told = files
  .filter(({ file }) => tellingRooms.test(file) && !forOthers.test(file))
  .flatMap(({ file, text }) => [...new Set(sentencesOf(text))].map((sentence) => ({ file, sentence })))
  .filter(({ sentence }) => hasWords(sentence) && !refused.some((refusal) => refusal.sentence === sentence))

export const refusals: Page = {
  file: "refusals.md",
  title: "Refusals",
  source: "the sentences of src",
  body: [
    "The sentences that users read, with the file that says them; `…` stands for what is filled in. Each refusal is " +
      "to say what is wrong, what was found and what to do. A client shows them as they are, or has them in the log " +
      "of its internal proxy. Clients try again by themselves after 503 alone, and end a running session at once " +
      "after 410 alone.",
    "## Refused requests",
    table(
      ["code", "sentence", "file"],
      refused.map(({ code, file, sentence }) => [String(code), quoted(sentence), linked(file)])
    ),
    "## Failures, and sentences in a session",
    "Sentences of a session's or branch's status, of Events, and of messages in a running session; parts that other " +
      "sentences quote are among them.",
    table(
      ["sentence", "file"],
      told.map(({ file, sentence }) => [quoted(sentence), linked(file)])
    )
  ]
}
