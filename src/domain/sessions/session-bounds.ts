/**
 * How many sessions and connections users may have at a time, and the sentence for a user who asks for more.
 *
 * Not here: counting them (app/operator/session-quota.ts), and the agents of sessions (agent-bounds.ts).
 */

import { oneLine } from "../one-line.ts"

/** The bounds of everything that users may have at a time in one cluster. */
export interface SessionBounds {
  /** Sessions of one Kubernetes user. Users who share an account share its bound. */
  readonly sessionsPerUser: number
  /** Sessions of all users. */
  readonly sessions: number
  /** Connections of one session, the held ones included. */
  readonly connectionsPerSession: number
  /** Agents of one Kubernetes user in this cluster. */
  readonly agentsPerUser: number
  /** Agents of all users in this cluster. */
  readonly agents: number
  /** Branches of databases of one namespace. */
  readonly branchesPerNamespace: number
  /** Branches of databases of all namespaces. */
  readonly branches: number
}

/**
 * Enough for a team of fifty, even if all of them share one account or one of them runs a script that starts a session
 * for each of a hundred services. A session has two or three connections; those that died without a word count for a
 * while, too. Of the fifty each may have four branches at a time in one namespace.
 */
export const defaultBounds: SessionBounds = {
  sessionsPerUser: 100,
  sessions: 500,
  connectionsPerSession: 32,
  agentsPerUser: 300,
  agents: 1_000,
  branchesPerNamespace: 200,
  branches: 500
}

/** Longest text of a user's name in a sentence, UTF-16 code units. */
const maxName = 100

/** A bound that is reached, as the beginning of a sentence. `value`: the chart's value. */
export const reachedBound = (what: string, value: keyof SessionBounds, found: number, limit: number): string =>
  `the bound of ${what} is reached: there are ${found}, and ${limit} are allowed (the chart's value bounds.${value})`

/** A user's name in a sentence. */
export const userText = (user: string): string => `user ${oneLine(user, maxName)}`

/** A connect request, as the bounds see it. */
export interface AskedConnection {
  /** Name of the session's object. */
  readonly session: string
  /** The caller, as the cluster has authenticated them. A user can make any number of user certificates. */
  readonly user: string
}

/** Everything that is counted. */
export interface CountedSessions {
  /** The users of all sessions that exist or are being made, by the session's name. Failed and ending ones count. */
  readonly users: ReadonlyMap<string, string>
  /** Connections of the asked session that are open or held. */
  readonly connections: number
}

const reached = (bounds: SessionBounds, { session, user }: AskedConnection, counted: CountedSessions) => {
  const { connections, users } = counted
  if (connections >= bounds.connectionsPerSession) {
    const what = `connections of session ${session}`
    return {
      problem: reachedBound(what, "connectionsPerSession", connections, bounds.connectionsPerSession),
      cure: "end some of its processes"
    }
  }
  // A session that exists is connected to again, whatever the bounds are by now.
  if (users.has(session)) return undefined
  const cure = "end a session (`mirrord session list`, `mirrord operator session stop --id ID`)"
  const own = [...users.values()].filter((other) => other === user).length
  if (own >= bounds.sessionsPerUser) {
    const what = `sessions of ${userText(user)}`
    return { problem: reachedBound(what, "sessionsPerUser", own, bounds.sessionsPerUser), cure }
  }
  if (users.size < bounds.sessions) return undefined
  return { problem: reachedBound("sessions of all users", "sessions", users.size, bounds.sessions), cure }
}

/** Why a connect request is beyond a bound, as a sentence for its user; `undefined` if it is within all bounds. */
export const boundProblem = (
  bounds: SessionBounds,
  asked: AskedConnection,
  counted: CountedSessions
): string | undefined => {
  const found = reached(bounds, asked, counted)
  if (found === undefined) return undefined
  const sentence = `${found.problem}; ${found.cure}, or ask an administrator to raise the value.`
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}`
}
