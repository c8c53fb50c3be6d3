/**
 * The form of an invariant: it begins a checker for each story, and the checker says what broke. The list of all
 * invariants is in `invariants.ts`, and a story asks them in `run-story.ts`.
 */

import type { TimedEvent } from "../world/world-event.ts"
import type { World } from "../world/world.ts"

/** An event of a kind. */
export type EventOf<Tag, Event = TimedEvent> = Event extends { readonly _tag: infer Tags }
  ? Tag extends Tags
    ? Event
    : never
  : never

/** A sentence about what broke, with names and numbers, or none. */
type Found = string | undefined | void

/** Watches one story. */
export interface Checker {
  /** Looks at each event right after it happened. */
  readonly each?: (event: TimedEvent) => Found
  /** The same for events of a kind, after `each`. */
  readonly on?: { readonly [Tag in TimedEvent["_tag"]]?: (event: EventOf<Tag>) => Found }
  /**
   * Looks at the world at a moment of rest. `healed`: all faults have ended, there was time to recover, and clients
   * that keep trying are still there. `left`: all clients have gone too, and there was time to clean up after them.
   */
  readonly atRest?: (moment: "healed" | "left") => ReadonlyArray<string>
}

/** Gives the sentence about what an event of one kind breaks; `undefined` if nothing. */
export type Listener = (event: TimedEvent) => string | undefined

/** The part of a checker that looks at events of a kind; `undefined` if none does. */
export const listener = ({ each, on }: Checker, tag: TimedEvent["_tag"]): Listener | undefined => {
  const handler = on?.[tag] as ((event: TimedEvent) => Found) | undefined
  if (each === undefined && handler === undefined) return undefined
  return (event) => each?.(event) ?? handler?.(event) ?? undefined
}

/** The sentence about what an event breaks; `undefined` if nothing. */
export const hear = (checker: Checker, event: TimedEvent): string | undefined => listener(checker, event._tag)?.(event)

/** A rule that holds in every story (failures.md §1 to §3). */
export interface Invariant {
  /** `S1` to `S12`, `L1` to `L6`, `N1` to `N27`, `S-B1` to `S-B17`, `L-B1` to `L-B7`, `T1` to `T10`, or `ledger`. */
  readonly id: string
  /** Only for worlds with branches of databases. */
  readonly ofBranches?: true
  /** Only for worlds with members that dial out. */
  readonly ofOutbound?: true
  /** The rule as a sentence; docs/concepts/failures.md has the same words. */
  readonly sentence: string
  /**
   * Begins a checker for one story. It runs before the world exists, so only the checker itself may ask for the world.
   */
  readonly begin: (world: () => World) => Checker
}

/** An invariant that broke. */
export interface Violation {
  readonly id: string
  readonly sentence: string
  readonly detail: string
  /** Virtual ms since the beginning of the world. */
  readonly at: number
  /** Line of the story during which it broke, from 1; the settling at the end has the line after the last. */
  readonly line: number
}
