/** Writes down a story that failed, for people, for programs, and as a file that `--scenario` plays again. */

import { mkdirSync, writeFileSync } from "node:fs"
import { verbs } from "../story/verbs.ts"
import { scenarioText } from "./scenario-file.ts"
import type { Outcome } from "./work.ts"

/** Folder of the stories that failed, below the folder in which the command runs. */
const failuresFolder = "simulation-failures"

/** A story that failed, written to a file. */
export interface Failure {
  readonly number: number
  readonly title: string
  readonly found: Outcome
  /** A shorter story that breaks the same sentence, or the same story if no shorter one was looked for. */
  readonly shortest: Outcome
  readonly sweepRun: string | undefined
  readonly file: string
  /** The command that plays the shortest story again. */
  readonly replay: string
}

const fileName = (title: string): string => title.replaceAll(/[^A-Za-z0-9.+-]+/g, "-").replaceAll(/^-+|-+$/g, "")

const sentenceOf = ({ violation }: Outcome): string =>
  violation === undefined ? "nothing broke" : `${violation.id}: ${violation.sentence}`

/** Writes the shortest story to a file that `--scenario` plays. */
export const writeFailure = (failure: Omit<Failure, "file" | "replay">): Failure => {
  const { found, shortest, sweepRun, title } = failure
  const file = `${failuresFolder}/${fileName(`${found.violation?.id ?? "none"}-${title}`)}.txt`
  const replay = `npm run simulate -- --scenario ${file}`
  const remarks = [
    sentenceOf(shortest),
    ...(shortest.violation === undefined ? [] : [shortest.violation.detail]),
    `found by ${title}`,
    replay
  ]
  mkdirSync(failuresFolder, { recursive: true })
  writeFileSync(file, scenarioText(shortest.story, remarks, sweepRun))
  return { ...failure, file, replay }
}

const indented = (lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  lines.flatMap((line) => line.split("\n")).map((line) => `    ${line}`)

const setupVerbs: ReadonlySet<string> = new Set(verbs.flatMap(({ kind, name }) => (kind === "setup" ? [name] : [])))

/** The lines that describe the world; a transcript begins with the first act. */
const setupOf = ({ story }: Outcome): ReadonlyArray<string> =>
  story.lines.filter((line) => setupVerbs.has(line.trim().split(/\s+/)[0] ?? ""))

/** A failure in words. `brief` leaves out the transcript, for the hundredth failure of its kind. */
export const failureText = (
  { file, found, replay, shortest, title }: Failure,
  brief: boolean
): ReadonlyArray<string> => {
  const { violation } = shortest
  const broke = [`✗ ${title}: ${sentenceOf(shortest)}`, ...indented(violation === undefined ? [] : [violation.detail])]
  if (brief) return [...broke, `  replay: ${replay}`]
  const count = (outcome: Outcome): number => outcome.story.lines.length
  const shrunk = count(shortest) < count(found) ? `, shrunk from ${count(found)} lines to ${count(shortest)}` : ""
  return [
    ...broke,
    `  the story (seed ${shortest.story.seed}${shrunk}), also in ${file}:`,
    ...indented([...setupOf(shortest), ...shortest.transcript]),
    `  replay: ${replay}`
  ]
}

/** A failure as JSON. */
export const failureJson = ({ file, found, number, replay, shortest, sweepRun, title }: Failure): object => ({
  story: number,
  name: title,
  ok: false,
  seed: shortest.story.seed,
  ...(sweepRun === undefined ? {} : { sweepRun }),
  virtualMs: found.virtualMs,
  faults: found.faults,
  violation: shortest.violation,
  lines: shortest.story.lines,
  transcript: shortest.transcript,
  file,
  replay
})
