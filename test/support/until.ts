import { setTimeout as pause } from "node:timers/promises"

/**
 * How long a test waits for something in ms. Nothing is expected to happen in that time: it is there so that a test
 * that waits in vain says for what, before its own time-out (vitest.config.ts) says only that it hung.
 */
const patience = 150_000

/**
 * Looks again and again until there is something to see. This is how tests wait, wherever nothing tells them: no sleep,
 * and no bound of a few seconds, which a loaded machine would not keep. When time is up there is a last look after a
 * pause, in which all that waits in this process gets its turn: perhaps the machine had only stood still. `longerMs`:
 * how long instead, if that is longer.
 */
export const until = async <A>(
  what: string,
  look: () => A | undefined | Promise<A | undefined>,
  longerMs = 0
): Promise<A> => {
  const limitMs = Math.max(patience, longerMs)
  const deadline = performance.now() + limitMs
  for (let last = false; ; last ||= performance.now() > deadline) {
    const seen = await look()
    if (seen !== undefined) return seen
    if (last) throw new Error(`not seen within ${limitMs / 1000} s: ${what}`)
    await pause(performance.now() > deadline ? 2_000 : 20)
  }
}
