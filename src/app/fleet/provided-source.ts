/**
 * The configuration of the fleet together with the clusters that are found while the operator runs.
 *
 * Not here: finding them (cluster-providers.ts), and which of them join (domain/fleet/provided-clusters.ts).
 */

import { Clock, Effect, type Scope } from "effect"
import { type ProvidedFleet, withProvided } from "../../domain/fleet/provided-clusters.ts"
import { sha256Hex } from "../kernel/sha256-hex.ts"
import type { ConfigurationSource } from "./configuration-source.ts"
import type { ProvidedClusters } from "./found-clusters.ts"

/** The kubeconfig of a cluster, which belongs to the first that has found it. */
const firstOf = (found: ReadonlyArray<ProvidedClusters>, name: string): string | undefined =>
  found.map(({ kubeconfig }) => kubeconfig(name)).find((text) => text !== undefined)

/** Follows both while the scope lives. */
export const makeProvidedSource = Effect.fnUntraced(function* (
  files: ConfigurationSource,
  found: ReadonlyArray<ProvidedClusters>
): Effect.fn.Return<ConfigurationSource, never, Scope.Scope> {
  const clock = yield* Clock.Clock
  const listeners = new Set<() => void>()
  const fleet = (): ProvidedFleet => {
    const all = found.flatMap(({ all: now }) => now())
    const { configuration, refused } = withProvided(files.known(), all, sha256Hex)
    return { configuration, refused: [...found.flatMap(({ problems }) => problems()), ...refused] }
  }
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
    provided: { refused: () => known.refused, since: () => since, kubeconfig: (name) => firstOf(found, name) },
    listen: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    }
  }
})
