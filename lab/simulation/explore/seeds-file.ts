/** The file of what `npm test` draws: the seed of all properties, and the random stories of a landing. */

import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { storyKinds, type StoryKind } from "../story/seeded-story.ts"
import type { Choice } from "./choose-stories.ts"

export interface Seeds {
  /** Seed of all properties. */
  readonly properties: number
  /** The seeds of stories, by their kinds. */
  readonly stories: Readonly<Record<StoryKind, ReadonlyArray<string>>>
  /** Where the stories come from, for people. */
  readonly choice: Pick<Choice, "counts" | "parts"> & { readonly explored: number; readonly cost: number }
}

/** From the repository's root. */
export const seedsPath = "test/seeds.json"
const file = fileURLToPath(new URL(`../../../${seedsPath}`, import.meta.url))

// The file is written here alone.
export const readSeeds = (): Seeds => JSON.parse(readFileSync(file, "utf8")) as Seeds

const columns = 120

/** Words, as many to a line as fit. */
const filled = (words: ReadonlyArray<string>, indent: string): string =>
  words
    .reduce<ReadonlyArray<string>>((lines, word) => {
      const last = lines.at(-1)
      return last === undefined || last.length + 1 + word.length > columns
        ? [...lines, `${indent}${word}`]
        : [...lines.slice(0, -1), `${last} ${word}`]
    }, [])
    .join("\n")

const list = (kind: StoryKind, seeds: ReadonlyArray<string>): string => {
  const words = seeds.map((seed, i) => `${JSON.stringify(seed)}${i < seeds.length - 1 ? "," : ""}`)
  return [`    ${JSON.stringify(kind)}: [`, filled(words, "      "), "    ]"].join("\n")
}

export const seedsText = ({ choice, properties, stories }: Seeds): string =>
  [
    "{",
    `  "properties": ${properties},`,
    `  "stories": {`,
    storyKinds.map((kind) => list(kind, stories[kind])).join(",\n"),
    "  },",
    `  "choice": ${JSON.stringify(choice, undefined, 2).replaceAll("\n", "\n  ")}`,
    "}",
    ""
  ].join("\n")

export const writeSeeds = (seeds: Seeds): void => writeFileSync(file, seedsText(seeds))
