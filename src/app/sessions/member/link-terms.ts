/**
 * Remembers which leader of a primary opened each session's links. A suspended leader's links look open but lose what
 * is sent on them; a link from the next leader closes them. Signals the end only: the owner of a link closes it.
 */

import { Deferred, Effect, type Scope } from "effect"

/** The open links of sessions in this cluster, by the term of the leader that opened them. */
export interface LinkTerms {
  /**
   * Records a link for as long as the scope lives. The inner effect completes when a link of another term comes to the
   * session. A link without a term is from a primary that elects no leader; it ends no link, and no link ends it.
   */
  readonly arrive: (session: string, term: string | undefined) => Effect.Effect<Effect.Effect<void>, never, Scope.Scope>
  /** How many links are known. */
  readonly size: () => number
}

export const makeLinkTerms = (): LinkTerms => {
  const links = new Set<{
    readonly session: string
    readonly term: string
    readonly succeeded: Deferred.Deferred<void>
  }>()
  return {
    size: () => links.size,
    arrive: (session, term) => {
      if (term === undefined) return Effect.succeed(Effect.never)
      const self = { session, term, succeeded: Deferred.makeUnsafe<void>() }
      return Effect.acquireRelease(
        Effect.sync(() => {
          for (const other of links) {
            if (other.session === session && other.term !== term) Deferred.doneUnsafe(other.succeeded, Effect.void)
          }
          links.add(self)
          return Deferred.await(self.succeeded)
        }),
        () => Effect.sync(() => links.delete(self))
      )
    }
  }
}
