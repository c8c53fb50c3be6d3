/**
 * The facts that MySQL and MariaDB have in common, from which their branches are made.
 *
 * Not here: the facts in which the two engines differ (mysql.ts, mariadb.ts), and their programs
 * (src/adapters/engines/mysql).
 */

import type { AddressForm, Dialect } from "../dialect.ts"
import { backtickedName, filterProblem } from "./sql-text.ts"

/** Options of the dump program that only say what of a database is dumped, and how it is written. */
const dumpOptions = [
  ...[
    "routines",
    "events",
    "triggers",
    "hex-blob",
    "complete-insert",
    "extended-insert",
    "tz-utc",
    "quick",
    "comments"
  ],
  ...["order-by-primary", "single-transaction", "lock-tables", "tablespaces", "column-statistics", "quote-names"],
  ...["add-drop-table", "add-locks", "disable-keys", "create-options", "set-charset", "dump-date", "autocommit"]
]
const onlyOptions = [
  "--no-tablespaces",
  "--no-autocommit",
  "--set-gtid-purged",
  "--ignore-table",
  "--ignore-table-data"
]

const isServed = (option: string): boolean =>
  onlyOptions.includes(option) || dumpOptions.some((name) => option === `--${name}` || option === `--skip-${name}`)

/** A table's name as users write it. */
const tableName = (name: string): string | undefined => {
  const read = backtickedName(name)
  return read === undefined || [...read].length > 64 ? undefined : read
}

/** Parameters of drivers that say where the database is, and who enters it. */
const placeParameters: ReadonlySet<string> = new Set([
  ...["host", "hostname", "server", "port", "socket", "socketpath", "unix_socket", "unixsocket", "pipe", "proxy"],
  ...["localsocket", "socketfactory", "cloudsqlinstance"],
  ...["user", "username", "password", "passwd", "pass", "db", "dbname", "database", "schema"]
])

const security = /^(?:ssl|tls|use_?ssl|require_?ssl|verify|trust|server_?certificate|server_?ssl)/u

/** The part of a dialect in which the two engines do not differ. */
export const mysqlDialect = {
  port: 3306,
  user: "root",
  userId: 999,
  programs: "mysql",
  parts: "Tables",
  partProblem: ({ filter, name }) => {
    if (tableName(name) === undefined)
      return "has no name of a table: it must be like orders or `Odd.Name`, without its database"
    return filter === undefined ? undefined : filterProblem(filter, "MySQL")
  },
  partName: (name) => tableName(name) ?? name,
  dumpArgumentProblem: (argument) =>
    isServed(argument.split("=", 1)[0] ?? "")
      ? undefined
      : `which is not passed on: it may be ${onlyOptions.join(", ")}, or --NAME and --skip-NAME of ` +
        dumpOptions.join(", "),
  // A branch without them would differ in silence. Events would begin to run in it.
  dumpArguments: ["--routines"]
} as const satisfies Omit<Dialect, "repository" | "version" | "address">

/**
 * The name of a database in a JDBC URL. Flyway's image has MariaDB's driver for both engines, which takes the name as
 * it stands; a ? would end it, so that such a name is not found instead of another one.
 */
export const jdbcDatabase = (name: string): string => name.replaceAll("?", "%3F")

/** `schemes`: those of the engine's URLs, of which the first one is the usual. */
export const mysqlAddress = (schemes: ReadonlyArray<string>): AddressForm => ({
  schemes,
  locates: (parameter) => placeParameters.has(parameter),
  secures: (parameter) => security.test(parameter),
  own: {},
  isNamedAfterUser: false
})
