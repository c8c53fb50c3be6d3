/**
 * Lanes for requests of people, with their bounds.
 *
 * Not here: the bounds themselves (domain/outbound/people-bounds.ts), and whether a person may ask (app/operator).
 */

import type { Duplex } from "node:stream"
import { Effect } from "effect"
import { whyFull } from "../../domain/outbound/people-bounds.ts"
import type { OpenPersonalLane } from "../../ports/outbound-connector.ts"
import type { Cell } from "./cell.ts"

/** Counts by name; a name without any is forgotten. */
class Counts {
  readonly #counts = new Map<string, number>()

  readonly of = (name: string): number => this.#counts.get(name) ?? 0

  add(name: string, difference: 1 | -1): void {
    const next = this.of(name) + difference
    if (next > 0) this.#counts.set(name, next)
    else this.#counts.delete(name)
  }
}

/** `cellNow`: the cell. It throws an error that says why there is none. */
export const makePersonalLanes = (cellNow: () => Pick<Cell, "lanes" | "openLane">): OpenPersonalLane => {
  const [requests, upgrades] = [new Counts(), new Counts()]
  return ({ cluster, isUpgrade, user }) =>
    Effect.try({
      try: (): Duplex => {
        const cell = cellNow()
        const counted = { requests: requests.of(cluster), upgrades: upgrades.of(user), lanes: cell.lanes(cluster) }
        const why = whyFull({ cluster, isUpgrade, user, ...counted })
        if (why !== undefined) throw new Error(why)
        const lane = cell.openLane(cluster, "people")
        const held = isUpgrade
          ? ([
              [requests, cluster],
              [upgrades, user]
            ] as const)
          : ([[requests, cluster]] as const)
        for (const [counts, name] of held) counts.add(name, 1)
        lane.once("close", () => {
          for (const [counts, name] of held) counts.add(name, -1)
        })
        return lane
      },
      catch: (cause) => (cause instanceof Error ? cause.message : String(cause))
    })
}
