/**
 * The store of records of use in a SQL database: implements the port `UsageStore`. Its statements are the same for
 * every engine.
 */

import { Effect, type Scope } from "effect"
import { fromRecord, make as makeMigrator } from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import { asString } from "../../domain/json.ts"
import { type MachineId, type RecordedId, usageKinds, type UsageRecord } from "../../domain/usage/usage-record.ts"
import { type PageMark, type UsageLimits, type UsageStore, UsageStoreError } from "../../ports/usage-store.ts"
import { openSqlite, sqlContext } from "./sqlite-client.ts"

/** Each change of the tables is a further entry, which older databases run once. Times are epoch ms. */
const migrations = {
  "1_sessions": Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* sql`CREATE TABLE usage_sessions (
      id TEXT NOT NULL, machine_id TEXT NOT NULL, kind TEXT NOT NULL, kubernetes_user TEXT NOT NULL,
      client_user TEXT NOT NULL, client_host TEXT NOT NULL, clusters TEXT NOT NULL, namespace TEXT NOT NULL,
      target TEXT NOT NULL, container TEXT NOT NULL, ci_provider TEXT NOT NULL, ci_pipeline TEXT NOT NULL,
      started_at BIGINT NOT NULL, last_seen_at BIGINT NOT NULL, stopped_at BIGINT,
      PRIMARY KEY (id, machine_id))`
    yield* sql`CREATE INDEX usage_sessions_by_start ON usage_sessions (started_at, id, machine_id)`
    yield* sql`CREATE INDEX usage_sessions_open ON usage_sessions (started_at) WHERE stopped_at IS NULL`
  })
}

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

const failed =
  (operation: UsageStoreError["operation"]) =>
  <A, R>(call: Effect.Effect<A, { readonly message: string }, R>): Effect.Effect<A, UsageStoreError, R> =>
    Effect.mapError(call, ({ message }) => new UsageStoreError({ operation, detail: message }))

/** The bytes that the records need. Pages that deleted records have left count not. */
const bytesOf = (sql: SqlClient) =>
  Effect.map(
    sql.onDialectOrElse({
      pg: () => sql<Row>`SELECT pg_total_relation_size('usage_sessions') AS bytes`,
      orElse: () => sql<Row>`SELECT (page_count - freelist_count) * page_size AS bytes
        FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()`
    }),
    ([row]) => Number(row?.["bytes"] ?? 0)
  )

const countOf = (rows: ReadonlyArray<Row>): number => rows.length

/** Deletes a portion of the oldest sessions that have ended and began before a moment. */
const deleteOldest = (sql: SqlClient, before: number) =>
  Effect.map(
    sql<Row>`DELETE FROM usage_sessions WHERE (id, machine_id) IN (SELECT id, machine_id FROM usage_sessions
      WHERE started_at < ${before} AND stopped_at IS NOT NULL ORDER BY started_at LIMIT ${portion}) RETURNING id`,
    countOf
  )

const pruneTo = Effect.fnUntraced(function* (sql: SqlClient, { before, maxBytes }: UsageLimits) {
  let count = 0
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

const pageOf = (sql: SqlClient, after: PageMark | undefined, max: number) => {
  const rows =
    after === undefined
      ? sql<Row>`SELECT * FROM usage_sessions ORDER BY started_at, id, machine_id LIMIT ${max}`
      : sql<Row>`SELECT * FROM usage_sessions
          WHERE (started_at, id, machine_id) > (${after.startedAt}, ${after.id}, ${after.machineId})
          ORDER BY started_at, id, machine_id LIMIT ${max}`
  return Effect.map(rows, recordsOf)
}

/** The store in a database, whose tables are brought up to date. */
export const makeUsageStore = Effect.fnUntraced(function* (
  sql: SqlClient
): Effect.fn.Return<UsageStore, UsageStoreError> {
  yield* makeMigrator({})({ loader: fromRecord(migrations), table: "usage_migrations" }).pipe(
    Effect.provideContext(sqlContext(sql)),
    failed("open")
  )
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
        stopped_at = excluded.stopped_at`.pipe(Effect.asVoid, failed("write")),
    page: (after, max) => pageOf(sql, after, max).pipe(failed("read")),
    prune: (limits) => pruneTo(sql, limits).pipe(failed("prune"))
  }
})

/** The store in a file of SQLite, which is made if it is missing. */
export const openUsageFile = (path: string): Effect.Effect<UsageStore, UsageStoreError, Scope.Scope> =>
  openSqlite(path).pipe(failed("open"), Effect.flatMap(makeUsageStore))
