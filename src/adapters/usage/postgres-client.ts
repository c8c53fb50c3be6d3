/**
 * PostgreSQL as a client of Effect's SQL modules. Connections that are lost are made again by the next statement.
 *
 * Not here: tables and statements (usage-store.ts), which know no engine.
 */

import { make } from "@effect/sql-pg/PgClient"
import { Effect, Redacted, type Scope } from "effect"
import { layer as reactivityLayer } from "effect/reactivity/Reactivity"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"

/** A database. */
export interface PostgresDatabase {
  /** As libpq has it. TLS is used unless it says `sslmode=disable`, and the server's certificate is checked. */
  readonly url: Redacted.Redacted
  /** The authority of the server's certificate, PEM; `undefined`: those that Node knows. */
  readonly authority: string | undefined
}

const isWithoutTls = (url: string): boolean => URL.parse(url)?.searchParams.get("sslmode") === "disable"

/** Opens a database for as long as the scope lives. */
export const openPostgres = ({ authority, url }: PostgresDatabase): Effect.Effect<SqlClient, SqlError, Scope.Scope> =>
  make({
    url,
    ssl: !isWithoutTls(Redacted.value(url)) && (authority === undefined || { ca: authority }),
    applicationName: "braid",
    // A report beside a write.
    maxConnections: 2,
    connectTimeout: "10 seconds",
    keepAlive: "30 seconds",
    // Poolers that change connections between statements know none by name.
    prepare: false
  }).pipe(Effect.provide(reactivityLayer))
