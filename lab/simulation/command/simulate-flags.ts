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

type TextFlag = Exclude<keyof typeof simulateFlags, "forever" | "json">

/** The flags as the command line gives them. */
export type SimulateFlags = Readonly<Record<TextFlag, Option.Option<string>> & Record<"forever" | "json", boolean>>

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
const aScenario = "a scenario's name or a file"

/** Reads values, and collects a sentence about each mistake. */
class Reader {
  readonly mistakes: Array<string> = []
  readonly #flags: SimulateFlags

  constructor(flags: SimulateFlags) {
    this.#flags = flags
  }

  counted(name: "stories" | "clusters" | "sessions" | "workers", otherwise: number, max: number): number {
    const value = Option.getOrUndefined(this.#flags[name])
    const number = Number(value)
    if (value === undefined || (/^\d+$/.test(value) && number >= 1 && number <= max))
      return value === undefined ? otherwise : number
    this.mistakes.push(`--${name}: ${quoted(value)} is not a whole number from 1 to ${max}`)
    return otherwise
  }

  minutes(): number {
    const value = Option.getOrUndefined(this.#flags.hours)
    if (value === undefined) return usual.minutes
    const hours = Number(value)
    if (/^\d+(\.\d+)?$/.test(value) && hours > 0 && hours <= 10_000) return hours * 60
    this.mistakes.push(`--hours: ${quoted(value)} is not a number above 0 and at most 10000, such as 0.5`)
    return usual.minutes
  }

  notEmpty(name: TextFlag, what: string): string | undefined {
    const value = Option.getOrUndefined(this.#flags[name])
    if (value === undefined || value.trim() !== "") return value
    this.mistakes.push(`--${name}: the value is empty: give ${what}`)
    return undefined
  }

  seed(name: "seed" | "story", what: string): string | undefined {
    const value = this.notEmpty(name, what)
    if (value !== undefined && /\s/.test(value))
      this.mistakes.push(`--${name}: ${quoted(value)} has white space, which a story's file cannot hold: leave it out`)
    return value
  }

  /** Refuses flags that say what another flag says already. */
  leaveOut(names: ReadonlyArray<TextFlag | "forever">, sentence: (name: string) => string): void {
    const isGiven = (name: TextFlag | "forever"): boolean =>
      name === "forever" ? this.#flags.forever : Option.isSome(this.#flags[name])
    this.mistakes.push(...names.filter(isGiven).map(sentence))
  }

  /** Refuses a report of more than one story, and one that is no page. */
  report(subject: Subject): string | undefined {
    const report = this.notEmpty("report", "a file's name, such as story.html")
    if (report === undefined) return undefined
    const isOne = subject._tag === "Random" ? !subject.forever && subject.stories === 1 : subject._tag !== "Sweep"
    if (!isOne) this.mistakes.push("--report shows one story: add --scenario NAME, --story SEED or --stories 1")
    if (!/\.html?$/.test(report)) this.mistakes.push(`--report: ${quoted(report)} is no page: end the name in .html`)
    return report
  }
}

/** The stories that the flags ask for. */
const readSubject = (reader: Reader, forever: boolean): Subject => {
  const size: StorySize = {
    clusters: reader.counted("clusters", usual.clusters, 26),
    sessions: reader.counted("sessions", usual.sessions, 1000),
    minutes: reader.minutes()
  }
  const stories = reader.counted("stories", usual.stories, 1_000_000_000)
  const seed = reader.seed("seed", "a number or a text")
  const story = reader.seed("story", "the seed of one story, such as 1/7")
  const [scenario, sweep] = [reader.notEmpty("scenario", aScenario), reader.notEmpty("sweep", aScenario)]
  if (scenario !== undefined && sweep !== undefined)
    reader.mistakes.push("--sweep runs a scenario many times: give --scenario or --sweep, not both")
  const written = scenario ?? sweep
  if (written !== undefined) {
    const flag = scenario === undefined ? "--sweep" : "--scenario"
    reader.leaveOut(
      ["stories", "clusters", "sessions", "hours"],
      (name) => `--${name} is for random stories: leave it out with ${flag}, whose file says all`
    )
    reader.leaveOut(["forever"], (name) => `--${name} is for random stories: leave it out with ${flag}`)
  }
  if (story !== undefined)
    reader.leaveOut(
      ["seed", "stories", "scenario", "sweep", "forever"],
      (name) => `--${name}: leave it out with --story, whose seed says all`
    )
  if (written !== undefined) return { _tag: scenario === undefined ? "Sweep" : "Scenario", scenario: written, seed }
  return story === undefined ? { _tag: "Random", seed, stories, forever, size } : { _tag: "Story", seed: story, size }
}

/**
 * Reads the flags. The failure has one sentence per mistake: which flag is wrong, what was found, what would be right.
 * `cores` is the number of workers unless the flags name another.
 */
export const readOptions = (
  flags: SimulateFlags,
  cores: number
): Result.Result<SimulateOptions, ReadonlyArray<string>> => {
  const reader = new Reader(flags)
  const workers = reader.counted("workers", cores, 1024)
  const subject = readSubject(reader, flags.forever)
  const trace = reader.notEmpty("trace", "a file's name")
  const report = reader.report(subject)
  return reader.mistakes.length > 0
    ? Result.fail(reader.mistakes)
    : Result.succeed({ subject, workers, trace, report, json: flags.json })
}
