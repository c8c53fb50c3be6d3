/**
 * Answers requests at a replica: by the leader's facade while it leads, and otherwise that another replica leads. The
 * elector decides who leads.
 */

import { Effect, type Scope } from "effect"
import { type Facade, mapFacade } from "../api/facade-gate.ts"
import { notTheLeader } from "./while-leading.ts"

/** The facade of a replica, whether it leads or not. */
export interface ElectedFacade {
  readonly facade: Facade
  /** Sends requests to `made`, for as long as the scope lives. */
  readonly serve: (made: Facade) => Effect.Effect<void, never, Scope.Scope>
  /** Whether this replica leads now. */
  readonly leads: () => boolean
}

/**
 * The facade of a replica that stands by: healthy, and refers every request to the leader. The Service selects the
 * leader, so a standby sees only requests in flight during a change of leaders.
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
    leads: () => current !== undefined,
    facade: mapFacade(leader, { problems: Effect.suspend(() => current?.problems ?? Effect.succeed([])) })
  }
}
