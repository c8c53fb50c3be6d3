/**
 * Writes the report of a cluster that this process owns, whenever there is news of it, for the replica that leads.
 *
 * Not here: reading reports (fleet/reported-clusters.ts), and which clusters are owned (shard.ts).
 */

import { Clock, Effect, Queue } from "effect"
import type { ClusterName, Sha256Hex } from "../../../domain/fleet/cluster-name.ts"
import { type ClusterReport, reportNews, reportText } from "../../../domain/fleet/sharding/cluster-report.ts"
import { clusterEntry, reportKind, reportName } from "../../../domain/fleet/sharding/report-names.ts"
import { asObject, asString } from "../../../domain/json.ts"
import { configMaps } from "../../../domain/resources/core-kinds.ts"
import { traceparentAnnotation } from "../../../domain/sessions/names.ts"
import type { KubeApi, KubeError, KubeObject } from "../../../ports/kube-api.ts"
import { isHeartbeatOnly } from "../../kernel/heartbeat-only.ts"
import { createLedger, type LedgerPlace, patchLedger } from "../../kernel/ledger.ts"
import { logWarning } from "../../kernel/log.ts"

/** Pause after a write that failed, in ms. */
const retryAfter = 1_000

/** An owned cluster, as its report describes it. */
export interface ReportSource {
  readonly cluster: ClusterName
  /** `undefined` while nothing is known; then the last owner's report stands. */
  readonly report: () => ClusterReport | undefined
  /** The children, if they are known. */
  readonly children: () => ReadonlyArray<KubeObject> | undefined
  /** Reports news. */
  readonly news: Queue.Queue<void>
}

/** Where reports are kept. */
export interface ReportPlace {
  /** The own cluster, as its owner may change it. */
  readonly api: KubeApi
  readonly namespace: string
  readonly sha256Hex: Sha256Hex
}

export const placeOf = ({ api, namespace, sha256Hex }: ReportPlace, cluster: ClusterName): LedgerPlace => ({
  api,
  namespace,
  name: reportName(cluster, sha256Hex),
  kind: reportKind
})

/** The parts of a child that the leader needs: a report must stay small. */
const childText = ({ metadata, spec, status }: KubeObject): string => {
  const { [traceparentAnnotation]: _, ...annotations } = metadata.annotations ?? {}
  const { creationTimestamp, deletionTimestamp, generation, labels, name, resourceVersion, uid } = metadata
  const kept = { name, uid, resourceVersion, generation, creationTimestamp, deletionTimestamp, labels, annotations }
  return JSON.stringify({ metadata: kept, spec, status })
}

/** The report as this process has written it. */
interface Written {
  news: string | undefined
  /** By name of the child: the object that was written; `undefined` where only its name is known. */
  readonly children: Map<string, KubeObject | undefined>
}

/** Finds out what an earlier owner has left, so that its children do not stay. */
const readWritten = ({ api, name, namespace }: LedgerPlace): Effect.Effect<Written, KubeError> =>
  api.get(configMaps, name, namespace).pipe(
    Effect.map(({ data }) => Object.keys(asObject(data)).filter((key) => key !== clusterEntry)),
    Effect.catch((error) => (error.reason === "NotFound" ? Effect.succeed([]) : Effect.fail(error))),
    Effect.map((names) => ({ news: undefined, children: new Map(names.map((child) => [child, undefined])) }))
  )

/** The children to write, and those that are gone, as entries. */
const childEntries = (
  written: Written,
  children: ReadonlyArray<KubeObject>
): ReadonlyArray<readonly [string, string | null]> => {
  const names = new Set(children.map(({ metadata: { name } }) => name))
  const gone = [...written.children.keys()].filter((name) => !names.has(name))
  const changed = children.filter((child) => {
    const before = written.children.get(child.metadata.name)
    if (before === undefined || before.metadata.uid !== child.metadata.uid) return true
    return before.metadata.resourceVersion !== child.metadata.resourceVersion && !isHeartbeatOnly(before, child)
  })
  return [
    ...changed.map((child) => [child.metadata.name, childText(child)] as const),
    ...gone.map((name) => [name, null] as const)
  ]
}

/** Writes what is news. A report that was deleted meanwhile is written again as a whole. */
const publish = Effect.fnUntraced(function* (
  source: ReportSource,
  place: LedgerPlace,
  written: Written
): Effect.fn.Return<void, KubeError> {
  const report = source.report()
  if (report === undefined) return
  const now = yield* Clock.currentTimeMillis
  const children = source.children()
  const ofChildren = children === undefined ? [] : childEntries(written, children)
  const news = reportNews(report)
  const ofCluster = news === written.news ? [] : [[clusterEntry, reportText(report, now)] as const]
  const entries = Object.fromEntries([...ofCluster, ...ofChildren])
  if (Object.keys(entries).length === 0) return
  const isThere = yield* Effect.as(patchLedger(place, entries), true).pipe(
    Effect.catch((error) => (error.reason === "NotFound" ? Effect.succeed(false) : Effect.fail(error)))
  )
  if (!isThere && written.news === undefined && written.children.size === 0) yield* createLedger(place, entries)
  else if (!isThere) {
    written.news = undefined
    written.children.clear()
    return yield* publish(source, place, written)
  }
  written.news = news
  const byName = new Map(children?.map((child) => [child.metadata.name, child]))
  for (const [name, text] of ofChildren) {
    if (asString(text) === undefined) written.children.delete(name)
    else written.children.set(name, byName.get(name))
  }
})

/** Keeps the report of an owned cluster true. Never ends. */
export const publishReports = (source: ReportSource, at: ReportPlace): Effect.Effect<never> => {
  const place = placeOf(at, source.cluster)
  const failed = ({ message, retryAfterMs = 0 }: KubeError) =>
    Effect.andThen(
      logWarning("report of a cluster is not written", { cluster: source.cluster, problem: message }),
      Effect.sleep(Math.max(retryAfter, retryAfterMs))
    )
  const again = <A>(act: Effect.Effect<A, KubeError>): Effect.Effect<A> =>
    act.pipe(
      Effect.catch((error) =>
        Effect.andThen(
          failed(error),
          Effect.suspend(() => again(act))
        )
      )
    )
  return Effect.flatMap(again(readWritten(place)), (written) =>
    Effect.forever(Effect.andThen(again(publish(source, place, written)), () => Queue.take(source.news)))
  )
}
