/**
 * Runs effects of one name one after the other, for requests of which the second is to see what the first has done.
 * Effects of other names are not held up.
 */

import { Effect, Semaphore } from "effect"

/** The lock of one name, and how many hold it or wait for it. */
interface Turn {
  readonly semaphore: Semaphore.Semaphore
  users: number
}

/** Runs the effect while no other effect of the same name runs. */
export type InTurn = <A, E>(name: string, effect: Effect.Effect<A, E>) => Effect.Effect<A, E>

export const makeInTurn = (): InTurn => {
  const turns = new Map<string, Turn>()
  const take = (name: string): Turn => {
    const turn = turns.get(name) ?? { semaphore: Semaphore.makeUnsafe(1), users: 0 }
    turn.users++
    turns.set(name, turn)
    return turn
  }
  return (name, effect) =>
    Effect.acquireUseRelease(
      Effect.sync(() => take(name)),
      ({ semaphore }) => semaphore.withPermit(effect),
      (turn) =>
        Effect.sync(() => {
          if (--turn.users === 0) turns.delete(name)
        })
    )
}
