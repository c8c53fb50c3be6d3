/**
 * Keeps the values that clients have sent for branches, in memory alone, until the branch is made: the Secret then
 * belongs to the branch from the first moment, so nothing is left behind of a client that never makes it.
 *
 * Not here: which values a client may send (branch-credentials.ts).
 */

import { Effect, FiberMap, type Scope } from "effect"
import { type BranchCredentials, credentialsSecretName } from "../../domain/branches/branch-credentials.ts"
import { countHolding } from "../kernel/holdings.ts"
import { CurrentSecretBytes } from "../kernel/secret-bytes.ts"

/** How long a client may take to make the branch: it waits for others of its configuration first. */
const keptFor = "10 minutes"
const maxOfOneUser = 64
const tokenBytes = 16

type Kept = Pick<BranchCredentials, "namespace" | "values"> & { readonly user: string }

/** The values of branches that are not there yet. */
export interface OfferedCredentials {
  /** Keeps values, and returns the name that their Secret will have; `undefined` if the user has too many. */
  readonly offer: (credentials: BranchCredentials, user: string) => Effect.Effect<string | undefined>
  /** The values for a Secret in a namespace, as long as they are kept. */
  readonly find: (namespace: string, secret: string) => BranchCredentials["values"] | undefined
  /** Their Secret is there. */
  readonly forget: (secret: string) => Effect.Effect<void>
}

/** Keeps values for as long as the scope lives. */
export const makeOfferedCredentials: Effect.Effect<OfferedCredentials, never, Scope.Scope> = Effect.gen(function* () {
  const kept = new Map<string, Kept>()
  const ends = yield* FiberMap.make<string>()
  const bytes = yield* CurrentSecretBytes
  yield* countHolding("values for branches", () => kept.size)
  yield* Effect.addFinalizer(() => Effect.sync(() => kept.clear()))
  return {
    offer: ({ namespace, values }, user) =>
      Effect.suspend(() => {
        if ([...kept.values()].filter((one) => one.user === user).length >= maxOfOneUser)
          return Effect.succeed(undefined)
        const secret = credentialsSecretName(Buffer.from(bytes(tokenBytes)).toString("hex"))
        kept.set(secret, { namespace, values, user })
        const end = Effect.andThen(
          Effect.sleep(keptFor),
          Effect.sync(() => kept.delete(secret))
        )
        return Effect.as(FiberMap.run(ends, secret, end), secret)
      }),
    find: (namespace, secret) => {
      const found = kept.get(secret)
      return found?.namespace === namespace ? found.values : undefined
    },
    forget: (secret) =>
      Effect.suspend(() => {
        kept.delete(secret)
        return FiberMap.remove(ends, secret)
      })
  }
})
