/**
 * The configuration of the fleet together with the clusters that are found while the operator runs.
 *
 * Not here: finding them (cluster-providers.ts), and which of them join (domain/fleet/provided-clusters.ts).
 */

import { Clock, Effect, type Scope } from "effect"
import { withProvided } from "../../domain/fleet/provided-clusters.ts"
import type { KubeObject } from "../../ports/kube-api.ts"
import { sha256Hex } from "../kernel/sha256-hex.ts"
import type { ConfigurationSource } from "./configuration-source.ts"
import type { ProvidedClusters } from "./found-clusters.ts"

/** The Secret of a cluster, which belongs to the first that has found it. */
const firstOf = (found: ReadonlyArray<ProvidedClusters>, name: string): KubeObject | undefined =>
  found.map(({ secret }) => secret(name)).find((secret) => secret !== undefined)

/** Follows both while the scope lives. */
export const makeProvidedSource = (
  files: ConfigurationSource,
  found: ReadonlyArray<ProvidedClusters>
): Effect.Effect<ConfigurationSource, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const listeners = new Set<() => void>()
    const fleet = () =>
      withProvided(
        files.known(),
        found.flatMap(({ all }) => all()),
        sha256Hex
      )
    let known = fleet()
    let since = clock.currentTimeMillisUnsafe()
    const changed = (): void => {
      const next = fleet()
      if (next.refused.length > 0 !== known.refused.length > 0) since = clock.currentTimeMillisUnsafe()
      known = next
      for (const listener of listeners) listener()
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => [files, ...found].map(({ listen }) => listen(changed))),
      (stops) => Effect.sync(() => stops.forEach((stop) => stop()))
    )
    return {
      known: () => known.configuration,
      verdict: files.verdict,
      provided: { refused: () => known.refused, since: () => since, secret: (name) => firstOf(found, name) },
      listen: (listener) => {
        listeners.add(listener)
        return () => void listeners.delete(listener)
      }
    }
  })
