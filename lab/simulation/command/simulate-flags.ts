/** The flags of `npm run simulate`, and what is wrong with their values. Nothing is run here. */

import { Option, Result } from "effect"
import { Flag } from "effect/cli"

const text = (name: string, metavar: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar(metavar), Flag.withDescription(description), Flag.optional)

/** The flags. Values are texts: {@link readOptions} explains mistakes better than a parser of numbers would. */
export const simulateFlags = {
  seed: text(
    "seed",
    "N",
    "What chance is drawn from: a number or a text (default 1; with --forever a new one; with --scenario the " +
      "file's own)"
  ),
  stories: text("stories", "K", "So many random stories (default 100), numbered from 1"),
  story: text(
    "story",
    "SEED",
    "One random story by its own seed, as a failure names it, such as 1/7; prints its transcript"
  ),
  scenario: text(
    "scenario",
    "NAME|FILE",
    "One written story: a name of lab/simulation/scenarios or a file; prints its transcript"
  ),
  sweep: text(
    "sweep",
    "NAME|FILE",
    "A written story once for every call of an operator and every way in which that call can fail"
  ),
  forever: Flag.Boolean("forever").pipe(
    Flag.withDefault(false),
    Flag.withDescription("Random stories of new seeds until Ctrl-C, then the summary")
  ),
  clusters: text("clusters", "N", "Workload clusters of a random story (default 3)"),
  sessions: text("sessions", "N", "Sessions of a random story (default 3)"),
  hours: text("hours", "H", "Virtual hours of a random story's acts, such as 0.5 (default: 5 minutes)"),
  workers: text("workers", "N", "Processes that work at the same time (default: one per core)"),
  trace: text("trace", "FILE", "Every event of every story as JSON lines; compressed if the name ends in .gz"),
  report: text("report", "FILE.html", "One page that shows the story; with --scenario, --story or --stories 1"),
  json: Flag.Boolean("json").pipe(
    Flag.withDefault(false),
    Flag.withDescription("JSON lines only; the last one has passed and failed")
  )
}

/** The flags as the command line gives them. */
export interface SimulateFlags {
  readonly seed: Option.Option<string>
  readonly stories: Option.Option<string>
  readonly story: Option.Option<string>
  readonly scenario: Option.Option<string>
  readonly sweep: Option.Option<string>
  readonly forever: boolean
  readonly clusters: Option.Option<string>
  readonly sessions: Option.Option<string>
  readonly hours: Option.Option<string>
  readonly workers: Option.Option<string>
  readonly trace: Option.Option<string>
  readonly report: Option.Option<string>
  readonly json: boolean
}

/** Size of random stories. */
export interface StorySize {
  readonly clusters: number
  readonly sessions: number
  /** Virtual minutes of the stories' acts. */
  readonly minutes: number
}

/** The stories to simulate. */
export type Subject =
  | {
      readonly _tag: "Random"
      readonly seed: string | undefined
      readonly stories: number
      readonly forever: boolean
      readonly size: StorySize
    }
  /** One random story. `seed` is its own seed, not that of a series. */
  | { readonly _tag: "Story"; readonly seed: string; readonly size: StorySize }
  /** `seed` overrides the seed of the file. */
  | { readonly _tag: "Scenario" | "Sweep"; readonly scenario: string; readonly seed: string | undefined }

export interface SimulateOptions {
  readonly subject: Subject
  readonly workers: number
  readonly trace: string | undefined
  readonly report: string | undefined
  readonly json: boolean
}

/** Number and size of random stories where the flags say nothing. */
export const usual = { stories: 100, clusters: 3, sessions: 3, minutes: 5 }

const quoted = (value: string): string => JSON.stringify(value)

/**
 * Reads the flags. The failure has one sentence per mistake: which flag is wrong, what was found, what would be right.
 * `cores` is the number of workers unless the flags name another.
 */
export const readOptions = (
  flags: SimulateFlags,
  cores: number
): Result.Result<SimulateOptions, ReadonlyArray<string>> => {
  const mistakes: Array<string> = []
  const counted = (name: "stories" | "clusters" | "sessions" | "workers", otherwise: number, most: number): number =>
    Option.match(flags[name], {
      onNone: () => otherwise,
      onSome: (value) => {
        const number = Number(value)
        if (/^\d+$/.test(value) && number >= 1 && number <= most) return number
        mistakes.push(`--${name}: ${quoted(value)} is not a whole number from 1 to ${most}`)
        return otherwise
      }
    })
  const notEmpty = (
    name: "seed" | "story" | "scenario" | "sweep" | "trace" | "report",
    what: string
  ): string | undefined => {
    const value = Option.getOrUndefined(flags[name])
    if (value === undefined || value.trim() !== "") return value
    mistakes.push(`--${name}: the value is empty: give ${what}`)
    return undefined
  }
  const minutes = Option.match(flags.hours, {
    onNone: () => usual.minutes,
    onSome: (value) => {
      const hours = Number(value)
      if (/^\d+(\.\d+)?$/.test(value) && hours > 0 && hours <= 10_000) return hours * 60
      mistakes.push(`--hours: ${quoted(value)} is not a number above 0 and at most 10000, such as 0.5`)
      return usual.minutes
    }
  })
  const workers = counted("workers", cores, 1024)
  const size: StorySize = {
    clusters: counted("clusters", usual.clusters, 26),
    sessions: counted("sessions", usual.sessions, 1000),
    minutes
  }
  const stories = counted("stories", usual.stories, 1_000_000_000)
  const seed = notEmpty("seed", "a number or a text")
  const story = notEmpty("story", "the seed of one story, such as 1/7")
  for (const [name, value] of Object.entries({ seed, story })) {
    if (value !== undefined && /\s/.test(value))
      mistakes.push(`--${name}: ${quoted(value)} has white space, which a story's file cannot hold: leave it out`)
  }
  const trace = notEmpty("trace", "a file's name")
  const report = notEmpty("report", "a file's name, such as story.html")
  const scenario = notEmpty("scenario", "a scenario's name or a file")
  const sweep = notEmpty("sweep", "a scenario's name or a file")

  const written = scenario === undefined ? (sweep === undefined ? undefined : "sweep") : "scenario"
  if (scenario !== undefined && sweep !== undefined)
    mistakes.push("--sweep runs a scenario many times: give --scenario or --sweep, not both")
  if (written !== undefined) {
    for (const name of ["stories", "clusters", "sessions", "hours"] as const) {
      if (Option.isSome(flags[name]))
        mistakes.push(`--${name} is for random stories: leave it out with --${written}, whose file says all`)
    }
    if (flags.forever) mistakes.push(`--forever is for random stories: leave it out with --${written}`)
  }
  if (story !== undefined) {
    for (const name of ["seed", "stories", "scenario", "sweep"] as const) {
      if (Option.isSome(flags[name])) mistakes.push(`--${name}: leave it out with --story, whose seed says all`)
    }
    if (flags.forever) mistakes.push("--forever: leave it out with --story, whose seed says all")
  }
  const isOne =
    scenario !== undefined || story !== undefined || (sweep === undefined && !flags.forever && stories === 1)
  if (report !== undefined && !isOne)
    mistakes.push("--report shows one story: add --scenario NAME, --story SEED or --stories 1")
  if (report !== undefined && !/\.html?$/.test(report))
    mistakes.push(`--report: ${quoted(report)} is no page: end the name in .html`)
  if (mistakes.length > 0) return Result.fail(mistakes)

  const subject: Subject =
    scenario !== undefined
      ? { _tag: "Scenario", scenario, seed }
      : sweep !== undefined
        ? { _tag: "Sweep", scenario: sweep, seed }
        : story !== undefined
          ? { _tag: "Story", seed: story, size }
          : { _tag: "Random", seed, stories, forever: flags.forever, size }
  return Result.succeed({ subject, workers, trace, report, json: flags.json })
}
