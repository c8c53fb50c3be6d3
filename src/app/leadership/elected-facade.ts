/**
 * The answers of a replica, be it the leader or not: the leader's facade while there is one, and until then that
 * somebody else leads. The elector decides who leads.
 */

import { Effect, type Scope } from "effect"
import { type Facade, mapFacade } from "../api/facade-gate.ts"
import { notTheLeader } from "./while-leading.ts"

/** The facade of a replica, be it the leader or not. */
export interface ElectedFacade {
  readonly facade: Facade
  /** From now on, and for as long as the scope lives, requests go to `made`. */
  readonly serve: (made: Facade) => Effect.Effect<void, never, Scope.Scope>
}

/**
 * A replica that stands by is well, and answers that the leader is to be asked. The Service selects the leader, so a
 * standby sees only requests that are on their way while the leader changes.
 */
export const makeElectedFacade = (): ElectedFacade => {
  let current: Facade | undefined
  const leader = Effect.suspend(() => (current === undefined ? Effect.fail(notTheLeader()) : Effect.succeed(current)))
  return {
    serve: (made) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          current = made
        }),
        () =>
          Effect.sync(() => {
            if (current === made) current = undefined
          })
      ),
    facade: mapFacade(leader, { problems: Effect.suspend(() => current?.problems ?? Effect.succeed([])) })
  }
}
