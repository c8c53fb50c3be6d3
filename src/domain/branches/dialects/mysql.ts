/**
 * Branches of MySQL.
 *
 * Not here: the facts that MariaDB shares (mysql-facts.ts).
 */

import { urlHost } from "../branch-address.ts"
import type { Dialect } from "../dialect.ts"
import { jdbcDatabase, mysqlAddress, mysqlDialect } from "./mysql-facts.ts"

/** MySQL. */
export const mysql: Dialect = {
  ...mysqlDialect,
  repository: "docker.io/library/mysql",
  version: "8.4",
  address: mysqlAddress(["mysql", "mysql2", "mariadb"]),
  migrations: {
    jdbcUrl: ({ database, host, port }) =>
      `jdbc:mysql://${urlHost(host)}:${port}/${jdbcDatabase(database)}?sslMode=DISABLED&allowPublicKeyRetrieval=true`
  }
}
