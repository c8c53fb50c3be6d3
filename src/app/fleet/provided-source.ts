/**
 * The configuration of the fleet together with the clusters that are found while the operator runs.
 *
 * Not here: finding them (kubeconfig-secrets.ts), and which of them join (domain/fleet/provided-clusters.ts).
 */

import { Clock, Effect, type Scope } from "effect"
import { withProvided } from "../../domain/fleet/provided-clusters.ts"
import { sha256Hex } from "../kernel/sha256-hex.ts"
import type { ConfigurationSource } from "./configuration-source.ts"
import type { ProvidedClusters } from "./kubeconfig-secrets.ts"

/** Follows both while the scope lives. */
export const makeProvidedSource = (
  files: ConfigurationSource,
  found: ProvidedClusters
): Effect.Effect<ConfigurationSource, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const listeners = new Set<() => void>()
    const fleet = () => withProvided(files.known(), found.all(), sha256Hex)
    let known = fleet()
    let since = clock.currentTimeMillisUnsafe()
    const changed = (): void => {
      const next = fleet()
      if (next.refused.length > 0 !== known.refused.length > 0) since = clock.currentTimeMillisUnsafe()
      known = next
      for (const listener of listeners) listener()
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => [files.listen(changed), found.listen(changed)]),
      (stops) => Effect.sync(() => stops.forEach((stop) => stop()))
    )
    return {
      known: () => known.configuration,
      verdict: files.verdict,
      provided: { refused: () => known.refused, since: () => since, secret: found.secret },
      listen: (listener) => {
        listeners.add(listener)
        return () => void listeners.delete(listener)
      }
    }
  })
