import { setTimeout as pause } from "node:timers/promises"
import { boundMinutes } from "../../lab/client/bound.ts"

/**
 * Looks again and again until there is something to see. This is how tests wait, wherever nothing tells them: no sleep,
 * and no bound of their own, which a loaded machine would not keep. The one bound ends what hangs, so that a test that
 * waits in vain says for what, before its time-out (vitest.config.ts) says only that it hung. Before that comes a last
 * look after a pause, in which all that waits in this process gets its turn: perhaps the machine had only stood still.
 */
export const until = async <A>(what: string, look: () => A | undefined | Promise<A | undefined>): Promise<A> => {
  const deadline = performance.now() + boundMinutes * 60_000
  for (let last = false; ; last ||= performance.now() > deadline) {
    const seen = await look()
    if (seen !== undefined) return seen
    if (last) throw new Error(`not seen within ${boundMinutes} minutes: ${what}`)
    await pause(performance.now() > deadline ? 2_000 : 20)
  }
}
