/** The messages that an agent of an earlier version cannot read, for the reference agent and the simulated one. */

import type { ClientMessage } from "../../src/domain/protocol/client-message.ts"
import type { HttpFilter } from "../../src/domain/protocol/http-filter-messages.ts"
import { peekClient } from "../../src/domain/protocol/peek.ts"
import { atLeast } from "../../src/domain/protocol/version.ts"
import { clientTable, filterSince } from "../../src/domain/relay/table.ts"

/**
 * Whether an agent of this version fails to decode the message (wire.md §5.2, §5.6). Every agent knows the version
 * switch, because without it nothing could be agreed on.
 */
export const tooNew = (bytes: Uint8Array, message: ClientMessage, version: string): boolean => {
  const key = peekClient(bytes)
  if (key === undefined || key === "SwitchProtocolVersion") return false
  const { since } = clientTable[key]
  if (since !== undefined && !atLeast(version, since)) return true
  const filter = filterOf(message)
  return filter !== undefined && filterTooNew(filter, version)
}

const filterOf = (message: ClientMessage): HttpFilter | undefined => {
  if (message._tag === "Tcp" && message.value._tag === "PortSubscribeFilteredHttp") return message.value.filter
  if (message._tag !== "TcpSteal" || message.value._tag !== "PortSubscribe") return undefined
  const type = message.value.value
  return type._tag === "FilteredHttpEx" ? type.filter : undefined
}

const filterTooNew = (filter: HttpFilter, version: string): boolean => {
  const since = filterSince[filter._tag]
  if (since !== undefined && !atLeast(version, since)) return true
  return filter._tag === "Composite" && filter.filters.some((inner) => filterTooNew(inner, version))
}
