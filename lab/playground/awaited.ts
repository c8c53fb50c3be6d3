/**
 * How the playground waits: for what happens, and for as long as something moves. Meanwhile people read what is awaited
 * and what was seen last. The waits themselves are in `readiness.ts` and in the stories.
 */

import { Clock, Context, Data, Effect } from "effect"
import { boundMinutes } from "../client/bound.ts"

/** Reports a sentence about a wait to people; by default it is dropped. */
export const TellOfWait = Context.Reference<(sentence: string) => Effect.Effect<void>>("braid/lab/TellOfWait", {
  defaultValue: () => () => Effect.void
})

/** A wait in which nothing new was seen for {@link boundMinutes}. */
export class Hangs extends Data.TaggedError("Hangs")<{ readonly what: string; readonly seen: string }> {
  override get message(): string {
    const last = this.seen === "" ? "" : `; seen last: ${this.seen}`
    return `${this.what} did not happen, and for ${boundMinutes} minutes nothing has moved${last}`
  }
}

/** How often people read of a wait. */
const tellEveryMs = 15_000

/** Reports a wait until it is over, and fails when no new state has come for too long. */
const watch = (what: string, look: () => string): Effect.Effect<never, Hangs> =>
  Effect.gen(function* () {
    const tell = yield* TellOfWait
    // A state that comes again is no movement: a container may start and end for ever.
    const states = new Set<string>()
    const begun = yield* Clock.currentTimeMillis
    for (let movedAt = begun, toldAt = begun; ; yield* Effect.sleep("200 millis")) {
      const [now, seen] = [yield* Clock.currentTimeMillis, look()]
      if (!states.has(seen)) movedAt = now
      states.add(seen)
      if (now - movedAt > boundMinutes * 60_000) return yield* new Hangs({ what, seen })
      if (now - toldAt < tellEveryMs) continue
      toldAt = now
      yield* tell(`  … waiting for ${what}${seen === "" ? "" : `: ${seen}`}`)
    }
  })

/**
 * Waits for what happens by itself, such as an answer. `look`: how things are now, in words.
 *
 * @param what as in "… did not happen"
 */
export const awaited = <A, E, R>(
  what: string,
  happens: Effect.Effect<A, E, R>,
  look: () => string = () => ""
): Effect.Effect<A, E | Hangs, R> => Effect.raceFirst(happens, watch(what, look))

/** Waits for a state that no event announces: looks again and again until there is something to see. */
export const seen = <A extends object | string | true, E, R>(
  what: string,
  find: Effect.Effect<A | undefined, E, R>,
  look?: () => string
): Effect.Effect<A, E | Hangs, R> =>
  awaited(
    what,
    Effect.gen(function* () {
      for (;;) {
        const found = yield* find
        if (found !== undefined) return found
        yield* Effect.sleep("50 millis")
      }
    }),
    look
  )
