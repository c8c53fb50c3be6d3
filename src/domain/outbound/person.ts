/**
 * A person whose request passes a tunnel, as the primary's API server has authenticated them, and the headers in which
 * the cell tells the outpost. The outpost trusts them as it trusts the cell: a lane can be opened by the cell alone,
 * and what the person may do is decided by the member (impersonation.ts, and its API server).
 */

import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { parseObject } from "../json.ts"
import { tunnelPrefix } from "./passed-headers.ts"

/** The identity, in the form of the front proxy's headers. */
const PersonSchema = Schema.Struct({
  user: Schema.NonEmptyString,
  uid: Schema.optional(Schema.String),
  groups: Schema.Array(Schema.String),
  extra: Schema.Record(Schema.String, Schema.Array(Schema.String))
})
export type Person = typeof PersonSchema.Type

/** A request's id, the same in the audit lines of both sides and in the logs of both API servers. */
export const requestIdHeader = "audit-id"
/** The person, as JSON in ASCII. */
export const personHeader = `${tunnelPrefix}user`
/** The member's name at the primary, percent-encoded: for the audit alone. */
export const memberHeader = `${tunnelPrefix}cluster`

/** Whether a text can be a request's id; API servers make UUIDs, and take other ids from their clients. */
export const isRequestId = (text: string): boolean => /^[A-Za-z0-9_-]{1,64}$/u.test(text)

// Each half of a surrogate pair by itself, as JSON has them.
const beyondAscii = /[^ -~]/g
const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`

/** The value of {@link personHeader}. */
export const writePerson = ({ extra, groups, uid, user }: Person): string =>
  JSON.stringify({ user, ...(uid === undefined ? {} : { uid }), groups, extra }).replace(beyondAscii, escaped)

const decode = Schema.decodeUnknownResult(PersonSchema)

/** Reads the value of {@link personHeader}; the failure is a clause. */
export const readPerson = (text: string | undefined): Result.Result<Person, string> =>
  Result.mapError(decode(parseObject(text ?? "")), () => `the header ${personHeader} names no user`)
