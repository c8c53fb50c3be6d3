import { Effect, type Scope } from "effect"
import type { OperatorFacade } from "../api/operator-facade.ts"
import type { ApiError } from "../api/status.ts"
import { notTheLeader } from "./while-leading.ts"

type Facade = OperatorFacade["Service"]

/** What a replica serves, be it the leader or not. */
export interface ElectedFacade {
  readonly facade: Facade
  /** From now on, and for as long as the scope lives, requests go to `made`. */
  readonly serve: (made: Facade) => Effect.Effect<void, never, Scope.Scope>
}

/**
 * Answers for a replica that stands by: it is well, and whatever is asked of it is for the leader. No request gets
 * there but those that are on their way while the leader changes, for the Service selects the leader.
 */
export const makeElectedFacade = (): ElectedFacade => {
  let current: Facade | undefined
  const elected = <A, R>(use: (made: Facade) => Effect.Effect<A, ApiError, R>): Effect.Effect<A, ApiError, R> =>
    Effect.suspend(() => (current === undefined ? Effect.fail(notTheLeader()) : use(current)))
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
    facade: {
      problems: Effect.suspend(() => current?.problems ?? Effect.succeed([])),
      describe: elected((made) => made.describe),
      issueCertificate: (csr) => elected((made) => made.issueCertificate(csr)),
      listSessions: (namespace) => elected((made) => made.listSessions(namespace)),
      deleteSession: (reference, caller, namespace) =>
        elected((made) => made.deleteSession(reference, caller, namespace)),
      deleteAllSessions: (caller) => elected((made) => made.deleteAllSessions(caller)),
      connect: (request) => elected((made) => made.connect(request))
    }
  }
}
