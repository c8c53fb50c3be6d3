/**
 * The table of engines: the option block of each in a BranchDatabase, the copies that it knows, and its dialect if
 * branches of it can be made (the rules are those of RFC 0006).
 *
 * Not here: how an engine makes a copy (dialects).
 */

import type { BranchDatabaseSpec } from "../resources/branches/branch-database.ts"
import type { BranchEngine } from "../resources/chart-switches.ts"
import type { Dialect } from "./dialect.ts"
import { clickhouse } from "./dialects/clickhouse.ts"
import { dynamodb } from "./dialects/dynamodb.ts"
import { mariadb } from "./dialects/mariadb.ts"
import { mongodb } from "./dialects/mongodb.ts"
import { mysql } from "./dialects/mysql.ts"
import { postgresql } from "./dialects/postgresql.ts"
import { redis } from "./dialects/redis.ts"

/** The content that a branch starts with. */
export type CopyMode = "empty" | "schema" | "all"

/** The field of a BranchDatabase that holds the options of an engine. */
type OptionBlock = Extract<keyof BranchDatabaseSpec, `${string}Options`>

interface Engine {
  readonly name: string
  readonly block: OptionBlock
  readonly modes: ReadonlyArray<CopyMode>
  /** The end of the sentence that refuses another mode. */
  readonly whyNoOtherMode?: string
  /** Further parameters of a connection, beside host, port, user, password and database. */
  readonly extraParameters: ReadonlyArray<string>
  /** Missing if branches of this engine cannot be made yet. */
  readonly dialect?: Dialect
}

const sql: ReadonlyArray<CopyMode> = ["empty", "schema", "all"]
const documents: ReadonlyArray<CopyMode> = ["empty", "all"]
const spannerPlace = ["project", "instance", "database_id"]

export const engines: Readonly<Record<BranchEngine, Engine>> = {
  pg: {
    name: "PostgreSQL",
    block: "postgresOptions",
    modes: sql,
    extraParameters: ["sslmode"],
    dialect: postgresql
  },
  mysql: { name: "MySQL", block: "mysqlOptions", modes: sql, extraParameters: [], dialect: mysql },
  mariadb: { name: "MariaDB", block: "mariadbOptions", modes: sql, extraParameters: [], dialect: mariadb },
  mongodb: { name: "MongoDB", block: "mongodbOptions", modes: documents, extraParameters: [], dialect: mongodb },
  mssql: { name: "SQL Server", block: "mssqlOptions", modes: sql, extraParameters: [] },
  redis: { name: "Redis", block: "redisOptions", modes: documents, extraParameters: [], dialect: redis },
  dynamodb: {
    name: "DynamoDB",
    block: "dynamodbOptions",
    modes: ["empty"],
    whyNoOtherMode: ": a copy needs a cloud identity, and a program in the image that reads tables",
    extraParameters: [],
    dialect: dynamodb
  },
  spanner: { name: "Spanner", block: "spannerOptions", modes: sql, extraParameters: spannerPlace },
  clickhouse: {
    name: "ClickHouse",
    block: "clickhouseOptions",
    modes: sql,
    extraParameters: [],
    dialect: clickhouse
  },
  cockroachdb: { name: "CockroachDB", block: "cockroachdbOptions", modes: sql, extraParameters: ["sslmode"] },
  generic: { name: "other databases", block: "genericOptions", modes: ["empty"], extraParameters: [] }
}
