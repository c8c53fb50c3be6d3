/** Requests to workloads whose requests mirrord's own agent steals or stops to steal. */

import { expect } from "vitest"
import { eventually } from "./eventually.ts"

/**
 * Ends of attempts, after 5 s, and after twice as long as the one before if that was in vain. When its rules are made,
 * an agent ends the open sockets of the port (`ss --kill`), also those of connections that the rules have just
 * redirected. Their peers never learn of it: such a request hangs for ever, and cannot be told from one to a loaded
 * machine. So each attempt ends, and another begins.
 */
export const attempts = (): (() => AbortSignal) => {
  let ms = 5_000
  let last: AbortSignal | undefined
  return () => {
    if (last?.aborted === true) ms *= 2
    last = AbortSignal.timeout(ms)
    return last
  }
}

/** Tries until the answer is as wanted, see {@link attempts}. `who`: for the failure. */
export const answers = (
  who: string,
  wanted: string,
  attempt: (signal: AbortSignal) => Promise<string>
): Promise<void> => {
  const next = attempts()
  return eventually(`${who} answers ${wanted}`, async () => {
    expect(await attempt(next())).toBe(wanted)
  })
}
