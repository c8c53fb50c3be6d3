/** Ids of random hex digits, from the seeded service, so that a simulation is repeated with its ids. */

import { Effect, Random } from "effect"

/** So many hex digits, eight per draw; never zeros alone. */
export const randomHex = (count: 16 | 32): Effect.Effect<string> =>
  Effect.map(Effect.all(Array.from({ length: count / 8 }, () => Random.nextInt)), (words) => {
    const text = words.map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("")
    // A trace's id of zeros is invalid (W3C Trace Context, trace-id).
    return /[1-9a-f]/u.test(text) ? text : text.replace(/0$/u, "1")
  })
