/**
 * One attacker of a fuzzing round: inputs of one surface, one after the other, for a time or up to a number. Each input
 * is judged, also the last, which may outlast the time.
 */

import * as fc from "fast-check"
import type { Arena } from "./arena.ts"
import { type Base, problemsOf } from "./health.ts"
import type { LiveSessions } from "./live-sessions.ts"
import type { Attack, Surface, Tally } from "./surfaces.ts"

export interface FuzzFailure {
  readonly surface: string | undefined
  readonly seed: number
  readonly path: string | undefined
  readonly problems: ReadonlyArray<string>
  /** The smallest input that was found, as text. */
  readonly input: string | undefined
}

export interface Lane {
  readonly surface: Surface
  readonly seed: number
}

export interface Place {
  readonly arena: Arena
  readonly live: LiveSessions
  readonly base: Base
}

class Wrong extends Error {}

const message = (error: unknown): string => (error instanceof Error ? error.message : String(error))

interface Finding {
  readonly inputs: number
  readonly failure: FuzzFailure | undefined
}

/** An input and what became of it: a problem, or none. */
interface Tried {
  readonly one: Attack
  readonly problem: Promise<string | undefined>
}

/** How long an attacker works: for so many ms, or until it has tried so many inputs. */
export type Limit = { readonly ms: number } | { readonly inputs: number }

/** Runs one attacker. `checked`: looks at the arena after each input. */
export const attack = async (
  { arena, base, live }: Place,
  { seed, surface }: Lane,
  tally: Tally,
  options: Limit & { readonly path?: string; readonly checked?: boolean; readonly shrinks?: boolean }
): Promise<Finding> => {
  const tried: { count: number; last?: Tried } = { count: 0 }
  const problemOf = async (one: Attack): Promise<string | undefined> => {
    const problem = await one.run(arena, tally)
    if (problem !== undefined || options.checked !== true) return problem
    const problems = await problemsOf(arena, base, live)
    return problems.length === 0 ? undefined : problems.join("\n")
  }
  const property = fc.asyncProperty(surface.attack, async (one) => {
    tried.last = { one, problem: problemOf(one).catch(message) }
    tried.count++
    const problem = await tried.last.problem
    if (problem !== undefined) throw new Wrong(problem)
  })
  const wanted = "inputs" in options ? options.inputs : 1_000_000
  const details = await fc.check(property, {
    seed,
    numRuns: options.path === undefined ? wanted : 1,
    ...("ms" in options ? { interruptAfterTimeLimit: options.ms, markInterruptAsFailure: false } : {}),
    endOnFailure: options.shrinks !== true,
    ...(options.path === undefined ? {} : { path: options.path })
  })
  const failure = (path: string | undefined, problem: string, { show }: Attack): FuzzFailure => ({
    surface: surface.name,
    seed,
    path,
    problems: problem.split("\n"),
    input: show()
  })
  // The input that was running when time was up goes on, is over before the arena is looked at, and is judged too.
  const late = await tried.last?.problem
  const { counterexample, counterexamplePath, errorInstance, numRuns: inputs } = details
  // A check that was interrupted before its first input has ended counts as failed to fast-check, but says nothing.
  if (counterexample !== null)
    return { inputs, failure: failure(counterexamplePath ?? undefined, message(errorInstance), counterexample[0]) }
  return tried.last === undefined || late === undefined
    ? { inputs, failure: undefined }
    : { inputs, failure: failure(options.path ?? `${tried.count - 1}`, late, tried.last.one) }
}
