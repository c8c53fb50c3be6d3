/**
 * The connection of a leader to a cluster that another process owns: links and calls are its own, and everything else
 * is known by the owner's reports.
 *
 * Not here: connections that watch and check their cluster themselves (cluster-connection.ts).
 */

import { Clock, Effect, Scope } from "effect"
import type { ClusterName } from "../../domain/fleet/cluster-name.ts"
import { afterEngaging } from "../../domain/fleet/health.ts"
import { mirrordClusterSessions } from "../../domain/resources/mirrord-cluster-session.ts"
import type { ClusterAccess } from "../../ports/cluster-connector.ts"
import {
  type Children,
  type ClusterConnection,
  type ConnectionEvents,
  endEngagement,
  setState
} from "./cluster-connection.ts"
import type { ReportChange, ReportedClusters } from "./reported-clusters.ts"

/** How often connections check whether their clusters have an owner at all, in ms. */
const lookEvery = 5_000

/** The events of a connection without those that its owner reports. */
export const eventsOfReported = (events: ConnectionEvents): ConnectionEvents => ({
  ...events,
  happened: () => {}
})

/** The children of a cluster as its owner has reported them. */
const reportedChildren = (
  { cluster: { name } }: ClusterConnection,
  reports: ReportedClusters,
  { api }: ClusterAccess
): Children => {
  /** UIDs of children that the cluster does not have any more, although they are still reported. */
  const gone = new Set<string>()
  const isThere = ({ metadata: { uid } }: { readonly metadata: { readonly uid?: string | undefined } }): boolean =>
    uid === undefined || !gone.has(uid)
  const reported = (child: string) => reports.children(name).get(child)?.child
  return {
    get: (child) => {
      const found = reported(child)
      return found !== undefined && isThere(found) ? found : undefined
    },
    all: () => [...reports.children(name).values()].map(({ child }) => child).filter(isThere),
    synced: () => true,
    problem: () => undefined,
    reread: (child) =>
      api.get(mirrordClusterSessions, child).pipe(
        Effect.asVoid,
        Effect.catch((error) =>
          Effect.sync(() => {
            const uid = reported(child)?.metadata.uid
            if (error.reason === "NotFound" && uid !== undefined) gone.add(uid)
          })
        )
      ),
    retryNow: () => {},
    wrote: () => {}
  }
}

/** Takes up what is reported of the cluster now. */
const takeReport = (connection: ClusterConnection, reports: ReportedClusters): Effect.Effect<void> =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    const { cluster, engagement, isKnown } = connection
    // Without credentials of its own the leader cannot use the cluster, whatever its owner says.
    const server = cluster.member?.server
    if (engagement === undefined || server === undefined) return
    const report = reports.of(cluster.name, server)
    if (report === undefined) return
    engagement.identity = report.isUsable ? "Accepted" : "Unknown"
    connection.unreadableSince = report.unreadableSince
    setState(connection, report.state, now)
    connection.stateSince = report.since
    isKnown.openUnsafe()
  })

/** Engages a cluster whose owner watches it. */
export const engageReported = (reports: ReportedClusters) =>
  Effect.fnUntraced(function* (
    connection: ClusterConnection,
    connect: Effect.Effect<ClusterAccess, never, Scope.Scope>
  ): Effect.fn.Return<void> {
    yield* endEngagement(connection)
    const now = yield* Clock.currentTimeMillis
    connection.unreadableSince = now
    const scope = yield* Scope.fork(connection.scope)
    const access = yield* connect.pipe(Scope.provide(scope))
    const children = reportedChildren(connection, reports, access)
    connection.engagement = { access, children, scope, identity: "Unknown" }
    setState(connection, afterEngaging(connection.state), now)
    yield* takeReport(connection, reports)
    connection.events.reachChanged(connection.cluster.name)
  })

/** Follows the reports of all clusters, until the scope closes. */
export const followReports = Effect.fnUntraced(function* (
  reports: ReportedClusters,
  connectionOf: ReadonlyMap<ClusterName, { readonly connection: ClusterConnection }>
): Effect.fn.Return<void, never, Scope.Scope> {
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const heard = (connection: ClusterConnection, { children, isClusterNews }: ReportChange): void => {
    const { cluster, events } = connection
    if (isClusterNews) {
      run(
        Effect.andThen(
          takeReport(connection, reports),
          Effect.sync(() => events.reachChanged(cluster.name))
        )
      )
    }
    for (const child of children) events.childChanged(cluster.name, child)
  }
  yield* Effect.acquireRelease(
    Effect.sync(() =>
      reports.listen((name, change) => {
        for (const [cluster, { connection }] of connectionOf)
          if (connection.cluster.member !== undefined && reports.nameOf(cluster) === name) heard(connection, change)
      })
    ),
    () => Effect.sync(() => reports.listen(() => {}))
  )
  const look = Effect.suspend(() =>
    Effect.forEach([...connectionOf.values()], ({ connection }) => takeReport(connection, reports), { discard: true })
  )
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(look, Effect.sleep(lookEvery))))
})
