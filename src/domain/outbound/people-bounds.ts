/**
 * How many requests of people go through tunnels at a time: people must not use up what sessions and the operator need.
 *
 * Not here: counting (app/outbound/people.ts), and the bounds that the aggregated API has for all its callers.
 */

import { quoted } from "../clean-text.ts"
import type { ClusterName } from "../fleet/cluster-name.ts"

/** Requests to one member at a time, watches and upgrades among them. */
const requestsPerMember = 100
/** Upgrades of one user at a time, to all members. */
const upgradesPerUser = 10
/** Lanes of a tunnel above which no more are opened for people: nine tenths of those that it can have. */
const lanesForPeople = 810

/** A request, and what is under way when it comes. */
export interface AskedPlace {
  readonly cluster: ClusterName
  readonly user: string
  readonly isUpgrade: boolean
  /** Requests of people to this member. */
  readonly requests: number
  /** Upgrades of this user. */
  readonly upgrades: number
  /** Lanes of the member's tunnel, for whatever they are. */
  readonly lanes: number
}

/** Why a request is refused at once, a sentence; `undefined` if there is a place for it. */
export const whyFull = ({ cluster, isUpgrade, lanes, requests, upgrades, user }: AskedPlace): string | undefined => {
  const title = `cluster ${quoted(cluster)}`
  if (lanes >= lanesForPeople)
    return `The tunnel of ${title} has ${lanes} requests and sessions, and no place for people; try again later.`
  if (requests >= requestsPerMember)
    return `${requests} requests of people go to ${title}, which is the most; end a watch, or try again later.`
  if (isUpgrade && upgrades >= upgradesPerUser)
    return `User ${quoted(user)} has ${upgrades} connections to pods of members, which is the most; end one of them.`
  return undefined
}
