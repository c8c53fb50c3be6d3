/**
 * The command `npm run explore`: properties and random stories with fresh seeds for some minutes; what fails is told as
 * a story for the museum or as a test with its seed, and what holds is what the next file of seeds is chosen from.
 */

import { randomInt } from "node:crypto"
import { fileURLToPath } from "node:url"
import { Clock, Effect, Option } from "effect"
import { makeOutput, standardStreams } from "../command/output.ts"
import { usual } from "../command/simulate-flags.ts"
import { makeStoryPool } from "../command/story-pool.ts"
import { type Job, StoryRun } from "../command/story-run.ts"
import type { Answer } from "../command/work.ts"
import { seedOf, type StoryKind, storyKinds } from "../story/seeded-story.ts"
import { type Choice, chooseStories, costOf, type ExploredStory } from "./choose-stories.ts"
import { type BrokenProperty, propertyRound } from "./property-round.ts"
import { readSeeds, type Seeds, seedsPath, writeSeeds } from "./seeds-file.ts"

export interface ExploreOptions {
  readonly minutes: number
  readonly seed: Option.Option<number>
  readonly workers: number
  readonly write: boolean
}

/** Cost of the stories of a landing ({@link costOf}): some 30 s of one core. */
const landingCost = 800_000

/** Part of the time for properties; stories have the rest. */
const propertyPart = 0.25

const worker = fileURLToPath(new URL("explore-worker.ts", import.meta.url))

const say = (...lines: ReadonlyArray<string>): Effect.Effect<void> =>
  Effect.sync(() => standardStreams.out(lines.map((line) => `${line}\n`).join("")))

/** The kinds in the proportion in which they are explored: stories of branches are the shortest. */
const kinds: readonly [StoryKind, ...ReadonlyArray<StoryKind>] = [
  "usual",
  "branches",
  "usual",
  "branches",
  "sharded",
  "outbound",
  "usual",
  "branches",
  "usual",
  "branches"
]

/** The story of a number, counted over all kinds. */
const placeOf = (seed: number, number: number): Pick<ExploredStory, "kind" | "seed"> => {
  const kind = kinds[number % kinds.length] ?? kinds[0]
  return { kind, seed: seedOf(kind, `${seed}-${number}`) }
}

function* jobs(drawnFrom: number, isOver: () => boolean): Generator<Job> {
  for (let number = 1; !isOver(); number++) {
    const { seed } = placeOf(drawnFrom, number)
    yield { number, title: `story ${seed}`, choice: { _tag: "Random", seed, size: usual } }
  }
}

const brokenText = ({ file, message, replay, test }: BrokenProperty): ReadonlyArray<string> => [
  `✗ ${file} > ${test}`,
  message.replace(/^/gm, "    "),
  `  replay: ${replay}`
]

interface Properties {
  readonly broken: number
  /** The first seed with which all held. */
  readonly held: number | undefined
}

/** Rounds of properties until a moment in epoch ms, at least one. */
const exploreProperties = (seed: number, end: number): Effect.Effect<Properties> =>
  Effect.gen(function* () {
    let [broken, held, round]: readonly [number, number | undefined, number] = [0, undefined, 0]
    do {
      const drawn = (seed + round++) | 0
      yield* say(`properties with seed ${drawn}`)
      const found = yield* propertyRound(drawn)
      yield* say(...found.flatMap(brokenText), `${found.length} failed`)
      broken += found.length
      if (found.length === 0) held ??= drawn
    } while ((yield* Clock.currentTimeMillis) < end)
    return { broken, held }
  })

interface Stories {
  readonly exitCode: number
  readonly held: ReadonlyArray<ExploredStory>
}

/** Random stories until a moment in epoch ms. */
const exploreStories = (seed: number, end: number, workers: number): Effect.Effect<Stories> =>
  Effect.gen(function* () {
    const held: Array<ExploredStory> = []
    /** One text for all that are equal, because each story tells some thousands. */
    const texts = new Map<string, string>()
    const hear = ({ number }: Job, answer: Answer): void => {
      if (answer._tag !== "Ran" || answer.outcome.violation !== undefined) return
      const functions = (answer.functions ?? []).map((text) => {
        const known = texts.get(text) ?? text
        texts.set(text, known)
        return known
      })
      held.push({ ...placeOf(seed, number), steps: answer.outcome.steps, functions })
    }
    const now = yield* Clock.currentTimeMillis
    let isOver = false
    yield* Effect.forkScoped(
      Effect.andThen(
        Effect.sleep(end - now),
        Effect.sync(() => (isOver = true))
      )
    )
    const run = new StoryRun({
      output: makeOutput(standardStreams, { json: false, transcripts: false }),
      pool: yield* makeStoryPool(workers, worker),
      workers,
      workOf: (job) => ({ ...job, _tag: "Run", trace: undefined, report: undefined, transcript: false }),
      hear,
      // As the files of test/museum say it.
      remarks: [`Found ${new Date(now).toISOString().slice(0, 10)}.`]
    })
    yield* run.run(
      jobs(seed, () => isOver),
      undefined
    )
    return { exitCode: run.exitCode, held }
  }).pipe(Effect.scoped)

const seedsFrom = (properties: number, explored: number, { chosen, counts, parts }: Choice): Seeds => {
  const seeds = (kind: StoryKind): ReadonlyArray<string> =>
    chosen
      .filter((story) => story.kind === kind)
      .map(({ seed }) => seed)
      .toSorted(new Intl.Collator("en", { numeric: true }).compare)
  return {
    properties,
    stories: {
      usual: seeds("usual"),
      branches: seeds("branches"),
      sharded: seeds("sharded"),
      outbound: seeds("outbound")
    },
    choice: { explored, cost: chosen.reduce((sum, story) => sum + costOf(story), 0), parts, counts }
  }
}

const proposal = ({ choice, properties, stories }: Seeds, isWritten: boolean): ReadonlyArray<string> => {
  const { counts, explored, parts } = choice
  const some = storyKinds.map((kind) => `${kind} ${stories[kind].length}`).join(", ")
  return [
    `proposed for \`npm test\`, of ${explored} stories that held: ${some}; properties with seed ${properties}`,
    `these stories run ${parts.chosen} of the ${parts.explored} parts of the program that any story ran, and ` +
      `${counts.chosen} of ${counts.explored} in the same order of magnitude`,
    isWritten ? `written to ${seedsPath}` : `--write writes them to ${seedsPath}`
  ]
}

/** Runs the command; the exit code is 0 only if nothing failed. */
export const runExplore = ({ minutes, write, workers, ...options }: ExploreOptions): Effect.Effect<number> =>
  Effect.gen(function* () {
    const seed = Option.getOrElse(options.seed, () => randomInt(2 ** 31))
    const start = yield* Clock.currentTimeMillis
    const after = (part: number): number => start + minutes * part * 60_000
    yield* say(`seed ${seed}`)
    const properties = yield* exploreProperties(seed, after(propertyPart))
    const { exitCode, held } = yield* exploreStories(seed, after(1), workers)
    const choice = chooseStories(held, landingCost)
    const seeds = seedsFrom(properties.held ?? readSeeds().properties, held.length, choice)
    if (write) yield* Effect.sync(() => writeSeeds(seeds))
    yield* say(...proposal(seeds, write))
    return properties.broken > 0 ? 1 : exitCode
  })
