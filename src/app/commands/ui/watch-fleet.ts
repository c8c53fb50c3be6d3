/**
 * Looks at a fleet for the page of `braid ui` as long as a page is open, and remembers what has changed. Without an
 * open page it asks nothing.
 *
 * Not here: one look (read-fleet.ts).
 */

import { Clock, Effect, RcRef, type Scope, Stream, SubscriptionRef } from "effect"
import { fleetPage, type FleetPage, type PageEvent, staleFleetPage } from "../../../domain/commands/ui/fleet-page.ts"
import { rememberedChanges, withChanges } from "../../../domain/commands/ui/page-changes.ts"
import type { Unanswered } from "../overview/ask-cluster.ts"
import { lookAgain } from "./look-again.ts"
import type { FleetConnection, FleetDetails } from "./read-fleet.ts"

/** Pause between two looks, ms: with the time of a look a change is on the page within two seconds. */
const lookEvery = 1_000
/** Pause between two readings of branches, queues and Events, ms. */
const detailsEvery = 5_000

export interface WatchedFleet {
  /** The page as of the last look. */
  readonly page: Effect.Effect<FleetPage>
  /** The page now and after each look. */
  readonly pages: Stream.Stream<FleetPage>
}

/** The outcome of the looks so far. */
interface Knowledge {
  readonly page: FleetPage
  readonly changes: ReadonlyArray<PageEvent>
}

/** How the fleet is reached. */
type Connect = Effect.Effect<FleetConnection, Unanswered, Scope.Scope>

/** The page of one look. */
const pageOf = Effect.fnUntraced(function* (connection: FleetConnection, details: FleetDetails) {
  const seen = yield* connection.look(details)
  return fleetPage(seen, yield* Clock.currentTimeMillis)
})

const after = ({ changes, page: before }: Knowledge, page: FleetPage): Knowledge => {
  const remembered = rememberedChanges(changes, before, page, page.readAt)
  return { page: withChanges(page, remembered), changes: remembered }
}

/**
 * Looks until a look fails; the connection is as old as the first of them. No look waits for the details. `looked`:
 * called after each look.
 */
const lookOn = (connect: Connect, knowledge: SubscriptionRef.SubscriptionRef<Knowledge>, looked: () => void) =>
  Effect.gen(function* () {
    const connection = yield* connect
    let details = yield* connection.details
    const readDetails = Effect.andThen(Effect.sleep(detailsEvery), connection.details)
    yield* Effect.forkScoped(Effect.forever(Effect.map(readDetails, (read) => (details = read))))
    for (;;) {
      const page = yield* pageOf(connection, details)
      yield* SubscriptionRef.update(knowledge, (known) => after(known, page))
      looked()
      yield* Effect.sleep(lookEvery)
    }
  }).pipe(Effect.scoped)

/** Looks for ever. */
const lookForEver = (connect: Connect, knowledge: SubscriptionRef.SubscriptionRef<Knowledge>) =>
  lookAgain(
    lookEvery,
    (looked) => lookOn(connect, knowledge, looked),
    (problem) => SubscriptionRef.update(knowledge, (known) => ({ ...known, page: staleFleetPage(known.page, problem) }))
  )

/** Watches a fleet; fails if it cannot be read now. */
export const watchFleet = Effect.fnUntraced(function* (
  connect: Connect
): Effect.fn.Return<WatchedFleet, Unanswered, Scope.Scope> {
  const first = Effect.flatMap(connect, (connection) =>
    Effect.flatMap(connection.details, (details) => pageOf(connection, details))
  )
  const page = yield* Effect.scoped(first)
  const knowledge = yield* SubscriptionRef.make<Knowledge>({ page, changes: [] })
  const looking = yield* RcRef.make({ acquire: Effect.forkScoped(lookForEver(connect, knowledge)) })
  return {
    page: Effect.map(SubscriptionRef.get(knowledge), (known) => known.page),
    pages: Stream.unwrap(
      Effect.as(
        RcRef.get(looking),
        Stream.map(SubscriptionRef.changes(knowledge), (known) => known.page)
      )
    )
  }
})
