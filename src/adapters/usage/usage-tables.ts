/**
 * The tables of the store of use, and how those of older releases are brought up to date.
 *
 * Triggers delete the sums of spans whose records change: in the same statement, and also where an older release or a
 * person writes.
 */

import { Effect } from "effect"
import { fromRecord, make as makeMigrator } from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import { sqlContext } from "./sqlite-client.ts"

/** Max length of a span, a month, in ms: a span that has a moment begins no longer before it. */
const maxSpan = 31 * 86_400_000

/** Deletes the sums of the spans with a moment, which may be null. */
const forget = (moment: string): string =>
  `DELETE FROM usage_sums WHERE span_from > ${moment} - ${maxSpan} AND span_from <= ${moment}
    AND span_to > ${moment};`

/** Deletes the sums of the spans in which a record begins or ends. */
const forgetSpansOf = (row: "NEW" | "OLD"): string => forget(`${row}.started_at`) + forget(`${row}.stopped_at`)

const events = [
  ["INSERT", ["NEW"]],
  ["UPDATE", ["OLD", "NEW"]],
  ["DELETE", ["OLD"]]
] as const

const sqliteTriggers = events.map(
  ([event, rows]) =>
    `CREATE TRIGGER usage_sums_${event.toLowerCase()} AFTER ${event} ON usage_sessions
      BEGIN ${rows.map(forgetSpansOf).join("")} END`
)

/**
 * A maker of sums may be another process than the writer of a record, as long as a leader that was replaced still
 * writes: by the lock each sees what the other one has begun.
 */
const postgresLock = "PERFORM pg_advisory_xact_lock(hashtext('usage_sums'));"

const postgresTriggers = [
  ...events.flatMap(([event, rows]) => {
    const name = `usage_sums_${event.toLowerCase()}`
    return [
      `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN ${postgresLock} ${rows.map(forgetSpansOf).join("")} RETURN NULL; END $$`,
      `CREATE TRIGGER ${name} AFTER ${event} ON usage_sessions FOR EACH ROW EXECUTE FUNCTION ${name}()`
    ]
  }),
  `CREATE FUNCTION usage_sums_begin() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN ${postgresLock} RETURN NULL; END $$`,
  `CREATE TRIGGER usage_sums_begin BEFORE INSERT ON usage_sums FOR EACH STATEMENT
    EXECUTE FUNCTION usage_sums_begin()`
]

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
  }),
  // A row without sums says that they are being made.
  "2_sums": Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* sql`CREATE TABLE usage_sums (
      span_from BIGINT NOT NULL, span_to BIGINT NOT NULL, maker BIGINT NOT NULL, sums TEXT,
      PRIMARY KEY (span_from, span_to))`
    const triggers = sql.onDialectOrElse({ pg: () => postgresTriggers, orElse: () => sqliteTriggers })
    yield* Effect.forEach(triggers, (trigger) => sql.unsafe(trigger), { discard: true })
  }),
  // Without a reason the cluster was ready.
  "3_health": Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* sql`CREATE TABLE usage_health (
      cluster TEXT NOT NULL, from_at BIGINT NOT NULL, last_seen_at BIGINT NOT NULL, to_at BIGINT,
      reason TEXT, message TEXT, PRIMARY KEY (cluster, from_at))`
  })
}

/** Makes the tables that are missing. */
export const updateTables = (sql: SqlClient) =>
  makeMigrator({})({ loader: fromRecord(migrations), table: "usage_migrations" }).pipe(
    Effect.provideContext(sqlContext(sql))
  )
