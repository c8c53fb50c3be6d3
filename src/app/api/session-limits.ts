/**
 * Asks the capabilities for the limits of a session, for those that serve sessions. Which limits there are is the
 * capabilities' own business.
 */

import { Effect } from "effect"
import type { Capability, LimitedSession, SessionLimits } from "./capability.ts"
import type { ApiError } from "./status.ts"

/** The limits of a session; `undefined` where no capability knows any. */
export type AskLimits = (session: LimitedSession) => Effect.Effect<SessionLimits | undefined, ApiError>

/** `capabilities`: those that are asked; at most one of them tells limits. */
export const askLimits = (capabilities: ReadonlyArray<Capability>): AskLimits => {
  const tell = capabilities.find(({ limits }) => limits !== undefined)?.limits
  return (session) => tell?.(session) ?? Effect.succeed(undefined)
}
