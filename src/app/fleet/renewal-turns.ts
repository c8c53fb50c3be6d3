/**
 * Waits until a renewal of credentials has its turn among those of all members.
 *
 * Not here: the turns (domain/fleet/credentials/renewal-pace.ts), and renewing (follow-credentials.ts).
 */

import { Clock, Effect } from "effect"
import { renewalTurn } from "../../domain/fleet/credentials/renewal-pace.ts"
import { elapsedOf } from "../kernel/term.ts"

/** One pace for many members; its effect waits for a turn. */
export const makeRenewalTurns: Effect.Effect<Effect.Effect<void>> = Effect.map(Clock.Clock, (clock) => {
  const elapsed = elapsedOf(clock)
  let before: number | undefined
  return Effect.suspend(() => {
    const now = elapsed()
    const { at, next } = renewalTurn(before, now)
    before = next
    return at > now ? Effect.sleep(at - now) : Effect.void
  })
})
