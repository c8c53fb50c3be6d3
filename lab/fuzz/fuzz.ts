/**
 * Fuzzing in rounds: attackers on all surfaces at once for some seconds, then a look at whether the arena is as before.
 * A failure is shrunk to its smallest input. Prints nothing.
 */

import { createHash } from "node:crypto"
import type { Arena } from "./arena.ts"
import { attack, type FuzzFailure, type Lane, type Place } from "./attack.ts"
import { growthOf, problemsOf, takeBase } from "./health.ts"
import type { LiveSessions } from "./live-sessions.ts"
import { surfaces, Tally } from "./surfaces.ts"

export interface FuzzOptions {
  readonly seed: number
  readonly seconds: number
  /**
   * So many rounds instead, in which each attacker tries so many inputs, however long that takes: what is tried does
   * not depend on the machine then.
   */
  readonly rounds?: { readonly count: number; readonly inputs: number }
  /** Only this surface; `seed` is then that of its first attacker, as a failure names it. */
  readonly surface: string | undefined
  /** Only the input with this path of fast-check, below the seed. */
  readonly path: string | undefined
}

export interface FuzzResult {
  readonly inputs: number
  readonly rounds: number
  /** How often came what of the inputs, by surface. */
  readonly tallies: ReadonlyMap<string, ReadonlyMap<string, number>>
  readonly failure: FuzzFailure | undefined
}

/** How long attackers work between two looks, in ms. */
const roundMs = 8_000
/** How long a failure may be made smaller, in ms. */
const shrinkMs = 120_000

const seedOf = (...parts: ReadonlyArray<string | number>): number =>
  createHash("sha256").update(parts.join("/")).digest().readUInt32BE(0) >>> 1

/** Looks for the smallest input beside a failed one. */
const shrunk = async (place: Place, lane: Lane, found: FuzzFailure, checked: boolean): Promise<FuzzFailure> => {
  if (found.path === undefined) return found
  const smaller = await attack(place, lane, new Tally(), { ms: shrinkMs, path: found.path, checked, shrinks: true })
  return smaller.failure ?? found
}

/** Looks for the input that has left the arena in another state: the attackers once more, one at a time. */
const blamed = async (
  place: Place,
  lanes: ReadonlyArray<Lane>,
  problems: ReadonlyArray<string>
): Promise<FuzzFailure> => {
  // The words of a broken arena about the next input are worth nothing.
  const isWell = (await problemsOf(place.arena, place.base, place.live)).length === 0
  for (const lane of isWell ? lanes : []) {
    const { failure } = await attack(place, lane, new Tally(), { ms: shrinkMs, checked: true })
    if (failure !== undefined) return shrunk(place, lane, failure, true)
  }
  return { surface: undefined, seed: 0, path: undefined, problems, input: undefined }
}

/** A path is that of one attacker. */
const lanesOf = ({ path, seed, surface }: FuzzOptions, round: number): ReadonlyArray<Lane> =>
  surfaces
    .filter(({ name }) => surface === undefined || surface === name)
    .flatMap((one) =>
      Array.from({ length: path === undefined ? one.lanes : 1 }, (_, lane) => ({
        surface: one,
        seed: surface !== undefined && round === 0 && lane === 0 ? seed : seedOf(seed, round, one.name, lane)
      }))
    )

/** `progress` is called after each round. */
export const fuzz = async (
  arena: Arena,
  live: LiveSessions,
  options: FuzzOptions,
  progress: (result: FuzzResult) => void
): Promise<FuzzResult> => {
  const tallies = new Map(surfaces.map(({ name }) => [name, new Tally()]))
  let [inputs, rounds] = [0, 0]
  const result = (failure?: FuzzFailure): FuzzResult => ({
    inputs,
    rounds,
    tallies: new Map([...tallies].map(([name, { counts }]) => [name, counts])),
    failure
  })
  const place = { arena, live, base: await takeBase(arena) }
  const end = performance.now() + options.seconds * 1000
  do {
    const lanes = lanesOf(options, rounds)
    const found = await Promise.all(
      lanes.map(async (lane) => {
        const path = options.path === undefined ? {} : { path: options.path }
        const limit = options.rounds ?? { ms: Math.min(roundMs, options.seconds * 1000) }
        const finding = await attack(place, lane, tallies.get(lane.surface.name) ?? new Tally(), { ...limit, ...path })
        inputs += finding.inputs
        return { lane, failure: finding.failure }
      })
    )
    rounds++
    for (const { failure, lane } of found)
      if (failure !== undefined) return result(await shrunk(place, lane, failure, false))
    const problems = await problemsOf(arena, place.base, live)
    if (problems.length > 0) {
      const blame = await blamed(place, lanes, problems)
      return result(blame.surface === undefined ? { ...blame, seed: options.seed } : blame)
    }
    progress(result())
  } while (
    options.path === undefined &&
    (options.rounds === undefined ? performance.now() < end : rounds < options.rounds.count)
  )
  const problems = await growthOf(arena, place.base)
  return problems.length === 0
    ? result()
    : result({ surface: options.surface, seed: options.seed, path: undefined, problems, input: undefined })
}
