/**
 * The facts about MongoDB from which its branches are made.
 *
 * Not here: its programs (src/adapters/engines/mongodb).
 */

import * as Result from "effect/Result"
import { isObject } from "../../json.ts"
import type { AddressForm, CopiedPart, Dialect } from "../dialect.ts"

/** Parameters of drivers that say which servers are asked, through what, and who enters. */
const placeParameters: ReadonlySet<string> = new Set([
  ...["replicaset", "loadbalanced", "srvservicename", "srvmaxhosts", "proxyhost", "proxyport", "proxyusername"],
  ...["proxypassword", "authmechanism", "authmechanismproperties", "gssapiservicename"]
])

/** A branch is one server without TLS, whose user is in `admin`. Records of DNS would lead to the source. */
const address: AddressForm = {
  schemes: ["mongodb"],
  scheme: "mongodb",
  locates: (parameter) => placeParameters.has(parameter),
  secures: (parameter) => /^(?:ssl|tls)/u.test(parameter),
  own: {},
  needs: { authSource: "admin" },
  isNamedAfterUser: false
}

/**
 * Operators that run code in the source. Those with an underscore are a server's own, and some of them run code in the
 * versions that take them from clients (`$_internalJsEmit` in 4.4).
 */
const runsCode = (operator: string): boolean =>
  ["where", "function", "accumulator"].includes(operator) || operator.startsWith("_")

const escape = /\\u([0-9a-fA-F]{4})/gu

/**
 * Why a filter cannot be given to `mongodump`. Operators are looked for in the text, since a value of JSON keeps only
 * the last of two fields with one name.
 */
const filterProblem = (filter: string): string | undefined => {
  const read = Result.try((): unknown => JSON.parse(filter))
  if (Result.isFailure(read) || !isObject(read.success)) {
    return 'has a filter that is no JSON object, such as {"age": {"$gt": 30}}'
  }
  const text = filter.replace(escape, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  for (const piece of text.split('"$').slice(1)) {
    const [operator = "", after = ""] = piece.split('"', 2)
    if (after.trimStart().startsWith(":") && runsCode(operator)) {
      return `has a filter with $${operator}, which runs code in the source`
    }
  }
  return undefined
}

const collectionProblem = ({ filter, name }: CopiedPart): string | undefined => {
  if (name === "" || name.includes("$") || name.startsWith("system."))
    return "has no name of a collection: it may not be empty, have a $, or begin with system."
  return filter === undefined ? undefined : filterProblem(filter)
}

/** MongoDB. */
export const mongodb: Dialect = {
  repository: "docker.io/library/mongo",
  version: "8.0",
  port: 27_017,
  address,
  user: "root",
  userId: 999,
  programs: "mongodb",
  parts: "Collections",
  databaseForm: {
    holds: (name) => !/[/\\. "$*<>:|?]/u.test(name) && !["admin", "config", "local"].includes(name),
    words: 'a name without the signs /\\. "$*<>:|? that is none of admin, config and local'
  },
  partProblem: collectionProblem,
  partName: (name) => name,
  dumpArgumentProblem: () => "and copies of MongoDB take none",
  dumpArguments: []
}
