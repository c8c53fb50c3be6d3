/**
 * The facts about PostgreSQL from which its branches are made.
 *
 * Not here: its programs (src/adapters/engines/postgresql).
 */

import { encoded, urlHost } from "../branch-address.ts"
import type { AddressForm, Dialect } from "../dialect.ts"
import { filterProblem, quotedName, tableName } from "./sql-text.ts"

/** Options of `pg_dump` that say where to read and to write, and what, which the copying program decides. */
const ownOptions = [
  ...["--dbname", "--file", "--format", "--host", "--port", "--username", "--password", "--no-password"],
  ...["--role", "--section", "--schema-only", "--data-only", "--jobs", "--compress", "--filter", "--table"],
  // Further ways to say what is copied. Rows of foreign tables would be written back to where they are.
  ...["--table-and-children", "--large-objects", "--blobs", "--include-foreign-data"]
]

/** Parameters of libpq and of other drivers that say where the database is, and who enters it. */
const placeParameters: ReadonlySet<string> = new Set([
  ...["host", "hostaddr", "hostname", "server", "servers", "port", "socket", "unix_socket", "unix_sock", "proxy"],
  ...["user", "username", "password", "pass", "passfile", "dbname", "database", "service", "servicefile"],
  ...["socketfactory", "socketfactoryarg", "cloudsqlinstance"],
  ...["target_session_attrs", "targetservertype", "load_balance_hosts", "loadbalancehosts"]
])

const security = /^(?:ssl|tls|gss|krb|require|channel_?binding|(?:min|max)_protocol)/u

/** The server of a branch has no TLS. A driver that asks for it unless told otherwise finds `sslmode` in the source. */
const address: AddressForm = {
  schemes: ["postgresql", "postgres"],
  locates: (parameter) => placeParameters.has(parameter),
  secures: (parameter) => security.test(parameter),
  own: { sslmode: "disable" },
  isNamedAfterUser: true
}

/** Most bytes of a name. The server cuts off the rest, and may find another table by it. */
const maxName = 63

/** PostgreSQL. */
export const postgresql: Dialect = {
  repository: "docker.io/library/postgres",
  version: "17",
  port: 5432,
  address,
  user: "postgres",
  userId: 999,
  programs: "postgresql",
  parts: "Tables",
  partProblem: ({ filter, name }) => {
    const parts = tableName(name)
    if (parts === undefined) return 'has no name of a table: it must be like orders, sales.orders or "Sales"."Orders"'
    if (parts.some((part) => new TextEncoder().encode(part).length > maxName))
      return `has a name of more than ${maxName} bytes, of which the server would read no more`
    return filter === undefined ? undefined : filterProblem(filter, "PostgreSQL")
  },
  partName: (name) => quotedName(tableName(name) ?? [name]),
  dumpArgumentProblem: (argument) => {
    const [option = ""] = argument.split("=", 1)
    // Short options can be written together, and the long ones can be shortened.
    if (!/^--[a-z][-a-z]*$/u.test(option)) return "which is no long option such as --no-owner"
    return ownOptions.some((own) => own.startsWith(option)) ? "which the operator sets itself" : undefined
  },
  dumpArguments: ["--no-owner", "--no-acl"],
  migrations: {
    jdbcUrl: ({ database, host, port }) =>
      `jdbc:postgresql://${urlHost(host)}:${port}/${encoded(database)}?sslmode=disable`
  }
}
