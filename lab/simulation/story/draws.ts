/** Parts of random lines that several verbs share. How a whole random story is drawn is in `random-story.ts`. */

import type { Draw } from "./verb.ts"

/** The words that follow a verb about a session; undefined while there is no session. */
export const ofASession = ({ random, sessions }: Draw, rest: (session: string) => string): string | undefined => {
  const session = random.pick(sessions)
  return session === undefined ? undefined : rest(session)
}

/** The words about a cluster that is no primary; undefined where there is none. */
export const aMember = ({ clusters, primary, random }: Draw, line: (member: string) => string): string | undefined => {
  const member = random.pick(clusters.filter((name) => name !== primary))
  return member === undefined ? undefined : line(member)
}

/** Two places with a link between them, as `primary b`. Users' machines and members talk to the primary only. */
export const aLink = ({ clusters, primary, random, sessions }: Draw): string | undefined => {
  const members = clusters.filter((name) => name !== primary)
  const other = random.pick(random.chance(0.7) || sessions.length === 0 ? members : sessions)
  return other === undefined ? undefined : `${primary} ${other}`
}

export const aDuration = ({ random }: Draw): string => random.pick(["500ms", "3s", "12s", "40s", "100s"])
