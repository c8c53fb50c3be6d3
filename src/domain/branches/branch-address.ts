/**
 * The address of a branch as an application reads it: writes it as a URL, and puts it into the URL of the source. The
 * result is proved by reading it again, since a URL that stays as it is would lead to the source.
 *
 * Not here: which variables hold addresses (environment-plan.ts), and what an engine's URLs look like (dialects).
 */

import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { quoted } from "../clean-text.ts"
import type { AddressForm, BranchAccess, BranchAddress } from "./dialect.ts"

/** Encoded for any part of a URL. Halves of surrogate pairs, which have no encoding, become `U+FFFD`. */
export const encoded = (text: string): string => encodeURIComponent(text.toWellFormed())

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** The host as a URL has it. */
export const urlHost = (host: string): string => (host.includes(":") ? `[${host}]` : host)

/** The text up to the first of a sign, and behind it. */
const cut = (text: string, sign: string): readonly [before: string, behind: string] => {
  const at = text.indexOf(sign)
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + sign.length)]
}

/** The parts of a URL as they stand in it. */
interface UrlParts {
  readonly scheme: string
  /** Everything between the slashes and the path. */
  readonly authority: string
  /** The path without its first slash. */
  readonly path: string
  readonly query: string
  /** Everything behind the authority. */
  readonly rest: string
}

/** The parts of a text that is a URL of the engine; `undefined` if it is none. */
const partsOf = ({ schemes }: AddressForm, text: string): UrlParts | undefined => {
  const [scheme, behind] = cut(text, "://")
  if (!text.includes("://") || !schemes.includes(cut(scheme.toLowerCase(), "+")[0])) return undefined
  const [location, query] = cut(cut(behind, "#")[0], "?")
  const [authority, path] = cut(location, "/")
  return { scheme, authority, path, query, rest: behind.slice(authority.length) }
}

/** The keys of a text of keys and values, in lower case. */
const keysOf = (text: string, separator: string): ReadonlyArray<string> =>
  text.split(separator).flatMap((piece) => (piece.includes("=") ? [cut(piece, "=")[0].trim().toLowerCase()] : []))

const isAnyOf = (names: ReadonlyArray<string>, found: ReadonlyArray<string>): boolean =>
  names.some((name) => found.includes(name))

const adoKeys = ["server", "data source", "host", "address", "addr", "network address"]
const keywords = ["host", "hostaddr", "port", "user", "password", "dbname", "service"]

/** The form of a text that is no URL of the engine. */
const nameOfForm = (text: string): string => {
  if (text === "") return "nothing"
  if (/^jdbc:/iu.test(text)) return "a JDBC URL"
  if (["tcp", "tcp4", "tcp6", "unix"].some((network) => text.includes(`${network}(`))) return "a data source name of Go"
  if (text.includes("://")) return "a URL of another scheme"
  if (text.includes(";") && isAnyOf(adoKeys, keysOf(text, ";"))) return "an ADO connection string"
  return isAnyOf(keywords, keysOf(text, " ")) ? "a text of keys and values" : "no URL"
}

const plainUrl = (text: string): string => text.trim().replace(/^jdbc:/iu, "")

/** Whether a text is a URL of the engine, perhaps behind `jdbc:`. */
export const isUrlOf = (form: AddressForm, text: string): boolean => partsOf(form, plainUrl(text)) !== undefined

const hostOf = (host: string): string | undefined => URL.parse(`branch://${urlHost(host)}`)?.hostname

const webSchemes = ["http:", "https:"]

/** Whether a URL leads to the server of the branch; `defaultPort`: the port where it has none, if that is enough. */
export const leadsTo = ({ form, host, port }: BranchAddress, url: string, defaultPort?: number): boolean => {
  const parsed = URL.parse(plainUrl(url))
  const wanted = hostOf(host)
  if (parsed === null || wanted === undefined || parsed.hostname !== wanted) return false
  if (form.scheme !== undefined && parsed.protocol !== `${form.scheme}:`) return false
  const scheme = parsed.protocol.slice(0, -1)
  const wantedPort = form.portFor === undefined ? port : form.portFor(scheme, parsed.port)
  // Of the web's schemes a URL without a port leads to that of the web.
  const own = parsed.port === "" && !webSchemes.includes(parsed.protocol) ? defaultPort : Number(parsed.port)
  return wantedPort !== undefined && own === wantedPort
}

/** Keys and parameters by which drivers find a server, whatever else the text says. */
const placeKeys = ["host", "server", "proxy", "pipe", "service", "source", "addr", "cloudsql", "sock", "partner"]
/** Keys that begin as one of these, and lead nowhere. */
const otherKeys = [
  ...["servertimezone", "servercertificate", "serverrsapublickeyfile", "serverversion", "serverselection"],
  ...["servermonitoring", "useserverprep", "authsource"]
]

/** Whether a key, in lower case, may say where a server is. */
const isPlaceKey = (key: string): boolean =>
  placeKeys.some((place) => key.includes(place)) && !otherKeys.some((other) => key.startsWith(other))

const digits = /^\d*/u
/** The text behind a port, if one stands at its beginning behind this sign. */
const behindPort = (text: string, sign: string): string =>
  text.startsWith(sign) ? text.slice(1).replace(digits, "") : text

/** Whether a word beside a host may be another one: it is no key with its value, no option and no port. */
const mayBeHost = (word: string): boolean =>
  word !== "" && !word.includes("=") && !word.startsWith("-") && word.replace(digits, "") !== ""

const listSeparators = /[,;|\s]/u

/** Whether a host between these texts is one of a list. A port may follow a comma, as in ADO texts. */
const isListed = (before: string, after: string): boolean => {
  const rest = behindPort(after, ":")
  const isEnd = rest === "" || !listSeparators.test(rest.charAt(0))
  const isBegin = before === "" || !listSeparators.test(before.slice(-1))
  return (
    (!isEnd && mayBeHost(rest.split(listSeparators).find((word) => word !== "") ?? "")) ||
    (!isBegin && mayBeHost(before.split(listSeparators).findLast((word) => word !== "") ?? ""))
  )
}

const separators = /[?&;\s]/u

/** The keys of a text with the first word behind each, in whatever form the text has them. */
const pairsOf = (text: string): ReadonlyArray<readonly [key: string, value: string]> => {
  const pieces = text.split("=").map((piece) => piece.trim().split(separators))
  return pieces.slice(1).map((piece, index) => {
    const key = pieces[index]?.at(-1) ?? ""
    return [(decoded(key) ?? key).toLowerCase(), piece[0] ?? ""]
  })
}

/**
 * Whether a text that was changed in parts may lead to another server than the branch's too: by a further URL or host,
 * or by a key that outweighs the host. It may be of any form, so it is read coarsely.
 */
export const mayStray = ({ host }: BranchAccess, text: string): boolean => {
  const own = urlHost(host)
  if (text.split("://").length > 2) return true
  const around = text.split(own)
  if (around.slice(1).some((after, index) => isListed(around[index] ?? "", after))) return true
  const isOwn = (value: string): boolean => {
    const place = value.startsWith("tcp:") ? value.slice("tcp:".length) : value
    return place.startsWith(own) && behindPort(behindPort(place.slice(own.length), ":"), ",") === ""
  }
  return pairsOf(text).some(([key, value]) => isPlaceKey(key) && !isOwn(decoded(value) ?? ""))
}

const tlsKeys = ["encrypt", "requiressl", "ssl", "ssl-mode", "ssl_mode", "sslmode", "tls", "usessl"]
/** Values of these keys with which drivers do without TLS where the server has none. */
const withoutTls = ["0", "allow", "disable", "disabled", "false", "no", "off", "optional", "prefer", "preferred"]

/** The word by which a text insists on TLS, which branches do not have; `undefined` if it does not. */
export const insistsOnTls = ({ secureSchemes = [], secures }: AddressForm, text: string): string | undefined => {
  const scheme = cut(cut(plainUrl(text).toLowerCase(), "://")[0], "+")[0]
  if (secureSchemes.includes(scheme)) return scheme
  const insists = ([key, value]: readonly [string, string]): boolean =>
    tlsKeys.includes(key) && secures(key) && !withoutTls.includes(value.toLowerCase())
  return pairsOf(text).find(insists)?.[0]
}

/** The user in a URL's authority, as it stands there. */
const userOf = (authority: string): string => {
  const end = authority.lastIndexOf("@")
  return end < 0 ? "" : cut(authority.slice(0, end), ":")[0]
}

/** The port in a URL's authority; empty where it has none. Of several hosts it is that of the last one. */
const portOf = (authority: string): string => {
  const last = authority.slice(authority.lastIndexOf(":") + 1)
  return last !== authority && /^\d+$/u.test(last) ? last : ""
}

interface QueryPiece {
  /** In lower case. */
  readonly name: string
  /** As it stands in the URL. */
  readonly text: string
  readonly value: string
}

const piecesOf = (query: string): ReadonlyArray<QueryPiece> | undefined => {
  const pieces: Array<QueryPiece> = []
  for (const text of query.split("&")) {
    if (text === "") continue
    const [raw, rest] = cut(text, "=")
    const [name, value] = [decoded(raw.replaceAll("+", " ")), decoded(rest)]
    if (name === undefined || value === undefined) return undefined
    pieces.push({ name: name.trim().toLowerCase(), text, value })
  }
  return pieces
}

const isOwn = ({ needs = {}, own }: AddressForm, name: string): boolean =>
  Object.hasOwn(own, name) || Object.keys(needs).some((needed) => needed.toLowerCase() === name)

/** Whether the branch's URL keeps a parameter of the source's. */
const isKept = ({ form, query }: BranchAddress, { name }: QueryPiece): boolean =>
  !(form.locates(name) || form.secures(name) || isOwn(form, name)) &&
  !Object.keys(query).some((wanted) => wanted.toLowerCase() === name)

/** The query of the branch's URL: what is left of the source's, then what a branch says, then what the user wants. */
const newQuery = (address: BranchAddress, pieces: ReadonlyArray<QueryPiece>): string => {
  const { form, query } = address
  const wanted = new Set(Object.keys(query).map((name) => name.toLowerCase()))
  const own = Object.entries(form.own).filter(([name]) => !wanted.has(name) && pieces.some((one) => one.name === name))
  const needed = Object.entries(form.needs ?? {}).filter(([name]) => !wanted.has(name.toLowerCase()))
  const added = [...own, ...needed, ...Object.entries(query)].map(
    ([name, value]) => `${encoded(name)}=${encoded(value)}`
  )
  return [...pieces.filter((piece) => isKept(address, piece)).map(({ text }) => text), ...added].join("&")
}

const written = (address: BranchAddress, scheme: string, database: string, query: string): string => {
  const { form, host, password, port, user } = address
  const login = form.hasNoLogin === true ? "" : `${encoded(user)}:${encoded(Redacted.value(password))}@`
  const path = database === "" ? "" : `/${encoded(database)}`
  return `${scheme}://${login}${urlHost(host)}:${port}${path}${query === "" ? "" : `?${query}`}`
}

const awayFrom = /[\s;]|:\/\//u

/** Why a parameter that the branch's URL keeps may lead to another server; `undefined` if none does. */
const strayPiece = (address: BranchAddress, pieces: ReadonlyArray<QueryPiece>): string | undefined => {
  const stray = pieces.find((piece) => isKept(address, piece) && (isPlaceKey(piece.name) || awayFrom.test(piece.text)))
  return stray && `holds a URL whose parameter ${quoted(stray.name)} may lead to another server`
}

/** The branch's port in the place of a URL's; `pieces`: those of its query. */
const portInstead = (
  { form, port }: BranchAddress,
  { authority, scheme }: UrlParts,
  pieces: ReadonlyArray<QueryPiece>
): Result.Result<number, string> => {
  if (form.portFor === undefined) return Result.succeed(port)
  const protocol = scheme.toLowerCase()
  if (webSchemes.includes(`${protocol}:`) && pieces.some(({ name }) => form.locates(name))) {
    return Result.fail("holds a URL of HTTP whose query says the database or its user: declare both as params")
  }
  const found = form.portFor(protocol, portOf(authority))
  return found === undefined
    ? Result.fail("holds a URL whose scheme asks for TLS, which a branch does not have")
    : Result.succeed(found)
}

/** The URL of a branch, for a variable that has none yet. */
export const newUrl = (address: BranchAddress): string =>
  written(address, address.form.scheme ?? address.form.schemes[0] ?? "", address.database ?? "", newQuery(address, []))

/** The name of the source's database, by its URL's path, user and query; empty: it has none, or that of the branch. */
const sourceDatabase = (
  { form, user: own }: BranchAddress,
  { name, user }: { readonly name: string; readonly user: string },
  pieces: ReadonlyArray<QueryPiece>
): string => {
  const valueOf = (...names: ReadonlyArray<string>) =>
    pieces.find((piece) => names.includes(piece.name) && form.locates(piece.name))?.value
  const sourceUser = valueOf("user") ?? user
  // The branch's user has a database of that name without its being said.
  const usual = form.isNamedAfterUser && sourceUser !== own ? sourceUser : ""
  return valueOf("dbname", "database", "db", "schema") ?? (name === "" ? usual : name)
}

/**
 * The URL of the source with the address of the branch in its place. Scheme and parameters of the driver stay. The
 * failure goes on after "The variable … "; it never quotes the URL.
 */
export const rewrittenUrl = (address: BranchAddress, source: string): Result.Result<string, string> => {
  const { form } = address
  const text = source.trim()
  const parts = partsOf(form, text)
  if (parts === undefined) {
    return Result.fail(
      `holds ${nameOfForm(text)}, and only a URL such as ${form.schemes[0]}://… can be rewritten: declare its host, ` +
        "port, user, password and database as params with patterns"
    )
  }
  const { authority, path, query, rest, scheme } = parts
  if (rest.includes("@")) {
    return Result.fail("holds an @ behind the host of its URL; it must be percent-encoded as %40")
  }
  const [name, pieces] = [decoded(path), piecesOf(query)]
  const user = decoded(userOf(authority))
  if (name === undefined || pieces === undefined || user === undefined) {
    return Result.fail("holds a URL that is not percent-encoded UTF-8")
  }
  const problem = path.includes("/")
    ? "holds a URL whose path is more than the name of a database"
    : strayPiece(address, pieces)
  if (problem !== undefined) return Result.fail(problem)
  return Result.flatMap(portInstead(address, parts, pieces), (port) => {
    const named = address.database ?? sourceDatabase(address, { name, user }, pieces)
    const url = written({ ...address, port }, form.scheme ?? scheme, named, newQuery(address, pieces))
    return leadsTo(address, url) ? Result.succeed(url) : Result.fail("could not be proved to lead to the branch")
  })
}
