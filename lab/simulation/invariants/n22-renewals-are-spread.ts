/**
 * N22 (failures.md §3.23). Tokens that were made together are not renewed together, so that a primary of many members
 * asks for them over a time. Two may meet by chance, three do not.
 */

import { isOfKind } from "../story/call-kind.ts"
import type { Invariant } from "./invariant.ts"
import { LastTrouble } from "./last-trouble.ts"

/** Requests within so many ms are at once. */
const atOnce = 20
const tooMany = 3
/** Tokens that were put right together may be asked for together: nothing is judged for so many ms after trouble. */
const afterTrouble = 2_000

export const renewalsAreSpread: Invariant = {
  id: "N22",
  sentence: "The tokens of three members are not asked for at once.",
  begin: (world) => {
    /** By operator: the members that were asked within the last moment, and when. */
    const asked = new Map<string, Map<string, number>>()
    const trouble = new LastTrouble(world)
    return {
      each: (event) => trouble.on(event),
      on: {
        Called: ({ at: now, call }) => {
          if (!isOfKind(call, "tokens")) return undefined
          const { operator, to } = call
          const members = asked.get(operator) ?? new Map<string, number>()
          asked.set(operator, members.set(to, now))
          const together = [...members].filter(([, at]) => now - at <= atOnce).map(([member]) => member)
          return together.length >= tooMany && now - trouble.at > afterTrouble
            ? `The operator of ${operator} asks for the tokens of ${together.join(", ")} within ${atOnce} ms.`
            : undefined
        }
      }
    }
  }
}
