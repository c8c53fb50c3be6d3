/**
 * A clock for sessions, which no change of the host's clock moves. Certificates are judged by the host's own clock.
 */

import { type Clock, Effect } from "effect"

/**
 * Starts at the current time of `clock` and adds the elapsed time, so it never jumps. Hosts' clocks do, when they are
 * set or when a machine wakes up, and sessions must not end because of it (failures.md §4.12).
 */
export const steadyClock = (clock: Clock.Clock): Clock.Clock => {
  const ahead = clock.currentTimeNanosUnsafe() - clock.monotonicTimeNanosUnsafe()
  const nanos = (): bigint => ahead + clock.monotonicTimeNanosUnsafe()
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
