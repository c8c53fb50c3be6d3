/**
 * The command `braid leave`: prints what was removed, or would be, and what stays behind.
 *
 * Not here: the work (leave.ts).
 */

import { Effect } from "effect"
import { type Output, tell, type Told } from "../overview/tell.ts"
import { leave, type LeaveOptions, type Left } from "./leave.ts"

export interface LeaveCommandOptions extends LeaveOptions {
  readonly output: Output
}

const stateLines = ({ done, writes }: Left): ReadonlyArray<string> =>
  done ?? ["Nothing was removed. --apply does this:", ...writes.map(({ doing }) => `  ${doing}`)]

const told = (left: Left): Told => {
  const { done, name, plan, writes } = left
  return {
    value: {
      cluster: name,
      ...(done === undefined ? { planned: writes.map(({ doing }) => doing) } : { done }),
      left: plan.left
    },
    lines: [...stateLines(left), ...(plan.left.length === 0 ? [] : ["", "Left behind:", ...plan.left])],
    notes: []
  }
}

/** Exit code 1 if there is no such cluster, if it may not leave, or not all could be removed. */
export const runLeave = ({ output, ...options }: LeaveCommandOptions): Effect.Effect<number> =>
  tell(output, Effect.scoped(Effect.map(leave(options), told)))
