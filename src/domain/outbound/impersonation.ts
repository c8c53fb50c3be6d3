/**
 * As whom a person's request is made in a member: the person, under a prefix, with those groups and extras that the
 * member's administrator has listed. The member's API server then decides as for every other user.
 *
 * Not here: the person (person.ts), and the rights to impersonate, which the chart gives by the same lists (rights.ts).
 */

import * as Result from "effect/Result"
import { quoted } from "../clean-text.ts"
import { headerBytes } from "../fleet/credentials/header-text.ts"
import type { RawHeaders } from "./passed-headers.ts"
import type { Person } from "./person.ts"

/** A member's rules for people of its primary. With empty `groups` it lets none in. */
export interface PeopleRules {
  /** Groups of the primary. People of at least one of them are let in, and these groups alone are theirs here. */
  readonly groups: ReadonlyArray<string>
  /** Keys of extras that are carried, in lower case. */
  readonly extraKeys: ReadonlyArray<string>
  /** Stands before the names of users and groups; `-` for none, as with an API server's OIDC prefixes. */
  readonly prefix: string
}

/** The identity under which a request is made. */
export interface Impersonation extends Person {
  /** Groups and extras that are not carried, for the audit. */
  readonly dropped: { readonly groups: ReadonlyArray<string>; readonly extraKeys: ReadonlyArray<string> }
}

/** Each authenticated user is in it, so the API server adds it by itself. */
const authenticated = "system:authenticated"

/** Names that a cluster keeps for itself: of its parts and nodes, of its own accounts, `system:masters`. */
const isReserved = (name: string): boolean => name.startsWith("system:") && name !== authenticated

/** The name of a user or a group of the primary in the member. */
export const nameHere = ({ prefix }: Pick<PeopleRules, "prefix">, name: string): string =>
  prefix === "-" ? name : `${prefix}${name}`

/** The groups as which requests are made: the API server adds that of all whom it has authenticated by itself. */
export const impersonatedGroups = (rules: Pick<PeopleRules, "groups" | "prefix">): ReadonlyArray<string> =>
  rules.groups.map((group) => nameHere(rules, group)).filter((group) => group !== authenticated)

/** The first of the listed groups that is the cluster's own; `undefined` if there is none. */
export const reservedGroup = (rules: Pick<PeopleRules, "groups" | "prefix">): string | undefined =>
  rules.groups.find((group) => isReserved(nameHere(rules, group)))

/** Headers lose blanks at their ends, so that another name would arrive. */
const isWritable = (text: string): boolean => text !== "" && text.trim() === text && !/\p{Cc}|\p{Cs}/u.test(text)

const problemOf = (person: Person, carried: Person, { groups }: PeopleRules): string | undefined => {
  if (groups.length === 0) return "this cluster takes no requests of people; see operator.outbound.proxy.groups"
  if (isReserved(carried.user)) return `user ${quoted(carried.user)} is this cluster's own`
  const texts = [
    carried.user,
    ...(carried.uid === undefined ? [] : [carried.uid]),
    ...Object.values(carried.extra).flat()
  ]
  const unwritable = texts.find((text) => !isWritable(text))
  if (unwritable !== undefined) return `${quoted(unwritable)} cannot be written in a header as it is`
  const reserved = carried.groups.find(isReserved)
  if (reserved !== undefined) return `group ${quoted(reserved)} is this cluster's own`
  return person.groups.some((group) => groups.includes(group))
    ? undefined
    : `user ${quoted(person.user)} is in none of the groups that this cluster lets in: ${groups.map(quoted).join(", ")}`
}

/** The identity of a person here, or a clause why the person is not let in. */
export const impersonationOf = (person: Person, rules: PeopleRules): Result.Result<Impersonation, string> => {
  const { extraKeys, groups } = rules
  const isListed = (group: string): boolean => groups.includes(group)
  const extras = Object.entries(person.extra)
  const isCarried = (key: string): boolean => extraKeys.includes(key.toLowerCase())
  const carried = {
    user: nameHere(rules, person.user),
    ...(person.uid === undefined ? {} : { uid: person.uid }),
    groups: [...new Set(person.groups.filter(isListed).map((group) => nameHere(rules, group)))],
    extra: Object.fromEntries(extras.filter(([key]) => isCarried(key)))
  }
  const problem = problemOf(person, carried, rules)
  if (problem !== undefined) return Result.fail(problem)
  const dropped = {
    groups: person.groups.filter((group) => !isListed(group) && group !== authenticated),
    extraKeys: extras.flatMap(([key]) => (isCarried(key) ? [] : [key]))
  }
  return Result.succeed({ ...carried, dropped })
}

/** A key of an extra as a part of a header's name: bytes that no name has are percent-encoded, and so is `%` itself. */
const encodedKey = (key: string): string =>
  headerBytes(key.toLowerCase()).replace(
    /[^!#$&'*+.^_`|~0-9a-z-]/gu,
    (byte) => `%${byte.charCodeAt(0).toString(16).padStart(2, "0")}`
  )

/** The headers by which an API server takes the request as this identity's. */
export const impersonationHeaders = ({ extra, groups, uid, user }: Person): RawHeaders => [
  ...["impersonate-user", headerBytes(user)],
  // The API server adds this one, and asks for a right on each that is named.
  ...groups.filter((group) => group !== authenticated).flatMap((group) => ["impersonate-group", headerBytes(group)]),
  ...(uid === undefined ? [] : ["impersonate-uid", headerBytes(uid)]),
  ...Object.entries(extra).flatMap(([key, values]) =>
    values.flatMap((value) => [`impersonate-extra-${encodedKey(key)}`, headerBytes(value)])
  )
]
