/** Writes down a story that failed, for people, for programs, and as a file that `--scenario` plays again. */

import { mkdirSync, writeFileSync } from "node:fs"
import type { Story } from "../story/story.ts"
import { verbs } from "../story/verbs.ts"
import { scenarioText } from "./scenario-file.ts"
import { type StorySize, usual } from "./simulate-flags.ts"
import type { Outcome, StoryChoice } from "./work.ts"

/** Folder of the stories that failed, below the folder in which the command runs. */
const failuresFolder = "simulation-failures"

/** A story that failed, written to a file. */
export interface Failure {
  readonly number: number
  readonly title: string
  readonly found: Outcome
  /** A shorter story that breaks the same sentence, or the same story if no shorter one was looked for. */
  readonly shortest: Outcome
  /** The origin of the story that failed. */
  readonly choice: StoryChoice
  readonly file: string
  /** The command that plays the story again. For a random story it needs no file, only a clone of the same commit. */
  readonly replay: string
}

/** The run of a sweep that failed, if it was one. */
const sweepRunOf = (choice: StoryChoice): string | undefined =>
  choice._tag === "Written" ? choice.sweepRun : undefined

/** The command that plays one random story again, from its seed alone. */
export const replayOfRandom = (seed: string, size: StorySize): string => {
  const text = /^[\w./+-]+$/.test(seed) ? seed : `'${seed.replaceAll("'", "'\\''")}'`
  return [
    `npm run simulate -- --story ${text}`,
    ...(size.clusters === usual.clusters ? [] : [`--clusters ${size.clusters}`]),
    ...(size.sessions === usual.sessions ? [] : [`--sessions ${size.sessions}`]),
    ...(size.minutes === usual.minutes ? [] : [`--hours ${size.minutes / 60}`])
  ].join(" ")
}

const fileName = (title: string): string => title.replaceAll(/[^A-Za-z0-9.+-]+/g, "-").replaceAll(/^-+|-+$/g, "")

const sentenceOf = ({ violation }: Outcome): string =>
  violation === undefined ? "nothing broke" : `${violation.id}: ${violation.sentence}`

/** Writes the shortest story to a file that `--scenario` plays. `more`: lines for its head. */
export const writeFailure = (failure: Omit<Failure, "file" | "replay">, more: ReadonlyArray<string> = []): Failure => {
  const { choice, found, shortest, title } = failure
  const file = `${failuresFolder}/${fileName(`${found.violation?.id ?? "none"}-${title}`)}.txt`
  const replay =
    choice._tag === "Random" ? replayOfRandom(choice.seed, choice.size) : `npm run simulate -- --scenario ${file}`
  const remarks = [
    sentenceOf(shortest),
    ...(shortest.violation === undefined ? [] : [shortest.violation.detail]),
    `found by ${title}`,
    replay,
    ...more
  ]
  mkdirSync(failuresFolder, { recursive: true })
  writeFileSync(file, scenarioText(shortest.story, remarks, sweepRunOf(choice)))
  return { ...failure, file, replay }
}

const indented = (lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  lines.flatMap((line) => line.split("\n")).map((line) => `    ${line}`)

const setupVerbs: ReadonlySet<string> = new Set(verbs.flatMap(({ kind, name }) => (kind === "setup" ? [name] : [])))

/** The lines that describe the world; a transcript begins with the first act. */
const setupOf = ({ lines }: Story): ReadonlyArray<string> =>
  lines.filter((line) => setupVerbs.has(line.trim().split(/\s+/)[0] ?? ""))

/**
 * A story that failed, for people: its seed, the lines that describe its world, and its transcript. `found` is the
 * story before it was shrunk, `where` ends the heading.
 */
export const storyText = (
  found: Story,
  { story, transcript }: Pick<Outcome, "story" | "transcript">,
  where = ""
): ReadonlyArray<string> => {
  const [before, after] = [found.lines.length, story.lines.length]
  const shrunk = after < before ? `, shrunk from ${before} lines to ${after}` : ""
  return [`  the story (seed ${story.seed}${shrunk})${where}:`, ...indented([...setupOf(story), ...transcript])]
}

/** A failure in words. `brief` leaves out the transcript, for the hundredth failure of its kind. */
export const failureText = (
  { file, found, replay, shortest, title }: Failure,
  brief: boolean
): ReadonlyArray<string> => {
  const { violation } = shortest
  const broke = [`✗ ${title}: ${sentenceOf(shortest)}`, ...indented(violation === undefined ? [] : [violation.detail])]
  if (brief) return [...broke, `  replay: ${replay}`]
  return [...broke, ...storyText(found.story, shortest, `, also in ${file}`), `  replay: ${replay}`]
}

/** A failure as JSON. */
export const failureJson = ({ choice, file, found, number, replay, shortest, title }: Failure): object => ({
  story: number,
  name: title,
  ok: false,
  seed: shortest.story.seed,
  ...(sweepRunOf(choice) === undefined ? {} : { sweepRun: sweepRunOf(choice) }),
  virtualMs: found.virtualMs,
  faults: found.faults,
  violation: shortest.violation,
  lines: shortest.story.lines,
  transcript: shortest.transcript,
  file,
  replay
})
