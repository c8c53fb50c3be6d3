/**
 * Branches of SQL Server. No test has ever run one with the server, of which the tests can have none.
 *
 * Not here: its programs (sql-server-script.ts), and the forms of its addresses (sql-server-address.ts).
 */

import { urlHost } from "../branch-address.ts"
import type { CopiedPart, Dialect } from "../dialect.ts"
import { sqlServerAddress } from "./sql-server-address.ts"
import { copyScript, serveScript, startedScript } from "./sql-server-script.ts"
import { bracketedName, filterProblem } from "./sql-text.ts"

const control = /\p{Cc}/u

const partProblem = ({ filter, name }: CopiedPart): string | undefined => {
  const parts = bracketedName(name)
  if (parts === undefined || parts.some((part) => part.length > 128 || control.test(part))) {
    return "has no name of a table: it must be like orders, Sales.orders or [Odd Name].[Orders]"
  }
  if (filter === undefined) return undefined
  return control.test(filter)
    ? "has a filter with a control character: it must be one line"
    : filterProblem(filter, "SQL Server")
}

/** SQL Server. */
export const sqlServer: Dialect = {
  repository: "mcr.microsoft.com/mssql/server",
  version: "2022-latest",
  port: 1433,
  address: sqlServerAddress,
  user: "sa",
  userId: 10_001,
  needs: {
    // The image's user is of root's group, which its files belong to.
    groupId: 0,
    // The server's program has this capability as a file; the kernel starts none whose capabilities are all dropped.
    capabilities: ["NET_BIND_SERVICE"],
    dataFolder: "/var/opt/mssql",
    // The server starts with no less than 2,000 MB.
    resources: { requests: { cpu: "100m", memory: "2Gi" }, limits: { cpu: "2", memory: "4Gi" } }
  },
  hasLicence: true,
  // Three of four kinds of signs must be in a password.
  passwordEnd: "-aA0",
  copyScript,
  serveScript,
  startedScript,
  parts: "Tables",
  databaseForm: { holds: (name) => !control.test(name), words: "a text without control characters" },
  partProblem,
  partName: (name) => (bracketedName(name) ?? [name]).map((part) => `[${part.replaceAll("]", "]]")}]`).join("."),
  dumpArgumentProblem: () => "and there is no dump program to take it",
  dumpArguments: [],
  migrations: {
    jdbcUrl: ({ database, host, port }) =>
      `jdbc:sqlserver://${urlHost(host)}:${port};databaseName={${database.replaceAll("}", "}}")}};encrypt=true;` +
      "trustServerCertificate=true"
  }
}
