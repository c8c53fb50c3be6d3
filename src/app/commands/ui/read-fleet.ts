/**
 * Reads a fleet for the page of `braid ui`, by the same readers as `braid status`, `clusters`, `sessions`, `branches`
 * and `queues`, and with the same rights: the person's own.
 *
 * Not here: when it is read (watch-fleet.ts), and what the page makes of it (domain/commands/ui).
 */

import { Effect, Result, type Scope } from "effect"
import { operatorOverview } from "../../../domain/commands/overview/operator-overview.ts"
import type { SeenFleet } from "../../../domain/commands/ui/seen-fleet.ts"
import { eventNamespace } from "../../../domain/events/event-object.ts"
import { ofOperators, toldEvents } from "../../../domain/events/told-event.ts"
import { readResource } from "../../../domain/resources/resource-descriptor.ts"
import type { KubeApi } from "../../../ports/kube-api.ts"
import { chosenConfig, unanswered, type Unanswered } from "../overview/ask-cluster.ts"
import { readBranches } from "../overview/branches-command.ts"
import { readClusters } from "../overview/clusters-command.ts"
import { readQueues } from "../overview/queues-command.ts"
import { readOperator } from "../overview/read-operator.ts"
import { type ReadableCluster, readableClusters } from "../overview/readable-clusters.ts"
import { readSessions } from "../overview/sessions-command.ts"
import type { KubeConfigChoice } from "../user-kube-config.ts"
import type { LocalSessions } from "./local-sessions.ts"

/** The part of a fleet that changes seldom, and costs more to read. */
export type FleetDetails = Pick<SeenFleet, "branches" | "queues" | "events" | "notes">

/** A fleet as one connection sees it. */
export interface FleetConnection {
  readonly details: Effect.Effect<FleetDetails>
  /** A look. `details`: those of this look or of an earlier one. */
  readonly look: (details: FleetDetails) => Effect.Effect<SeenFleet, Unanswered>
}

/** The rows, or none and the reason as a note. */
const orNote = <A>(
  found: Effect.Effect<{ readonly rows: ReadonlyArray<A>; readonly notes: ReadonlyArray<string> }, Unanswered>
) =>
  Effect.map(Effect.result(found), (result) =>
    Result.isSuccess(result) ? result.success : { rows: [], notes: [`${result.failure.message} ${result.failure.fix}`] }
  )

const readEvents = (api: KubeApi) =>
  api.list(toldEvents, { namespace: eventNamespace, fields: ofOperators }).pipe(
    Effect.map(({ items }) => ({
      rows: items.flatMap((item) => {
        const read = readResource(toldEvents, item)
        return Result.isSuccess(read) ? [read.success] : []
      }),
      notes: []
    })),
    Effect.mapError((error) => ({
      ...unanswered(error, `Events in namespace ${eventNamespace}`),
      ...(error.reason === "Forbidden" && { fix: `Ask for the right to list events in namespace ${eventNamespace}.` })
    }))
  )

/** Branches, queues and Events of the chosen cluster; a note for each unread part. */
const readDetails = (cluster: ReadableCluster, operatorNamespace: string | undefined): Effect.Effect<FleetDetails> =>
  Effect.map(
    Effect.all(
      [
        orNote(
          readBranches(
            { clusters: [cluster], notes: [], operatorNamespace },
            { namespace: undefined, allNamespaces: false }
          )
        ),
        orNote(readQueues(cluster.api)),
        orNote(readEvents(cluster.api))
      ],
      { concurrency: "unbounded" }
    ),
    ([branches, queues, events]) => ({
      branches: branches.rows,
      queues: queues.rows,
      events: events.rows,
      notes: [branches, queues, events].flatMap(({ notes }) => notes)
    })
  )

const readFleet = Effect.fnUntraced(function* (
  { api, name }: ReadableCluster,
  details: FleetDetails
): Effect.fn.Return<Omit<SeenFleet, "local" | "localEvents">, Unanswered> {
  const operator = yield* readOperator(api)
  const { isPrimary } = operatorOverview(operator)
  const [clusters, sessions] = yield* Effect.all(
    [isPrimary ? Effect.result(readClusters(api)) : Effect.succeed(Result.succeed(undefined)), readSessions(api)],
    { concurrency: "unbounded" }
  )
  return {
    ...details,
    context: name,
    operator,
    clusters: Result.getOrUndefined(clusters),
    sessions: sessions.rows,
    notes: [...(Result.isFailure(clusters) ? [clusters.failure.message] : []), ...sessions.notes, ...details.notes]
  }
})

/** Connects to the cluster that a person has chosen. `local`: the sessions of this machine. */
export const connectFleet = Effect.fnUntraced(function* (
  choice: KubeConfigChoice,
  local: Pick<LocalSessions, "now" | "deeds">
): Effect.fn.Return<FleetConnection, Unanswered, Scope.Scope> {
  const context = (yield* chosenConfig(choice)).getCurrentContext()
  const { clusters } = yield* readableClusters(choice, context)
  const [chosen] = clusters
  if (chosen === undefined) return yield* Effect.die(new Error("the chosen cluster can always be read"))
  const operator = yield* Effect.result(readOperator(chosen.api))
  const namespace = Result.isSuccess(operator) ? operator.success.spec.operator_namespace : undefined
  return {
    details: readDetails(chosen, namespace ?? undefined),
    look: (details) =>
      Effect.map(readFleet(chosen, details), (seen) => ({ ...seen, local: local.now(), localEvents: local.deeds() }))
  }
})
