/**
 * L4 (failures.md §2.4, §4.28). Refusals end with the faults that have caused them: those that a story injects, and
 * what people do to the Secrets of tokens. Refusals of tokens in a world without faults are N20's.
 */

import type { Invariant } from "./invariant.ts"

/** How long a cluster may refuse an operator's credentials in a world without faults, ms. */
const tolerated = 60_000

export const credentialsFresh: Invariant = {
  id: "L4",
  sentence: "No cluster keeps refusing an operator's credentials.",
  begin: (world) => {
    /** Since when every call of an operator is refused, by operator and cluster. */
    const refusedSince = new Map<string, number>()
    return {
      on: {
        Step: ({ text }) => {
          if (text === "(settle)") refusedSince.clear()
        },
        // A paused process makes no calls, so the pause does not count.
        Operator: ({ at, change, cluster }) => {
          if (change !== "resumed") return
          for (const key of refusedSince.keys()) if (key.startsWith(`${cluster} `)) refusedSince.set(key, at)
        },
        Answered: ({ at, call: { operator, to }, outcome }) => {
          const key = `${operator} in ${to}`
          const since = refusedSince.get(key)
          // A cluster that is not reached might refuse or not; that time does not count.
          if (outcome === "Unreachable") return since === undefined ? undefined : void refusedSince.set(key, at)
          if (outcome !== "Unauthorized") return void refusedSince.delete(key)
          const { areCredentialsWell, faultPlans, makers } = world()
          if (since === undefined || faultPlans.length > 0 || !areCredentialsWell || makers.isAwaited)
            return void refusedSince.set(key, at)
          // An operator that was refused asks seldom, and may ask for the first time after all is healed.
          const lasted = at - Math.max(since, world().healedAt)
          return lasted > tolerated ? `The operator of ${key} has been refused for ${lasted / 1000} s.` : undefined
        }
      },
      atRest: () =>
        [...refusedSince.keys()]
          .filter((key) => !world().cluster(key.split(" ")[0] ?? "").host.isGone)
          .map((key) => `The last call of the operator of ${key} was refused: Unauthorized.`)
    }
  }
}
