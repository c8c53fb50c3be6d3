/** Planted mistakes: reads their files, and tells stories to the program with one until an invariant notices. */

import { readdirSync, readFileSync } from "node:fs"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, type Scope } from "effect"
import { parse } from "yaml"
import { makeWorkerPool } from "../../../lab/simulation/command/worker-pool.ts"
import type { StoryKind } from "../../../lab/simulation/story/seeded-story.ts"

/** A place of the program and the mistake in it. */
export interface Edit {
  /** From the repository's root. */
  readonly file: string
  /** Text that occurs exactly once in the file. */
  readonly find: string
  readonly replace: string
}

/** A series of stories: a kind of random stories, or those of splits of queues, which replicas may share. */
export type Series = StoryKind | "splits" | "shared splits"

/** A planted mistake: one file `<name>.yaml` beside this file. */
export interface Mutant {
  readonly name: string
  /** The mistake as a sentence, for the table. */
  readonly mistake: string
  /** The series of stories that is told; the usual one unless given. */
  readonly series?: Series
  /** Invariants that describe this mistake. A story that breaks other invariants has found something else. */
  readonly invariants: ReadonlyArray<string>
  /** The first story from 1 on that breaks one of them, and the invariant; written by `search.ts`. */
  readonly found: { readonly story: number; readonly invariant: string }
  readonly edits: ReadonlyArray<Edit>
}

/** The result of telling stories to a mutant. */
export type Finding = { readonly story: number; readonly id: string; readonly detail: string } | undefined

const here = fileURLToPath(new URL(".", import.meta.url))
/** A mutant must be found within so many stories. */
export const maxStories = 2_000

const readMutant = (file: string): Mutant => ({
  name: basename(file, ".yaml"),
  ...parse(readFileSync(join(here, file), "utf8"))
})

export const mutants: ReadonlyArray<Mutant> = readdirSync(here)
  .filter((file) => file.endsWith(".yaml"))
  .toSorted()
  .map(readMutant)

/** Finds a text, however the formatter breaks its lines. */
const pattern = (text: string): RegExp =>
  new RegExp((text.match(/\w+|[^\w\s]/gu) ?? []).map((token) => RegExp.escape(token)).join(String.raw`\s*`), "gu")

/** The file with the mistake in it. Throws if the program has changed so much that the place cannot be found. */
export const mutated = ({ file, find, replace }: Edit, text: string): string => {
  const count = [...text.matchAll(pattern(find))].length
  if (count !== 1)
    throw new Error(`${file} has the text of the planted mistake ${count} times; it must occur exactly once: ${find}`)
  return text.replace(pattern(find), () => replace)
}

/** The stories of these numbers, up to the first that breaks an expected invariant. */
export interface Telling {
  readonly mutant: Mutant
  readonly from: number
  readonly to: number
}

/** Plants the mistake in the program and tells it stories. */
export type FindMistake = (telling: Telling) => Effect.Effect<Finding>

/** Starts so many processes that tell stories, each when there is work for it, and ends them with the scope. */
export const makeTellers = (count: number): Effect.Effect<FindMistake, never, Scope.Scope> =>
  Effect.map(
    makeWorkerPool<Telling, { readonly _tag?: undefined; readonly found?: Finding }>(
      join(here, "tell-stories.ts"),
      count
    ),
    ({ run }) =>
      (telling) =>
        Effect.flatMap(run(telling), (answer) =>
          answer._tag === "Failed"
            ? Effect.die(new Error(`${telling.mutant.name}: the stories could not be told: ${answer.message}`))
            : Effect.succeed(answer.found)
        )
  )
