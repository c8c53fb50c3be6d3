/**
 * A primary's order for a copy in one of its clusters, as an annotation of the CopyTarget that it posts there. The copy
 * shows the order for as long as it lives, so a primary's next leader knows what its predecessor has ordered.
 *
 * Not here: whether the caller may give orders (app/copies), and when a primary gives one (fleet-copy.ts).
 */

import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { isObject, type JsonObject } from "../json.ts"
import { SessionOwner } from "../resources/session-shapes.ts"
import { type SessionId, sessionId } from "../sessions/session-id.ts"

/** The annotation of the CopyTarget; also the label by which a primary selects its own in a list. */
const orderKey = "operator.metalbear.co/multi-cluster-copy"

const CopyOrder = Schema.Struct({
  /** Name of the primary's cluster as a DNS label. */
  primary: Schema.String,
  /** The id of the session that the copy is for, as listed: the copies of all clusters have one name by it. */
  session: Schema.String.check(Schema.isPattern(/^[0-9A-F]{1,16}$/u)),
  owner: SessionOwner,
  /** The container that sessions use, as the cluster of the copy says. */
  container: Schema.optionalKey(Schema.String)
})
export type CopyOrder = typeof CopyOrder.Type
const readOrder = Schema.decodeUnknownResult(Schema.fromJsonString(CopyOrder))

export const orderAnnotation = (order: CopyOrder): Readonly<Record<string, string>> => ({
  [orderKey]: JSON.stringify(order)
})

/** The order in the annotations of a CopyTarget; `undefined` if there is none that can be read. */
export const copyOrder = (annotations: unknown): CopyOrder | undefined => {
  const text = isObject(annotations) ? (annotations as JsonObject)[orderKey] : undefined
  return Result.getOrUndefined(readOrder(text))
}

/** The session that an order is for. */
export const orderedSession = ({ session }: CopyOrder): SessionId => sessionId(BigInt(`0x${session}`))

/** Selects the copies that a primary has ordered. */
export const orderedBy = (primary: string): string => `${orderKey}=${primary}`

/** The primary whose copies a label selector selects; `undefined` if it selects by anything else. */
export const selectedPrimary = (labelSelector: string | null): string | undefined => {
  const [key, primary, more] = (labelSelector ?? "").split("=")
  return key === orderKey && more === undefined ? primary : undefined
}
