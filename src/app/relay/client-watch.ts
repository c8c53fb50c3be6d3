/**
 * Watches a user's client for silence, and makes its silence known to the other connections of its session.
 * `client-pulse.ts` decides what a silence means.
 */

import { Effect } from "effect"
import { excuse, goneAt, intervalOf, isGone, isOverdue } from "../../domain/sessions/client-pulse.ts"
import { type ClientConnection, elapsed, finish, isClientUnread, isSilent } from "./client-connection.ts"

/** How often a client's silence is checked at least, in ms. */
const pulseCheck = 15_000

export const watchClient = (connection: ClientConnection): void => {
  const { clock, options, run, self } = connection
  const { holders } = options.locks
  let checkedAt = elapsed(clock)
  const check = (): void => {
    const now = elapsed(clock)
    const stoodStill = now - checkedAt > 2 * pulseCheck
    checkedAt = now
    checkPulse(connection, now, stoodStill)
  }
  for (const { check: checkOther } of [...holders.values()]) checkOther()
  holders.set(self, {
    mayBeReplaced: () => isSilent(connection),
    replaced: () =>
      finish(connection, {
        _tag: "ClientGone",
        reason: "it fell silent, and a newer connection of its session took its ports"
      }),
    check
  })
  // Once more at the moment in which the silence is long enough, so that nothing is held beyond it.
  const untilCheck = Effect.suspend(() => {
    const end = goneAt(connection.pulse, options.locks.patience) ?? Infinity
    return Effect.sleep(Math.max(1, Math.min(pulseCheck, end - elapsed(clock))))
  })
  run("pulse", Effect.forever(Effect.andThen(untilCheck, () => Effect.sync(check))))
}

/** `stoodStill`: this process was suspended for a while. */
const checkPulse = (connection: ClientConnection, now: number, stoodStill: boolean): void => {
  const { options } = connection
  // Silence does not count while the client was not read, or while this process was suspended.
  if (isClientUnread(connection) || stoodStill) connection.pulse = excuse(connection.pulse, now)
  const { pulse } = connection
  // Ended early: agents would go on giving requests to the dead connection, where they get no answer.
  if (options.hasYounger?.() === true && isOverdue(pulse, now))
    finish(connection, { _tag: "ClientGone", reason: "it fell silent, and its client has come again" })
  if (!isGone(pulse, now, options.locks.patience)) return
  if (intervalOf(pulse) === undefined) options.locks.gaveUp()
  finish(connection, {
    _tag: "ClientGone",
    reason: `it has said nothing for ${Math.round((now - pulse.heardAt) / 1_000)} s, not even its Pings`
  })
}
