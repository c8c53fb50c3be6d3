/**
 * SQLite, as Node has it built in, as a client of Effect's SQL modules: a file with a write-ahead log and one
 * connection.
 *
 * Not here: tables and statements (usage-store.ts), which know no engine.
 */

import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite"
import { Context, Effect, type Scope, Stream } from "effect"
import { layer as reactivityLayer } from "effect/reactivity/Reactivity"
import * as SqlClient from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import { classifySqliteError, SqlError } from "effect/sql/SqlError"
import { makeCompilerSqlite } from "effect/sql/Statement"

/**
 * In the log's mode `NORMAL` a commit waits for no disk, which would hold up all relayed messages: a crash of the
 * process loses nothing, and one of the node at most the last moments, which the sessions of the cluster repeat.
 */
const pragmas = [
  // First, because the next one waits by it for another connection.
  "busy_timeout = 2000",
  "journal_mode = WAL",
  "synchronous = NORMAL",
  "cache_size = -1024",
  "journal_size_limit = 4194304"
]

const failure = (cause: unknown, operation: string): SqlError =>
  new SqlError({ reason: classifySqliteError(cause, { message: String(cause), operation }) })

const inputOf = (value: unknown): SQLInputValue =>
  typeof value === "string" || typeof value === "number" || typeof value === "bigint" ? value : null

/** The connection to an open database. Its statements are as many as the program has. */
const connectionTo = (database: DatabaseSync): Connection => {
  const statements = new Map<string, StatementSync>()
  const prepared = (sql: string): StatementSync => {
    const statement = statements.get(sql) ?? database.prepare(sql)
    statements.set(sql, statement)
    return statement
  }
  const run = (sql: string, values: ReadonlyArray<unknown>) =>
    Effect.try({
      try: () => prepared(sql).all(...values.map(inputOf)),
      catch: (cause) => failure(cause, "execute")
    })
  const rows = (sql: string, values: ReadonlyArray<unknown>) =>
    Effect.map(run(sql, values), (found) => found.map((row) => Object.values(row)))
  return {
    execute: run,
    executeRaw: run,
    executeUnprepared: run,
    executeValues: rows,
    executeValuesUnprepared: rows,
    executeStream: (sql, values) => Stream.fromIterableEffect(run(sql, values))
  }
}

/** Opens a file, which is made if it is missing. `around`: for tests that interrupt statements. */
export const openSqlite = Effect.fnUntraced(function* (
  path: string,
  around: (connection: Connection) => Connection = (connection) => connection
): Effect.fn.Return<SqlClient.SqlClient, SqlError, Scope.Scope> {
  const open = Effect.try({
    try: () => {
      const database = new DatabaseSync(path)
      for (const pragma of pragmas) database.exec(`PRAGMA ${pragma}`)
      return database
    },
    catch: (cause) => failure(cause, "open")
  })
  const database = yield* Effect.acquireRelease(open, (opened) => Effect.sync(() => opened.close()))
  const connection = around(connectionTo(database))
  return yield* SqlClient.make({
    acquirer: Effect.succeed(connection),
    compiler: makeCompilerSqlite(),
    driver: "node-sqlite",
    beginTransaction: "BEGIN IMMEDIATE",
    spanAttributes: []
  }).pipe(Effect.provide(reactivityLayer))
})

/** The client as the context that statements take. */
export const sqlContext = (client: SqlClient.SqlClient) => Context.make(SqlClient.SqlClient, client)
