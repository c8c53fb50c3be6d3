/**
 * The audit lines of a person's request through a tunnel, at the primary and at the member, with the same id. Each
 * request has a line when it has ended. A request that is to last has another one when it begins, which a crash of the
 * operator leaves. They hold no body, no query and no header.
 *
 * Not here: writing lines (app/kernel/audit-people.ts), and the lines about sessions (domain/sessions/session-act.ts).
 */

import { oneLine } from "../one-line.ts"
import type { Impersonation } from "./impersonation.ts"
import type { Person } from "./person.ts"
import type { ProxyVerb } from "./proxied-request.ts"

/** Longest texts, and most items of a list. */
const maxField = 300
const maxPath = 1_024
const maxItems = 50

/** The end of a request. */
export interface PeopleOutcome {
  /** The status that the person got; `undefined` if the person left before. */
  readonly code: number | undefined
  /** Bytes of bodies, of both directions; after an upgrade all bytes. */
  readonly bytes: number
  /** Why there is no answer of the member's API server; `undefined` if there is one. */
  readonly why?: string | undefined
  /** Whether this side has refused the request, instead of passing it on. */
  readonly isRefused?: boolean
}

export interface PeopleRequest {
  readonly id: string
  /** The member's name at the primary. */
  readonly cluster: string
  /** As the primary knows the person. */
  readonly person: Pick<Person, "groups" | "uid" | "user">
  readonly verb: ProxyVerb
  readonly isUpgrade: boolean
  /** Whether it is to last (proxied-request.ts). */
  readonly isLasting: boolean
  readonly path: string
  /** At the member: as whom the request was made; `undefined` if it was refused. */
  readonly as?: Impersonation | undefined
}

/** Kinds of people's requests, by which they are counted. */
export type PeopleKind = "connect" | "read" | "watch" | "write"

export const kindOf = ({
  isLasting,
  isUpgrade,
  verb
}: Pick<PeopleRequest, "isLasting" | "isUpgrade" | "verb">): PeopleKind => {
  if (isUpgrade) return "connect"
  if (verb !== "get") return "write"
  return isLasting ? "watch" : "read"
}

/** The words of Kubernetes' own audit log. */
type Stage = "RequestReceived" | "ResponseComplete"

type Field = string | number | boolean | ReadonlyArray<string>

const listed = (items: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...items.slice(0, maxItems).map((item) => oneLine(item, maxField)),
  ...(items.length > maxItems ? [`… ${items.length - maxItems} more`] : [])
]

const someOf = (items: ReadonlyArray<string> | undefined): ReadonlyArray<string> | undefined =>
  items === undefined || items.length === 0 ? undefined : listed(items)

const text = (value: string | undefined): string | undefined => value && oneLine(value, maxField)

/** The member and its API server refuse with one of these codes, so that both lines say the same. */
const decisionOf = ({ code, isRefused }: PeopleOutcome): "allowed" | "denied" =>
  isRefused === true || code === 401 || code === 403 ? "denied" : "allowed"

type Fields = Readonly<Record<string, Field | undefined>>

/** The fields of both lines; `audit=true` distinguishes them from others. */
const requestFields = (
  { as, cluster, id, isUpgrade, path, person, verb }: PeopleRequest,
  stage: Stage,
  { decision, ...outcome }: Fields = {}
): Readonly<Record<string, Field>> => {
  const fields: Fields = {
    audit: true,
    act: "proxied",
    stage,
    decision,
    request: oneLine(id, maxField),
    cluster: oneLine(cluster, maxField),
    user: oneLine(person.user, maxField),
    uid: text(person.uid),
    groups: listed(person.groups),
    as: text(as?.user),
    droppedGroups: someOf(as?.dropped.groups),
    droppedExtraKeys: someOf(as?.dropped.extraKeys),
    verb,
    upgrade: isUpgrade,
    path: oneLine(path, maxPath),
    ...outcome
  }
  return Object.fromEntries(
    Object.entries(fields).flatMap(([key, value]) => (value === undefined ? [] : [[key, value] as const]))
  )
}

/** The fields of the line about a request that begins: it is about to be passed on. */
export const beginningFields = (request: PeopleRequest): Readonly<Record<string, Field>> =>
  requestFields(request, "RequestReceived")

/** The fields of the line about a request that has ended. `ms`: how long it took. */
export const peopleFields = (
  request: PeopleRequest,
  outcome: PeopleOutcome,
  ms: number
): Readonly<Record<string, Field>> => {
  const { bytes, code, why } = outcome
  return requestFields(request, "ResponseComplete", {
    decision: decisionOf(outcome),
    code,
    bytes,
    ms: Math.round(ms),
    why: text(why)
  })
}
