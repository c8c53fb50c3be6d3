/**
 * Finds and reads written stories: the scenarios that come with the program, and files. Their language is read by
 * `../story/parse-story.ts`.
 */

import { existsSync, readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Result } from "effect"
import { parseStory } from "../story/parse-story.ts"
import type { Story } from "../story/story.ts"
import { nearest } from "../story/words.ts"

/** A written story and its origin. */
export interface Scenario {
  readonly name: string
  readonly story: Story
  /** The run of the story's sweep that the file asks for (`# sweep: …`): the call that goes wrong, and how. */
  readonly sweepRun: string | undefined
}

const folder = fileURLToPath(new URL("../scenarios/", import.meta.url))

/** Names of the scenarios that come with the program; the transcript of each is beside it, `NAME.golden.txt`. */
export const scenarioNames = (): ReadonlyArray<string> =>
  readdirSync(folder)
    .filter((file) => file.endsWith(".txt") && !file.endsWith(".golden.txt"))
    .map((file) => file.slice(0, -".txt".length))
    .toSorted()

const heading = (key: string, lines: ReadonlyArray<string>): string | undefined => {
  const pattern = new RegExp(`^#\\s*${key}:\\s*(.*\\S)\\s*$`)
  for (const line of lines) {
    const value = pattern.exec(line)?.[1]
    if (value !== undefined) return value
  }
  return undefined
}

const read = (file: string): Result.Result<string, string> => {
  try {
    return Result.succeed(readFileSync(file, "utf8"))
  } catch (error) {
    return Result.fail(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}

const find = (nameOrFile: string): Result.Result<string, string> => {
  const names = scenarioNames()
  if (names.includes(nameOrFile)) return Result.succeed(`${folder}${nameOrFile}.txt`)
  if (existsSync(nameOrFile)) return Result.succeed(nameOrFile)
  const like = nearest(nameOrFile, names)
  return Result.fail(
    `there is no scenario and no file ${JSON.stringify(nameOrFile)}` +
      (like === undefined ? "" : `; the nearest scenario is ${like}`)
  )
}

/**
 * Finds a scenario by its name, else as a file, and reads it. The seed is that of a comment `# seed: …`, else `1`; the
 * argument `seed` overrides both. Each mistake is a sentence with the file, the line and what would be right.
 */
export const readScenario = (
  nameOrFile: string,
  seed: string | undefined
): Result.Result<Scenario, ReadonlyArray<string>> => {
  const found = find(nameOrFile)
  const text = Result.flatMap(found, read)
  if (Result.isFailure(found)) return Result.fail([found.failure])
  if (Result.isFailure(text)) return Result.fail([text.failure])
  const lines = text.success
    .replace(/\n$/, "")
    .split("\n")
    .map((line) => line.replace(/\r$/, ""))
  const story: Story = { seed: seed ?? heading("seed", lines) ?? "1", lines }
  const parsed = parseStory(story.seed, story.lines)
  return Result.isFailure(parsed)
    ? Result.fail(parsed.failure.map(({ line, message }) => `${nameOrFile}: line ${line}: ${message}`))
    : Result.succeed({ name: nameOrFile, story, sweepRun: heading("sweep", lines) })
}

/** The text of a file from which {@link readScenario} reads this story. */
export const scenarioText = (story: Story, remarks: ReadonlyArray<string>, sweepRun: string | undefined): string =>
  [
    ...remarks.flatMap((remark) => remark.split("\n")).map((remark) => `# ${remark}`.trimEnd()),
    `# seed: ${story.seed}`,
    ...(sweepRun === undefined ? [] : [`# sweep: ${sweepRun}`]),
    ...story.lines.filter((line) => !/^#\s*(seed|sweep):/.test(line)),
    ""
  ].join("\n")
