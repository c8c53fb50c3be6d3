/**
 * A clock for sessions that no change of the host's clock moves. Certificates are judged by the host's own.
 */

import { type Clock, Effect } from "effect"

/**
 * The time of `clock` when this was made, and from then on what has elapsed: it never jumps. Hosts' clocks do, when
 * they are set or when a machine wakes up, and sessions must not end because of it (failures.md §4.12).
 */
export const steadyClock = (clock: Clock.Clock): Clock.Clock => {
  const wall = clock.currentTimeNanosUnsafe()
  const begin = clock.monotonicTimeNanosUnsafe()
  const nanos = (): bigint => wall + clock.monotonicTimeNanosUnsafe() - begin
  const millis = (): number => Number(nanos() / 1_000_000n)
  return {
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: clock.monotonicTimeNanos,
    sleep: (duration) => clock.sleep(duration)
  }
}
