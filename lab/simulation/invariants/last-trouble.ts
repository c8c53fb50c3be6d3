/** When something was wrong last, for invariants about what an operator does while all is well. */

import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { isOfKind } from "../story/call-kind.ts"
import type { TimedEvent } from "../world/world-event.ts"
import type { World } from "../world/world.ts"

/**
 * Calls for tokens and lists of sessions, which operators repeat while they fail, are the moments at which the world is
 * looked at: looking at each event would make stories slow.
 */
export class LastTrouble {
  readonly #world: () => World
  #seenAt = -Infinity

  constructor(world: () => World) {
    this.#world = world
  }

  /** Hears of each event. */
  on(event: TimedEvent): void {
    if (event._tag === "Fault" || event._tag === "Operator") this.#seenAt = event.at
    if (event._tag !== "Called" && event._tag !== "Answered") return
    const { resource, verb } = event.call
    const isRepeated = isOfKind(event.call, "tokens") || (verb === "list" && resource === mirrordClusterSessions.plural)
    if (isRepeated && !this.#world().isWell) this.#seenAt = event.at
  }

  /** World time, ms; all faults end together when a story heals its world. */
  get at(): number {
    return Math.max(this.#seenAt, this.#world().healedAt)
  }
}
