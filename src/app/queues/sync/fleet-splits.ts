/**
 * The splits of a primary's sessions in the clusters of its fleet, beside those of its own cluster: for lists, by the
 * children that the primary watches anyway.
 *
 * Not here: what a child says of its split (domain/queues/distant-split.ts).
 */

import { Effect, Layer, Result } from "effect"
import { clusterSlug } from "../../../domain/fleet/cluster-name.ts"
import { type DistantSplit, distantSplit } from "../../../domain/queues/distant-split.ts"
import { type ServedSqsSession, withQueuesOf } from "../../../domain/queues/sqs-session.ts"
import { mirrordClusterSessions } from "../../../domain/resources/mirrord-cluster-session.ts"
import { childAnnotations, parentInName } from "../../../domain/sessions/names.ts"
import { readCached } from "../../kernel/read-cached.ts"
import { sha256Hex } from "../../kernel/sha256-hex.ts"
import { FleetView, type ReachedCluster } from "../../services/fleet-view.ts"
import { OwnCluster } from "../../services/own-cluster.ts"
import { Sessions } from "../../services/sessions.ts"
import { QueueSplits } from "../queue-splits.ts"

interface FleetSplitsOptions {
  /** Those of the primary's own cluster. */
  readonly own: QueueSplits["Service"]
  /** The other clusters of the fleet. */
  readonly clusters: () => ReadonlyArray<ReachedCluster>
  readonly sessions: Sessions["Service"]
}

/** The parts that this primary's sessions have in other clusters, with the names of the sessions. */
const distantSplits = ({
  clusters,
  sessions: { served }
}: FleetSplitsOptions): ReadonlyArray<DistantSplit & { readonly parent: string }> =>
  clusters().flatMap(({ lost, name, sessions }) => {
    const cluster = { name, slug: clusterSlug(name, sha256Hex), lost: lost() }
    return (sessions?.() ?? []).flatMap((object) => {
      const child = readCached(mirrordClusterSessions, object)
      // The session itself says that its part cannot be read.
      if (Result.isFailure(child)) return []
      const { metadata, spec } = child.success
      const parent = spec.multiClusterParentName ?? ""
      const uid = metadata.annotations?.[childAnnotations.parentUid] ?? ""
      if (!served.some(({ find }) => find(parent)?.metadata.uid === uid)) return []
      const found = distantSplit(child.success, cluster, sha256Hex)
      return found === undefined ? [] : [{ ...found, parent }]
    })
  })

/** The splits of this cluster, and of the fleet's other clusters. */
const fleetSplits = (options: FleetSplitsOptions): QueueSplits["Service"] => {
  const { own, sessions } = options
  /** A part in the primary's own cluster is one of its session, if that is served here. */
  const sessionOf = (session: string): string => {
    const parent = parentInName(session)
    return sessions.served.some(({ find }) => find(parent ?? session) !== undefined) ? (parent ?? session) : session
  }
  return {
    ...own,
    shown: () => {
      const shown = new Map<string, ServedSqsSession>()
      const add = (session: string, part: ServedSqsSession): void => {
        const before = shown.get(session)
        shown.set(session, before === undefined ? part : withQueuesOf(before, part))
      }
      for (const [session, part] of own.shown()) add(sessionOf(session), part)
      for (const { parent, sqs } of distantSplits(options)) if (sqs !== undefined) add(parent, sqs)
      return shown
    },
    objects: (namespace) =>
      Effect.map(own.objects(namespace), (objects) =>
        [...objects, ...distantSplits(options).map(({ object }) => object)]
          .filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace)
          .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
      )
  }
}

/** Adds the splits of the fleet to those of this cluster. */
export const fleetSplitsLayer = Layer.effect(
  QueueSplits,
  Effect.gen(function* () {
    const own = yield* QueueSplits
    const { fleet } = yield* OwnCluster
    const { clusters } = yield* FleetView
    const sessions = yield* Sessions
    if (fleet === undefined) return own
    return fleetSplits({ own, sessions, clusters: () => clusters().filter(({ name }) => name !== fleet.clusterName) })
  })
)
