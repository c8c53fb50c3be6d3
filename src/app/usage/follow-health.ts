/**
 * Follows the health of the fleet's clusters and brings the store up to date. Which spans there are, and which are due,
 * domain/usage/health-spans.ts decides.
 *
 * Not here: when it is looked, and the store's life (follow-sessions.ts).
 */

import { Effect } from "effect"
import { cleanText, textLimits } from "../../domain/clean-text.ts"
import type { ClusterReadiness } from "../../domain/fleet/cluster-object.ts"
import {
  adoptHealth,
  afterSpanWrites,
  dueSpans,
  followedSpans,
  type HealthReading,
  type HealthSpan,
  noHealth,
  readHealth
} from "../../domain/usage/health-spans.ts"
import type { UsageStore, UsageStoreError } from "../../ports/usage-store.ts"
import type { FleetView } from "../services/fleet-view.ts"

/** A cluster that has not been checked yet has no reading. */
const readingOf = (cluster: string, readiness: ClusterReadiness): ReadonlyArray<HealthReading> => {
  const name = cleanText(cluster, textLimits.name)
  switch (readiness._tag) {
    case "Connecting":
      return []
    case "Connected":
      return [{ cluster: name, unready: undefined }]
    case "Lost":
    case "CredentialsRefused":
    case "NotUsable":
    case "RightMissing":
    case "SessionsUnreadable":
      return [
        {
          cluster: name,
          unready: { reason: readiness._tag, message: cleanText(readiness.message, textLimits.quotation) }
        }
      ]
  }
}

/** The health that is followed. */
export class FollowedFleet {
  readonly #readiness: FleetView["Service"]["readiness"]
  #state = noHealth

  constructor(readiness: FleetView["Service"]["readiness"]) {
    this.#readiness = readiness
  }

  /** Reads the fleet. `now`: by the clock of the fleet, `at`: by the host's, epoch ms. */
  readonly look = (now: number, at: number): void => {
    const readings = [...this.#readiness(now)].flatMap(([cluster, readiness]) => readingOf(cluster, readiness))
    this.#state = readHealth(this.#state, readings, at)
  }

  /** Takes over a store that was opened. */
  readonly adopt = (store: UsageStore): Effect.Effect<void, UsageStoreError> =>
    Effect.map(store.openHealth, (found) => void (this.#state = adoptHealth(this.#state, found)))

  /** Writes what is due. */
  readonly write = (store: UsageStore): Effect.Effect<void, UsageStoreError> =>
    Effect.suspend(() => {
      const due = dueSpans(this.#state)
      return due.length === 0
        ? Effect.void
        : Effect.map(store.putHealth(due), () => void (this.#state = afterSpanWrites(this.#state, due)))
    })

  /** The spans that are followed, which are as the store has them or newer. */
  readonly spans = (): ReadonlyArray<HealthSpan> => followedSpans(this.#state)
}
