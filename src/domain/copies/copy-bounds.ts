/**
 * How many copies there may be at a time: as many as sessions, of one user and of all users.
 *
 * Not here: the bounds of sessions themselves (session/session-bounds.ts).
 */

import { reachedBound, type SessionBounds, userText } from "../sessions/session-bounds.ts"

/** Why a user gets no further copy, as a sentence. `users`: the Kubernetes users of all copies. */
export const copyBoundProblem = (
  bounds: SessionBounds,
  user: string,
  users: ReadonlyArray<string>
): string | undefined => {
  const own = users.filter((other) => other === user).length
  const cure = "end a session that uses one, and wait until its copy is gone"
  const tell = (problem: string): string =>
    `${problem.charAt(0).toUpperCase()}${problem.slice(1)}; ${cure}, or ask an administrator to raise the value.`
  if (own >= bounds.sessionsPerUser)
    return tell(reachedBound(`copies of targets of ${userText(user)}`, "sessionsPerUser", own, bounds.sessionsPerUser))
  return users.length < bounds.sessions
    ? undefined
    : tell(reachedBound("copies of targets of all users", "sessions", users.length, bounds.sessions))
}
