/**
 * Addresses of SQL Server as applications write them: URLs, the texts of keys and values of ADO.NET and ODBC, and JDBC
 * URLs. Puts the address of a branch in the place of the source's, and proves it by reading the new text again.
 *
 * Not here: the same forms in the copy's own program (sql-server-script.ts).
 */

import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { quoted } from "../../clean-text.ts"
import { isPlaceKey, rewrittenUrl, urlHost } from "../branch-address.ts"
import type { AddressForm, BranchAccess, BranchAddress } from "../dialect.ts"

/** Readers of a text of keys and values: each has quotes of its own. */
type TextForm = "ADO" | "ODBC" | "JDBC"

const formNames: Readonly<Record<TextForm, string>> = {
  ADO: "an ADO connection string",
  ODBC: "an ODBC connection string",
  JDBC: "a JDBC URL"
}

interface Pair {
  /** As it stands in the text. */
  readonly key: string
  readonly value: string
}

/** A text of keys and values. `place`: the server of a JDBC URL, which stands before them. */
export interface AddressText {
  readonly form: TextForm
  /** Everything up to the server; empty where the server is one of the values. */
  readonly start: string
  readonly place: string
  readonly pairs: ReadonlyArray<Pair>
}

/** Drivers do not tell large and small letters of keys apart, nor spaces. */
const nameOf = (key: string): string => key.toLowerCase().replace(/[\s_]/gu, "")

type Role = "server" | "port" | "database" | "user" | "password" | "trust" | "encrypt"

/** The keys that a branch's text has with values of its own. */
const roles: Readonly<Record<Role, ReadonlyArray<string>>> = {
  server: ["server", "datasource", "address", "addr", "networkaddress", "servername"],
  port: ["port", "portnumber"],
  database: ["database", "initialcatalog", "databasename"],
  user: ["userid", "uid", "user", "username"],
  password: ["password", "pwd"],
  trust: ["trustservercertificate"],
  encrypt: ["encrypt"]
}

const roleNames: ReadonlyArray<Role> = ["server", "port", "database", "user", "password", "trust", "encrypt"]

const roleOf = ({ key }: Pair): Role | undefined => roleNames.find((role) => roles[role].includes(nameOf(key)))

/** Begins of keys of another server, of another login, and of the source's certificate: no branch's text has them. */
const droppedKeys = [
  ...["failover", "instance", "multisubnetfailover", "network", "serverspn", "servernameasace", "integratedsecurity"],
  ...["trustedconnection", "authentication", "accesstoken", "realm", "gss", "attachdbfilename", "extendedproperties"],
  ...["initialfilename", "hostnameincertificate", "servercertificate", "truststore", "trustmanager"],
  ...["trustservercertificateca", "clientcertificate", "clientkey", "aad", "msi", "fedauth", "transparentnetwork"],
  ...["authenticator", "krb5"]
]

const isDropped = (name: string): boolean =>
  name === "net" || name === "domain" || droppedKeys.some((begin) => name.startsWith(begin))

/** Keys that name a file of the target's drivers, in which the server would be. */
const files = ["dsn", "filedsn", "odbcconnect"]
/** Keys that look like those of a server. */
const harmless = ["sockettimeout", "ipaddresspreference"]

const opening: Readonly<Record<TextForm, string>> = { ADO: `"'`, ODBC: "{", JDBC: "{" }
const unread = "cannot be read: a value is not as this form has it"
const keyForm = /^[A-Za-z][A-Za-z0-9 _-]*$/u

/** The value in quotes that begins at a place, and the place behind it; nothing: the quotes are never closed. */
const quotedValue = (text: string, at: number): readonly [value: string, end: number] | undefined => {
  const open = text.charAt(at)
  const close = open === "{" ? "}" : open
  let value = ""
  for (let from = at + 1; ;) {
    const end = text.indexOf(close, from)
    if (end < 0) return undefined
    value += text.slice(from, end)
    if (text.charAt(end + 1) !== close) return [value, end + 1]
    value += close
    from = end + 2
  }
}

/** The value that begins at a place, and the place of the semicolon behind it, or of the end. */
const valueAt = (form: TextForm, text: string, at: number): Result.Result<readonly [string, number], string> => {
  const semicolon = text.indexOf(";", at)
  if (!opening[form].includes(text.charAt(at)) || at === text.length) {
    const end = semicolon < 0 ? text.length : semicolon
    const value = text.slice(at, end).trim()
    // Drivers do not agree on these.
    const isOdd = form === "ADO" && (value.startsWith("{") || /["']$/u.test(value))
    return isOdd ? Result.fail(unread) : Result.succeed([value, end])
  }
  const [value, end] = quotedValue(text, at) ?? ["", -1]
  if (end < 0) return Result.fail("cannot be read: its quotes are never closed")
  const rest = /^\s*(?:;|$)/u.exec(text.slice(end))
  return rest === null ? Result.fail(unread) : Result.succeed([value, end + rest[0].replace(/;$/u, "").length])
}

const separators = /[;\s]*/uy

const pairsOf = (form: TextForm, text: string): Result.Result<ReadonlyArray<Pair>, string> =>
  Result.gen(function* () {
    const pairs: Array<Pair> = []
    for (let at = 0; ;) {
      separators.lastIndex = at
      separators.exec(text)
      at = separators.lastIndex
      if (at === text.length) return pairs
      const equals = text.indexOf("=", at)
      const key = text.slice(at, Math.max(at, equals)).trim()
      if (!keyForm.test(key)) return yield* Result.fail("cannot be read: a key is not as this form has it")
      const start = equals + 1 + (/^\s*/u.exec(text.slice(equals + 1))?.[0].length ?? 0)
      const [value, end] = yield* valueAt(form, text, start)
      pairs.push({ key, value })
      at = end
    }
  })

const jdbcStart = /^(?:jdbc:)?sqlserver:\/\//iu
/** The names of what may be keys of a text, whether or not they stand in quotes. */
const namesIn = (text: string): ReadonlyArray<string> =>
  text.split(";").flatMap((piece) => (piece.includes("=") ? [nameOf(piece.slice(0, piece.indexOf("=")))] : []))

const hasServer = (names: ReadonlyArray<string>): boolean =>
  names.some((name) => roles.server.includes(name) || files.includes(name))

/** The form of a text of keys and values that is no URL. */
const formOf = (names: ReadonlyArray<string>): TextForm => (names.includes("driver") ? "ODBC" : "ADO")

const url = /^[A-Za-z][-+.A-Za-z0-9]*:/u

/** Reads a text of keys and values; nothing: it is none. The failure goes on after the form's name. */
export const readAddressText = (text: string): Result.Result<AddressText, string> | undefined => {
  const start = jdbcStart.exec(text)?.[0]
  if (start !== undefined) {
    // Without the prefix it may be a URL of Go's driver.
    if (!/^jdbc:/iu.test(text) && !text.includes(";")) return undefined
    const rest = text.slice(start.length)
    const place = /^[^;]*/u.exec(rest)?.[0] ?? ""
    if (/[@/?#\s]/u.test(place)) return Result.fail("cannot be read: its server is not as this form has it")
    return Result.map(pairsOf("JDBC", rest.slice(place.length)), (pairs) => ({ form: "JDBC", start, place, pairs }))
  }
  const names = namesIn(text)
  if (url.test(text) || !hasServer(names)) return undefined
  const form = formOf(names)
  return Result.map(pairsOf(form, text), (pairs) => ({ form, start: "", place: "", pairs }))
}

const writtenValue = (form: TextForm, value: string): string => {
  if (form !== "ADO") return /[;{}]|^\s|\s$/u.test(value) ? `{${value.replaceAll("}", "}}")}}` : value
  // Not all drivers read on behind a value that is empty.
  return /^[^;"'\s={}]+$/u.test(value) ? value : `"${value.replaceAll('"', '""')}"`
}

/** Writes a text of keys and values. */
export const writtenAddressText = ({ form, pairs, place, start }: AddressText): string => {
  const texts = pairs.map(({ key, value }) => `${key}=${writtenValue(form, value)}`)
  return start + (start === "" ? texts : [place, ...texts]).join(";")
}

/** The values of a role, each once. */
const valuesOf = ({ pairs }: AddressText, role: Role): ReadonlyArray<string> => [
  ...new Set(pairs.filter((pair) => roleOf(pair) === role).map(({ value }) => value))
]

/** Whether a parameter asks for the strict form of TLS, which trusts no certificate of a branch. */
const isStrict = ([name, value]: readonly [string, string]): boolean =>
  name === "encrypt" && value.toLowerCase() === "strict"

/** The branch's values of the roles; nothing: the text has no such key, or keeps the value that it has. */
const valuesOfBranch = (address: BranchAccess, text: AddressText): Readonly<Record<Role, string | undefined>> => {
  const { host, password, port, user } = address
  const hasPort = text.form !== "JDBC" && valuesOf(text, "port").length > 0
  const [encrypt] = valuesOf(text, "encrypt")
  return {
    server: text.form === "JDBC" ? undefined : hasPort ? host : `${host},${port}`,
    port: hasPort ? String(port) : undefined,
    database: address.database ?? valuesOf(text, "database")[0],
    user,
    password: Redacted.value(password),
    // The branch's server has a certificate of its own making.
    trust: text.form === "ODBC" ? "yes" : "true",
    encrypt: encrypt !== undefined && isStrict(["encrypt", encrypt]) ? (text.form === "ODBC" ? "yes" : "true") : encrypt
  }
}

/** The keys of roles that a text has none of. */
const usualKeys: Readonly<Record<TextForm, Readonly<Record<Role, string>>>> = {
  ADO: {
    server: "Server",
    port: "Port",
    database: "Database",
    user: "User ID",
    password: "Password",
    trust: "TrustServerCertificate",
    encrypt: "Encrypt"
  },
  ODBC: {
    server: "Server",
    port: "Port",
    database: "Database",
    user: "UID",
    password: "PWD",
    trust: "TrustServerCertificate",
    encrypt: "Encrypt"
  },
  JDBC: {
    server: "serverName",
    port: "portNumber",
    database: "databaseName",
    user: "user",
    password: "password",
    trust: "trustServerCertificate",
    encrypt: "encrypt"
  }
}

const changedText = (address: BranchAccess, text: AddressText): AddressText => {
  const values = valuesOfBranch(address, text)
  const written = new Set<Role>()
  const pairs = text.pairs.flatMap((pair): ReadonlyArray<Pair> => {
    const role = roleOf(pair)
    if (role === undefined) return isDropped(nameOf(pair.key)) ? [] : [pair]
    const value = values[role]
    if (value === undefined || written.has(role)) return []
    written.add(role)
    return [{ key: pair.key, value }]
  })
  const added = roleNames.flatMap((role): ReadonlyArray<Pair> => {
    const value = values[role]
    return value === undefined || written.has(role) ? [] : [{ key: usualKeys[text.form][role], value }]
  })
  const place = text.form === "JDBC" ? `${urlHost(address.host)}:${address.port}` : ""
  return { ...text, place, pairs: [...pairs, ...added] }
}

/** Whether a value that stays may hold a text of its own, which some drivers read as keys, in quotes or not. */
const holdsText = (pair: Pair): boolean => {
  const names = namesIn(pair.value)
  return (roleOf(pair) === undefined && pair.value.includes(";")) || hasServer(names) || names.some(isPlaceKey)
}

const isKept = (pair: Pair): boolean => {
  const role = roleOf(pair)
  return role === undefined || role === "database" || role === "encrypt"
}

/** Why a text cannot be rewritten; nothing: it can. */
const textProblem = (address: BranchAccess, text: AddressText): string | undefined => {
  const kept = changedText(address, text).pairs.filter(isKept)
  const keys = kept.filter((pair) => roleOf(pair) === undefined).map(({ key }) => key)
  const file = keys.find((key) => files.includes(nameOf(key)))
  if (file !== undefined) return `names a file of the target's drivers by ${quoted(file)}`
  const stray = keys.map(nameOf).find((key) => !harmless.includes(key) && isPlaceKey(key))
  if (stray !== undefined) return `has a key ${quoted(stray)}, which may lead to another server`
  // A driver of another form must not find a server in a value.
  const isUrl = text.start !== "" && !/^jdbc:/iu.test(text.start)
  if (isUrl && kept.some(({ value }) => /[@/?#]/u.test(value))) return "cannot be read: a value holds a sign of URLs"
  const inner = kept.find(holdsText)
  if (inner !== undefined) return `has a text of keys and values in ${quoted(inner.key)}, which may lead elsewhere`
  const names = valuesOf(text, "database")
  return address.database === undefined && names.length > 1 ? "names its database twice" : undefined
}

/** Whether a text leads to the branch, and to nothing else. */
const leadsThere = (address: BranchAccess, written: string): boolean => {
  const read = readAddressText(written)
  if (read === undefined || Result.isFailure(read)) return false
  const text = read.success
  const values = valuesOfBranch(address, text)
  const isThere = text.form !== "JDBC" || text.place === `${urlHost(address.host)}:${address.port}`
  const isOwn = (role: Role): boolean => {
    const found = text.pairs.filter((pair) => roleOf(pair) === role)
    return values[role] === undefined ? found.length === 0 : found.length === 1 && found[0]?.value === values[role]
  }
  const isAway = (pair: Pair): boolean => roleOf(pair) === undefined && isDropped(nameOf(pair.key))
  return isThere && roleNames.every(isOwn) && !text.pairs.some(isAway)
}

const changed = (address: BranchAccess, text: AddressText): Result.Result<string, string> => {
  const problem = textProblem(address, text)
  if (problem !== undefined) return Result.fail(problem)
  const written = writtenAddressText(changedText(address, text))
  return leadsThere(address, written)
    ? Result.succeed(written)
    : Result.fail("could not be proved to lead to the branch")
}

/** The form of URLs. A parameter's spaces and underlines do not count. */
const urlForm: AddressForm = {
  schemes: ["mssql", "sqlserver"],
  locates: (parameter) => {
    const name = nameOf(parameter)
    const isOther = isDropped(name) && !/certificate|trust(?:store|manager)/u.test(name)
    return (
      isOther ||
      (["server", "port", "database", "user", "password"] as const).some((role) =>
        roles[role].concat(role === "server" ? ["host", ...files] : []).includes(name)
      )
    )
  },
  secures: (parameter) => /^(?:trust|hostnameincertificate|servercertificate|certificate)/u.test(nameOf(parameter)),
  own: {},
  needs: { trustServerCertificate: "true" },
  isNamedAfterUser: false
}

/** The same for Python's drivers, which take other parameters. */
const formsOfDrivers: Readonly<Record<string, AddressForm>> = {
  pymssql: { ...urlForm, needs: {} },
  pyodbc: { ...urlForm, needs: { TrustServerCertificate: "yes" } },
  aioodbc: { ...urlForm, needs: { TrustServerCertificate: "yes" } }
}

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

const urlPattern = /^([a-z]+)(?:\+([a-z0-9]+))?:\/\/[^/?#]*(?:\/([^?#]*))?(?:\?([^#]*))?/iu

const urlParts = (text: string) => {
  const [, scheme = "", driver = "", path = "", query = ""] = urlPattern.exec(text) ?? []
  return { scheme: scheme.toLowerCase(), driver: driver.toLowerCase(), path, query }
}

/** The places of the database in a URL. Go's driver looks into the query alone: a path is an instance to it. */
const databasePlaces = (isGo: boolean, path: string, inQuery: string | undefined) => ({
  query: inQuery !== undefined || isGo,
  path: inQuery === undefined && (path !== "" || !isGo)
})

const changedUrl = (address: BranchAddress, text: string): Result.Result<string, string> => {
  const { driver, path, query, scheme } = urlParts(text)
  const parameters = [...new URLSearchParams(query)].map(([key, value]) => [nameOf(key), value] as const)
  if (parameters.some(([key]) => files.includes(key))) {
    return Result.fail("holds a URL with the address in a parameter (odbc_connect): name server and login in the URL")
  }
  const inQuery = parameters.find(([key]) => roles.database.includes(key))?.[1]
  const name = address.database ?? inQuery ?? decoded(path) ?? ""
  if (name === "" && ["pyodbc", "aioodbc"].includes(driver)) {
    return Result.fail("holds a URL without a database, whose host its driver takes for a DSN: set the branch's name")
  }
  const places = databasePlaces(scheme === "sqlserver", path, inQuery)
  const changes = {
    ...(places.query && name !== "" ? { database: name } : {}),
    ...(parameters.some(isStrict) ? { encrypt: "true" } : {}),
    ...address.query
  }
  const form = formsOfDrivers[driver] ?? urlForm
  return rewrittenUrl({ ...address, form, query: changes, database: places.path ? name : "" }, text)
}

/** The text of the source with the branch's address in its place; nothing: it is of no form of SQL Server's. */
const rewritten = (address: BranchAddress, source: string): Result.Result<string, string> | undefined => {
  const text = source.trim()
  const read = readAddressText(text)
  if (read === undefined) return /^(?:mssql|sqlserver)(?:\+|:)/iu.test(text) ? changedUrl(address, text) : undefined
  const form = formNames[jdbcStart.test(text) ? "JDBC" : formOf(namesIn(text))]
  const result = Result.flatMap(read, (found) => changed(address, found))
  return Result.mapError(result, (problem) => `holds ${form} that ${problem}`)
}

/** The form of SQL Server's addresses. */
export const sqlServerAddress: AddressForm = {
  ...urlForm,
  isOwnText: (text) => readAddressText(text.trim()) !== undefined,
  rewritten
}
