import { Deferred, Effect, type Scope } from "effect"

/**
 * Which leader of a primary each session's links are from. One that was stopped keeps its links open, as far as anybody
 * can see, and what is sent there is lost: so a link of another leader ends those of the one before.
 */
export interface LinkTerms {
  /**
   * Takes note of a link for as long as the scope lives. Gives what completes when a link of another term has come to
   * the session. Without a term no leader is elected there, and nothing ends anything.
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
