/**
 * The counts of people's requests through tunnels, by member. A member that leaves the fleet takes its own with it.
 *
 * Not here: the audit lines (audit-people.ts).
 */

import { Context } from "effect"
import type { ClusterName } from "../../domain/fleet/cluster-name.ts"
import type { Sample } from "../../domain/metrics/catalogue.ts"
import type { PeopleKind } from "../../domain/outbound/people-audit.ts"

interface Counted {
  /** Requests under way. */
  open: number
  /** Requests that have ended, by kind and code. */
  readonly ended: Map<string, { readonly kind: PeopleKind; readonly code: string; count: number }>
}

export class PeopleCounts {
  readonly #clusters = new Map<ClusterName, Counted>()

  /** Counts a request that is passed on, until the returned function is called. */
  readonly begin = (cluster: ClusterName): (() => void) => {
    const counted = this.#of(cluster)
    counted.open++
    return () => void counted.open--
  }

  /** Counts a request that has ended. `cluster`: one of the fleet. `code`: `undefined` if the person left before. */
  readonly end = (cluster: ClusterName, kind: PeopleKind, code: number | undefined): void => {
    const { ended } = this.#of(cluster)
    const text = String(code ?? 0)
    const key = `${kind} ${text}`
    const entry = ended.get(key) ?? { kind, code: text, count: 0 }
    entry.count++
    ended.set(key, entry)
  }

  /** Forgets the counts of all but these clusters. */
  readonly samples = (fleet: ReadonlyArray<ClusterName>): ReadonlyArray<Sample> => {
    const names = new Set(fleet)
    for (const cluster of this.#clusters.keys()) if (!names.has(cluster)) this.#clusters.delete(cluster)
    return [...this.#clusters].flatMap(([cluster, { ended, open }]): ReadonlyArray<Sample> => [
      { name: "braid_people_requests", labels: { cluster }, value: open },
      ...[...ended.values()].map(({ code, count, kind }): Sample => ({
        name: "braid_people_requests_total",
        labels: { cluster, kind, code },
        value: count
      }))
    ])
  }

  #of(cluster: ClusterName): Counted {
    const counted = this.#clusters.get(cluster) ?? { open: 0, ended: new Map() }
    this.#clusters.set(cluster, counted)
    return counted
  }
}

/** The counts of this process, unless others are provided. */
export const CurrentPeopleCounts = Context.Reference("braid/app/CurrentPeopleCounts", {
  defaultValue: () => new PeopleCounts()
})
