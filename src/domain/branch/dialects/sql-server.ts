/**
 * Branches of SQL Server. No test has ever run one with the server, of which the tests can have none.
 *
 * Not here: its programs (sql-server-script.ts), and the forms of its addresses (sql-server-address.ts).
 */

import { urlHost } from "../branch-address.ts"
import type { CopiedPart, Dialect } from "../dialect.ts"
import { sqlServerAddress } from "./sql-server-address.ts"
import { copyScript, serveScript, startedScript } from "./sql-server-script.ts"
import { bracketedName, closingQuote, filterProblem } from "./sql-text.ts"

const control = /\p{Cc}/u

/** Functions that ask another server, or count on. */
const leads = ["openrowset", "openquery", "opendatasource", "next value for"]

/** Hints by which a query holds more locks on the source, or holds them for longer, than a read needs. */
const locks = ["holdlock", "repeatableread", "serializable", "tablock", "tablockx", "updlock", "xlock"]

/** The server's own types that have functions behind two colons. */
const serverTypes = ["geography", "geometry", "hierarchyid"]
/** The server's own functions that stand where a table may. `root`: a word of `for xml`. */
const serverTables = [
  ...["changetable", "containstable", "freetexttable", "generate_series", "openjson", "root", "string_split"]
]
/** Words behind which no table stands any more, up to the next `from` of the same parentheses. */
const fromEnds = ["except", "group", "having", "intersect", "order", "select", "union", "where"]

/** A filter without its texts, and with a word for each name in quotes, which are all closed. */
const bareFilter = (filter: string): string => {
  let bare = ""
  for (let at = 0; at < filter.length; at++) {
    const sign = filter.charAt(at)
    if (!`'"[`.includes(sign)) {
      bare += sign
      continue
    }
    bare += sign === "'" ? "''" : " x "
    at = closingQuote(filter, at)
  }
  return bare
}

const isWord = (token: string | undefined): token is string => token !== undefined && /^[^!-?[-^`{-~]/u.test(token)

/**
 * Whether the words and signs of a filter call a function of the database where a table may stand. Such a function
 * needs no schema before its name, as all others do.
 */
const callsTableFunction = (tokens: ReadonlyArray<string>): boolean => {
  const inFrom = [false]
  const isPlace = (at: number): boolean => {
    const word = tokens[at] ?? ""
    if (word === ",") return inFrom.at(-1) === true
    return ["apply", "join"].includes(word) || (word === "from" && tokens[at - 1] !== "distinct")
  }
  for (const [at, sign] of tokens.entries()) {
    if (sign === "(") {
      const name = tokens[at - 1]
      if (isWord(name) && isPlace(at - 2) && !serverTables.includes(name)) return true
      inFrom.push(false)
    } else if (sign === ")") inFrom.pop()
    else if (isPlace(at) && sign === "from") inFrom[inFrom.length - 1] = true
    else if (fromEnds.includes(sign)) inFrom[inFrom.length - 1] = false
  }
  return false
}

const signs = /([^\p{L}\p{M}\p{N}\p{Pc}\p{Cf}@#$])/u
/** A number, behind which a word may stand without a space. */
const leadingNumber = /^(?:0x[0-9a-f]*|[0-9]+(?:e[0-9]*)?)/u

/** The words and signs of a filter without its texts, in lower case. */
const tokensOf = (bare: string): ReadonlyArray<string> =>
  bare
    .toLowerCase()
    .split(signs)
    .filter((token) => token.trim() !== "")
    .map((token) => token.replace(leadingNumber, "") || token)

/** Whether a filter without its texts calls a function of the database. */
const callsFunction = (bare: string): boolean => {
  const tokens = tokensOf(bare)
  const isOfSchema = (token: string, at: number) => token === "." && isWord(tokens[at + 1]) && tokens[at + 2] === "("
  const isOfType = (token: string, at: number) =>
    token === ":" && tokens[at + 1] === ":" && !serverTypes.includes(tokens[at - 1] ?? "")
  return tokens.some((token, at) => isOfSchema(token, at) || isOfType(token, at)) || callsTableFunction(tokens)
}

/**
 * Why a filter may do more than read; nothing: it only reads. The engine has no transactions that cannot write, but a
 * `select` writes nothing by itself. Only a function of the database might, which is refused. That of a view, or of a
 * column, runs for every reader as it is.
 */
const rowsProblem = (filter: string): string | undefined => {
  const bare = bareFilter(filter)
  const words = ` ${bare
    .toLowerCase()
    .split(/[^a-z_]/u)
    .filter((word) => word !== "")
    .join(" ")} `
  if (leads.some((word) => words.includes(` ${word} `))) {
    return "has a filter that leads to another server, or counts a sequence on"
  }
  if (locks.some((word) => words.includes(` ${word} `))) {
    return "has a filter with a hint that locks rows of the source: leave it out"
  }
  if (callsFunction(bare)) {
    return "has a filter that calls a function of the database, which may do more than read"
  }
  return control.test(filter) ? "has a filter with a control character: it must be one line" : undefined
}

const partProblem = ({ filter, name }: CopiedPart): string | undefined => {
  const parts = bracketedName(name)
  if (parts === undefined || parts.some((part) => part.length > 128 || control.test(part))) {
    return "has no name of a table: it must be like orders, Sales.orders or [Odd Name].[Orders]"
  }
  return filter === undefined ? undefined : (filterProblem(filter, "SQL Server") ?? rowsProblem(filter))
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
