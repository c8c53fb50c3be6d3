/**
 * Calls that no turn waits for, so that a slow or silent cluster holds up no other: at most one about each thing. The
 * bounds of a call, and the use of its answer, are the caller's.
 */

import { Effect, FiberSet, type Scope } from "effect"

/** `Done`: a watch or a later look shows the effect. `PlanAgain`: nothing else has the next step planned. */
export type CallEnd = "Done" | "PlanAgain"

export interface BackgroundCalls {
  readonly underWay: () => number
  /**
   * Begins a call, unless one with this key is under way. `planAgain` is called at its end if it says so, or if another
   * was asked for meanwhile.
   */
  readonly begin: (key: string, call: Effect.Effect<CallEnd>, planAgain?: () => void) => void
}

/** The calls end with the scope. */
export const makeBackgroundCalls: Effect.Effect<BackgroundCalls, never, Scope.Scope> = Effect.map(
  FiberSet.makeRuntime<never>(),
  (run) => {
    const calls = new Map<string, { isWantedAgain: boolean }>()
    const begin: BackgroundCalls["begin"] = (key, call, planAgain) => {
      const state = calls.get(key) ?? { isWantedAgain: false }
      state.isWantedAgain = calls.has(key)
      if (state.isWantedAgain) return
      calls.set(key, state)
      const ended = Effect.map(call, (end) => {
        calls.delete(key)
        if (state.isWantedAgain || end === "PlanAgain") planAgain?.()
      })
      run(ended)
    }
    return { underWay: () => calls.size, begin }
  }
)
