/** The command `npm run fuzz`: reads its flags, starts the arena, reports progress and findings. */

import { randomInt } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Option, type Scope } from "effect"
import { type Arena, startArena } from "./arena.ts"
import type { FuzzFailure } from "./attack.ts"
import type { FuzzFlags } from "./fuzz-flags.ts"
import { fuzz, type FuzzOptions, type FuzzResult } from "./fuzz.ts"
import { type LiveSessions, openLiveSessions } from "./live-sessions.ts"
import { surfaces } from "./surfaces.ts"

/** The flags as options, or a sentence for each mistake. */
export const readFuzzOptions = (flags: FuzzFlags): FuzzOptions | ReadonlyArray<string> => {
  const mistakes: Array<string> = []
  const seed = Option.getOrUndefined(flags.seed)
  const surface = Option.getOrUndefined(flags.surface)
  const path = Option.getOrUndefined(flags.path)
  const names = surfaces.map(({ name }) => name)
  if (flags.seconds < 1) mistakes.push(`--seconds: found ${flags.seconds}; give at least 1`)
  if (surface !== undefined && !names.includes(surface))
    mistakes.push(`--surface: found ${JSON.stringify(surface)}; give one of ${names.join(", ")}`)
  if (path !== undefined && (surface === undefined || seed === undefined))
    mistakes.push("--path is of one input: give --surface and --seed as well, as the failure names them")
  if (path !== undefined && !/^\d+(?::\d+)*$/.test(path))
    mistakes.push(`--path: found ${JSON.stringify(path)}; give numbers with colons between, as the failure names them`)
  return mistakes.length > 0 ? mistakes : { seed: seed ?? randomInt(2 ** 31), seconds: flags.seconds, surface, path }
}

/** Runs a fuzz from the start of its arena to the end. `subnet`: the first of two networks for pods. */
export const runArena = <A>(
  subnet: number,
  step: (text: string) => void,
  use: (arena: Arena, live: LiveSessions) => Promise<A>
): Effect.Effect<A, unknown> =>
  Effect.gen(function* () {
    const directory = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "braid-fuzz-"))),
      (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
    )
    const arena: Arena = yield* startArena(directory, subnet, step)
    const { member, primary } = arena
    const live: LiveSessions = yield* openLiveSessions([primary.user, primary.user, member.user])
    step("live sessions")
    return yield* Effect.promise(() => use(arena, live))
  }).pipe(Effect.scoped<A, unknown, Scope.Scope>)

const counts = ({ tallies }: FuzzResult): ReadonlyArray<string> =>
  [...tallies].flatMap(([name, of]) =>
    of.size === 0
      ? []
      : [
          `  ${name}: ${[...of]
            .toSorted(([a], [b]) => a.localeCompare(b))
            .map(([what, count]) => `${what} ${count}×`)
            .join(", ")}`
        ]
  )

/** A failure for people, with the command that repeats it. */
export const findingText = ({ input, path, problems, seed, surface }: FuzzFailure): ReadonlyArray<string> => [
  ...problems.map((problem) => `failed: ${problem}`),
  ...(surface === undefined ? [] : [`surface ${surface}`]),
  ...(input === undefined ? ["no single input repeats it"] : ["the smallest input:", input]),
  `repeat: npm run fuzz -- ${surface === undefined ? "" : `--surface ${surface} `}--seed ${seed}${
    path === undefined ? "" : ` --path ${path}`
  }`
]

/** Exit code 0 if nothing was found, 1 for a finding, 2 for flags that cannot be used. */
export const runFuzz = (flags: FuzzFlags): Effect.Effect<number> =>
  Effect.suspend(() => {
    const options = readFuzzOptions(flags)
    if (!("seed" in options)) {
      for (const mistake of options) process.stderr.write(`fuzz: ${mistake}\n`)
      return Effect.succeed(2)
    }
    const say = (text: string): void => void process.stdout.write(`${text}\n`)
    const isTerminal = process.stderr.isTTY
    const tell = (text: string): void =>
      void process.stderr.write(isTerminal ? `\r\u001b[2K${text.slice(0, process.stderr.columns - 1)}` : `${text}\n`)
    say(`seed ${options.seed}`)
    return runArena(
      flags.subnet,
      (step) => tell(`ready: ${step}`),
      (arena, live) =>
        fuzz(arena, live, options, ({ inputs, rounds }) => tell(`round ${rounds}: ${inputs} inputs, nothing found`))
    ).pipe(
      Effect.map((result) => {
        if (isTerminal) process.stderr.write("\n")
        say(`${result.inputs} inputs in ${result.rounds} rounds`)
        for (const line of counts(result)) say(line)
        for (const line of result.failure === undefined ? ["nothing found"] : findingText(result.failure)) say(line)
        return result.failure === undefined ? 0 : 1
      }),
      Effect.catch((error) =>
        Effect.sync(() => {
          process.stderr.write(`fuzz: ${error instanceof Error ? error.message : String(error)}\n`)
          return 1
        })
      )
    )
  })
