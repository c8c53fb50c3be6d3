/**
 * Branches of MariaDB, from version 10.5, whose programs have their names of today.
 *
 * Not here: the facts that MySQL shares (mysql-facts.ts).
 */

import { urlHost } from "../branch-address.ts"
import type { Dialect } from "../dialect.ts"
import { jdbcDatabase, mysqlAddress, mysqlDialect } from "./mysql-facts.ts"

/** MariaDB. */
export const mariadb: Dialect = {
  ...mysqlDialect,
  repository: "docker.io/library/mariadb",
  version: "12",
  address: mysqlAddress(["mariadb", "mysql", "mysql2"]),
  migrations: {
    jdbcUrl: ({ database, host, port }) => `jdbc:mariadb://${urlHost(host)}:${port}/${jdbcDatabase(database)}`
  }
}
