/**
 * The store of records of use in a SQL database: implements the port `UsageStore`. Its statements are the same for
 * every engine.
 *
 * Not here: the tables, and the triggers by which records take sums with them (usage-tables.ts).
 */

import { Effect, type Scope } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import { asString } from "../../domain/json.ts"
import type { Period } from "../../domain/usage/concurrency.ts"
import type { HealthSpan } from "../../domain/usage/health-spans.ts"
import { storedSums, sumsIn } from "../../domain/usage/stored-sums.ts"
import { type MachineId, type RecordedId, usageKinds, type UsageRecord } from "../../domain/usage/usage-record.ts"
import {
  maxSpansOfCluster,
  type PageMark,
  type UsageLimits,
  type UsageStore,
  UsageStoreError
} from "../../ports/usage-store.ts"
import { openPostgres, type PostgresDatabase } from "./postgres-client.ts"
import { openSqlite } from "./sqlite-client.ts"
import { updateTables } from "./usage-tables.ts"

type Row = Readonly<Record<string, unknown>>

const listIn = (json: string): ReadonlyArray<string> => {
  const value: unknown = JSON.parse(json)
  return Array.isArray(value) ? value.map(String) : []
}

/** Clusters are parsed once for records in a row that have the same. */
const recordsOf = (rows: ReadonlyArray<Row>): ReadonlyArray<UsageRecord> => {
  let [json, clusters]: [unknown, ReadonlyArray<string>] = [undefined, []]
  return rows.map((row) => {
    if (row["clusters"] !== json) [json, clusters] = [row["clusters"], listIn(asString(row["clusters"]) ?? "[]")]
    return recordOf(row, clusters)
  })
}

const recordOf = (row: Row, clusters: ReadonlyArray<string>): UsageRecord => {
  const text = (column: string): string => asString(row[column]) ?? ""
  const stopped = row["stopped_at"]
  return {
    id: text("id") as RecordedId,
    machineId: text("machine_id") as MachineId,
    kind: usageKinds.find((kind) => kind === row["kind"]) ?? "exec",
    kubernetesUser: text("kubernetes_user"),
    clientUser: text("client_user"),
    clientHost: text("client_host"),
    clusters,
    namespace: text("namespace"),
    target: text("target"),
    container: text("container"),
    ciProvider: text("ci_provider"),
    ciPipeline: text("ci_pipeline"),
    startedAt: Number(row["started_at"]),
    lastSeenAt: Number(row["last_seen_at"]),
    stoppedAt: stopped === null ? undefined : Number(stopped)
  }
}

const rowOf = (record: UsageRecord) => ({
  id: record.id,
  machine_id: record.machineId,
  kind: record.kind,
  kubernetes_user: record.kubernetesUser,
  client_user: record.clientUser,
  client_host: record.clientHost,
  clusters: JSON.stringify(record.clusters),
  namespace: record.namespace,
  target: record.target,
  container: record.container,
  ci_provider: record.ciProvider,
  ci_pipeline: record.ciPipeline,
  started_at: record.startedAt,
  last_seen_at: record.lastSeenAt,
  stopped_at: record.stoppedAt ?? null
})

/** Records that are deleted at once: a few ms, between which messages are relayed. */
const portion = 1_000

/** The messages of an error and of its causes: a client says what it did, and the engine beneath what was wrong. */
const messagesOf = (error: unknown): ReadonlyArray<string> => {
  const messages: Array<string> = []
  let at = error
  while (typeof at === "object" && at !== null) {
    const { cause, message, reason }: { cause?: unknown; message?: unknown; reason?: unknown } = at
    const text = asString(message) ?? ""
    if (text !== "" && !messages.some((known) => known.includes(text))) messages.push(text)
    at = reason ?? cause
  }
  return messages
}

/** How long a statement may take, seconds: a database that is locked or unreachable may never answer. */
const maxSeconds = 20

/** A statement with its failure as the port has it, at the latest when the database had time enough to answer. */
const failed =
  (operation: UsageStoreError["operation"]) =>
  <A, R>(call: Effect.Effect<A, { readonly message: string }, R>): Effect.Effect<A, UsageStoreError, R> =>
    call.pipe(
      Effect.mapError((error) => new UsageStoreError({ operation, detail: messagesOf(error).join(": ") })),
      Effect.timeoutOrElse({
        duration: `${maxSeconds} seconds`,
        orElse: () => Effect.fail(new UsageStoreError({ operation, detail: `no answer within ${maxSeconds} s` }))
      })
    )

/**
 * The bytes that records, sums and spans need. Room that deleted rows have left does not count: it is used again, and
 * PostgreSQL's files keep it. Its rows are estimated by the average of some, with their places in two indexes.
 */
const bytesOf = (sql: SqlClient) =>
  Effect.map(
    sql.onDialectOrElse({
      pg: () => sql<Row>`SELECT (SELECT COUNT(*) FROM usage_sessions)
          * (SELECT COALESCE(AVG(pg_column_size(sample)), 0) + 200
              FROM (SELECT * FROM usage_sessions ORDER BY started_at LIMIT 1000) AS sample)
          + (SELECT COALESCE(SUM(pg_column_size(sums)), 0) FROM usage_sums)
          + (SELECT COALESCE(SUM(pg_column_size(health) + 50), 0) FROM usage_health AS health) AS bytes`,
      orElse: () => sql<Row>`SELECT (page_count - freelist_count) * page_size AS bytes
        FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()`
    }),
    ([row]) => Number(row?.["bytes"] ?? 0)
  ).pipe(failed("prune"))

const countOf = (rows: ReadonlyArray<Row>): number => rows.length

/** Deletes a portion of the oldest sessions that have ended and began before a moment. */
const deleteOldest = (sql: SqlClient, before: number) =>
  Effect.map(
    sql<Row>`DELETE FROM usage_sessions WHERE (id, machine_id) IN (SELECT id, machine_id FROM usage_sessions
      WHERE started_at < ${before} AND stopped_at IS NOT NULL ORDER BY started_at LIMIT ${portion}) RETURNING id`,
    countOf
  ).pipe(failed("prune"))

/** Deletes spans that ended before a moment, and of each cluster the oldest that are too many. */
const pruneHealth = Effect.fnUntraced(function* (sql: SqlClient, before: number) {
  yield* sql`DELETE FROM usage_health WHERE last_seen_at < ${before}`.pipe(failed("prune"))
  const full = yield* sql<Row>`SELECT cluster FROM usage_health
    GROUP BY cluster HAVING COUNT(*) > ${maxSpansOfCluster}`.pipe(failed("prune"))
  for (const { cluster } of full) {
    const name = asString(cluster) ?? ""
    yield* sql`DELETE FROM usage_health WHERE cluster = ${name} AND to_at IS NOT NULL AND from_at <= (SELECT from_at
      FROM usage_health WHERE cluster = ${name} ORDER BY from_at DESC LIMIT 1 OFFSET ${maxSpansOfCluster})`.pipe(
      failed("prune")
    )
    yield* Effect.yieldNow
  }
})

const pruneTo = Effect.fnUntraced(function* (sql: SqlClient, { before, maxBytes }: UsageLimits) {
  let count = 0
  yield* pruneHealth(sql, before)
  for (;;) {
    const gone = yield* deleteOldest(sql, before)
    count += gone
    if (gone < portion) break
    yield* Effect.yieldNow
  }
  while ((yield* bytesOf(sql)) > maxBytes) {
    const gone = yield* deleteOldest(sql, Number.MAX_SAFE_INTEGER)
    if (gone === 0) return count
    count += gone
    yield* Effect.yieldNow
  }
  return count
})

const pageOf = (sql: SqlClient, { from, to }: Period, after: PageMark | undefined, max: number) => {
  // No id is empty, so this mark is before all records of its moment.
  const { id, machineId, startedAt } = after ?? { id: "", machineId: "", startedAt: from }
  const rows = sql<Row>`SELECT * FROM usage_sessions
    WHERE (started_at, id, machine_id) > (${startedAt}, ${id}, ${machineId}) AND started_at < ${to}
    ORDER BY started_at, id, machine_id LIMIT ${max}`
  return Effect.map(rows, recordsOf)
}

const sumsOf = (sql: SqlClient): Pick<UsageStore, "nextStart" | "summed" | "sums" | "beginSums" | "keepSums"> => ({
  nextStart: (from) =>
    Effect.map(
      sql<Row>`SELECT started_at FROM usage_sessions WHERE started_at >= ${from} ORDER BY started_at LIMIT 1`,
      ([row]) => (row === undefined ? undefined : Number(row["started_at"]))
    ).pipe(failed("read")),
  summed: Effect.map(
    sql<Row>`SELECT span_from, span_to FROM usage_sums WHERE sums IS NOT NULL ORDER BY span_from`,
    (rows) => rows.map((row) => ({ from: Number(row["span_from"]), to: Number(row["span_to"]) }))
  ).pipe(failed("read")),
  sums: (span) =>
    Effect.map(
      sql<Row>`SELECT sums FROM usage_sums WHERE span_from = ${span.from} AND span_to = ${span.to}`,
      ([row]) => {
        const text = asString(row?.["sums"])
        return text === undefined ? undefined : sumsIn(span, text)
      }
    ).pipe(failed("read")),
  beginSums: (spans, maker) =>
    Effect.forEach(
      spans,
      ({ from, to }) =>
        sql`INSERT INTO usage_sums ${sql.insert({ span_from: from, span_to: to, maker })}
          ON CONFLICT (span_from, span_to) DO UPDATE SET maker = excluded.maker, sums = NULL`.pipe(failed("write")),
      { discard: true }
    ),
  keepSums: (span, sums, maker) =>
    sql`UPDATE usage_sums SET sums = ${storedSums(span, sums)}
      WHERE span_from = ${span.from} AND span_to = ${span.to} AND maker = ${maker}`.pipe(Effect.asVoid, failed("write"))
})

const spanOf = (row: Row): HealthSpan => {
  const reason = asString(row["reason"])
  return {
    cluster: asString(row["cluster"]) ?? "",
    unready: reason === undefined ? undefined : { reason, message: asString(row["message"]) ?? "" },
    from: Number(row["from_at"]),
    lastSeen: Number(row["last_seen_at"]),
    to: row["to_at"] === null ? undefined : Number(row["to_at"])
  }
}

const healthRowOf = ({ cluster, from, lastSeen, to, unready }: HealthSpan) => ({
  cluster,
  from_at: from,
  last_seen_at: lastSeen,
  to_at: to ?? null,
  reason: unready?.reason ?? null,
  message: unready?.message ?? null
})

/** The most spans of a statement. */
const spansAtOnce = 100

const putSpans = Effect.fnUntraced(function* (sql: SqlClient, spans: ReadonlyArray<HealthSpan>) {
  for (let at = 0; at < spans.length; at += spansAtOnce) {
    const [first, ...others] = spans.slice(at, at + spansAtOnce).map(healthRowOf)
    if (first !== undefined)
      yield* sql`INSERT INTO usage_health ${sql.insert([first, ...others])}
        ON CONFLICT (cluster, from_at) DO UPDATE SET last_seen_at = excluded.last_seen_at, to_at = excluded.to_at,
        reason = excluded.reason, message = excluded.message`.pipe(failed("write"))
  }
})

const momentIn = (row: Row | undefined): number | undefined => {
  const moment = row?.["moment"] ?? undefined
  return moment === undefined ? undefined : Number(moment)
}

const healthOf = (sql: SqlClient): Pick<UsageStore, "openHealth" | "firstHealth" | "putHealth" | "health"> => ({
  openHealth: Effect.all([
    sql<Row>`SELECT * FROM usage_health WHERE to_at IS NULL ORDER BY from_at, cluster`,
    sql<Row>`SELECT MAX(last_seen_at) AS moment FROM usage_health`
  ]).pipe(
    Effect.map(([open, [last]]) => ({ open: open.map(spanOf), end: momentIn(last) })),
    failed("read")
  ),
  firstHealth: Effect.map(sql<Row>`SELECT MIN(from_at) AS moment FROM usage_health`, ([row]) => momentIn(row)).pipe(
    failed("read")
  ),
  putHealth: (spans) => putSpans(sql, spans),
  health: ({ from, to }, after, max) => {
    // No cluster has an empty name.
    const { cluster, from: mark } = after ?? { cluster: "", from: 0 }
    return Effect.map(
      sql<Row>`SELECT * FROM usage_health WHERE (cluster, from_at) > (${cluster}, ${mark})
        AND last_seen_at > ${from} AND from_at < ${to} ORDER BY cluster, from_at LIMIT ${max}`,
      (rows) => rows.map(spanOf)
    ).pipe(failed("read"))
  }
})

/** The store in a database, whose tables are brought up to date. */
export const makeUsageStore = Effect.fnUntraced(function* (
  sql: SqlClient
): Effect.fn.Return<UsageStore, UsageStoreError> {
  yield* updateTables(sql).pipe(failed("open"))
  return {
    open: Effect.map(
      sql<Row>`SELECT * FROM usage_sessions WHERE stopped_at IS NULL ORDER BY started_at`,
      recordsOf
    ).pipe(failed("read")),
    put: (record) =>
      sql`INSERT INTO usage_sessions ${sql.insert(rowOf(record))} ON CONFLICT (id, machine_id) DO UPDATE SET
        clusters = excluded.clusters,
        started_at = CASE WHEN excluded.started_at < usage_sessions.started_at
          THEN excluded.started_at ELSE usage_sessions.started_at END,
        last_seen_at = CASE WHEN excluded.last_seen_at > usage_sessions.last_seen_at
          THEN excluded.last_seen_at ELSE usage_sessions.last_seen_at END,
        stopped_at = CASE WHEN excluded.stopped_at IS NULL AND excluded.last_seen_at <= usage_sessions.stopped_at
          THEN usage_sessions.stopped_at ELSE excluded.stopped_at END`.pipe(Effect.asVoid, failed("write")),
    page: (span, after, max) => pageOf(sql, span, after, max).pipe(failed("read")),
    newest: (max) =>
      Effect.map(
        sql<Row>`SELECT * FROM usage_sessions ORDER BY started_at DESC, id DESC, machine_id DESC LIMIT ${max}`,
        (rows) => recordsOf(rows).toReversed()
      ).pipe(failed("read")),
    prune: (limits) => pruneTo(sql, limits),
    ...sumsOf(sql),
    ...healthOf(sql)
  }
})

/** The store in a file of SQLite, which is made if it is missing. */
export const openUsageFile = (path: string): Effect.Effect<UsageStore, UsageStoreError, Scope.Scope> =>
  openSqlite(path).pipe(failed("open"), Effect.flatMap(makeUsageStore))

/** The store in a database of PostgreSQL. */
export const openUsageDatabase = (
  database: PostgresDatabase
): Effect.Effect<UsageStore, UsageStoreError, Scope.Scope> =>
  openPostgres(database).pipe(failed("open"), Effect.flatMap(makeUsageStore))
