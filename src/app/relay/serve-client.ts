/**
 * The life of one client's connection, the shell around the router: attaches the members, reads the client, watches
 * both, and closes everything in the end. Frames pass through `message-path.ts`.
 */

import { Deferred, Effect, type Scope } from "effect"
import { cleanText, textLimits } from "../../domain/clean-text.ts"
import { policyNotes } from "../../domain/policies/session-policies.ts"
import { openIds } from "../../domain/relay/ids.ts"
import { subscriptionMessages } from "../../domain/relay/subscriptions.ts"
import { countHolding } from "../kernel/holdings.ts"
import {
  type ClientConnection,
  type ClientConnectionOptions,
  type ConnectionEnd,
  finish,
  makeClientConnection
} from "./client-connection.ts"
import { watchClient } from "./client-watch.ts"
import { connectMembers, followMembers, watchMembers } from "./member-watch.ts"
import { messageFilters } from "./message-filters.ts"
import { endSession, feed, openClient } from "./message-path.ts"

/** Serves one client until its connection ends. */
export const serveClient = Effect.fnUntraced(function* (
  options: ClientConnectionOptions
): Effect.fn.Return<ConnectionEnd, never, Scope.Scope> {
  const connection = yield* makeClientConnection(options, messageFilters)
  options.served?.({
    subscriptions: () => subscriptionMessages(connection.state),
    warn: (message) => feed(connection, { _tag: "WarnUser", message })
  })
  yield* countHolding("served connections", () => 1)
  yield* countHolding("mapped ids", () => openIds(connection.state.ids))
  if (options.isUser) watchClient(connection)
  connectMembers(connection)
  openClient(connection)
  if (options.members !== undefined) yield* followMembers(connection, options.members)
  const { pingMembersEvery } = options.router
  if (pingMembersEvery !== undefined) watchMembers(connection, pingMembersEvery)
  const { limits, warnings = [] } = options
  const notes = limits === undefined ? [] : policyNotes(limits.policies)
  for (const message of [...warnings, ...notes]) feed(connection, { _tag: "WarnUser", message })
  if (limits !== undefined)
    connection.run(
      "limits",
      Effect.map(limits.outdated, (end) => dropAt(connection, end))
    )
  connection.run(
    "terminated",
    Effect.map(options.terminated, ({ reason }) => terminate(connection, reason))
  )
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => finish(connection, { _tag: "Dropped", reason: "the operator stops" }))
  )
  return yield* Deferred.await(connection.done)
})

/** Closes the client's socket for a reason that a new connect takes away. */
const dropAt = (connection: ClientConnection, { reason }: { readonly reason: string }): void =>
  finish(connection, { _tag: "Dropped", reason })

/** Ends a connection whose session was ended from elsewhere; `why` may quote the session's object. */
const terminate = (connection: ClientConnection, why: string): void => {
  const reason = cleanText(why, textLimits.message)
  if (connection.options.isUser) endSession(connection, reason)
  else finish(connection, { _tag: "Dropped", reason })
}
