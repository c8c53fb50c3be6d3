import { readFileSync } from "node:fs"
import type { Caller } from "../../lab/cluster/embedded-cluster.ts"
import { parseRequest } from "../../lab/cluster/http/request-info.ts"
import type { LocalCluster } from "../../lab/playground/local-cluster.ts"
import { type ApiCall, rowOf } from "./api-call.ts"

/** Those that are for resources. */
export const resourceCalls = (callers: ReadonlyArray<Caller>): ReadonlyArray<ApiCall> =>
  callers.flatMap(({ method, path }) => {
    const { access } = parseRequest(method, path)
    return access._tag === "Resource"
      ? [
          {
            ...access,
            resource: access.subresource === "" ? access.resource : `${access.resource}/${access.subresource}`
          }
        ]
      : []
  })

/** The calls for resources that a user made to an API server since a time (epoch ms). */
export const auditedCalls = (cluster: LocalCluster, user: string, since = 0): ReadonlyArray<ApiCall> =>
  resourceCalls(cluster.callers().filter((call) => call.user === user && call.at >= since))

/** Rows of a committed table of calls. */
export const readTable = (name: string): ReadonlyArray<string> =>
  readFileSync(new URL(`calls/${name}.txt`, import.meta.url), "utf8")
    .trimEnd()
    .split("\n")

/** Rows of calls that are in none of these tables. */
export const outsideOf = (tables: ReadonlyArray<string>, calls: Iterable<ApiCall>): ReadonlyArray<string> => {
  const known = new Set(tables.flatMap(readTable))
  // A right in all namespaces is one in the operator's. Of the older kinds of branches, which an operator treats alike,
  // the tables have one.
  const isKnown = (row: string): boolean => {
    const usual = row.replace(/\b(?:mysql|mongodb)branchdatabases/u, "pgbranchdatabases")
    return known.has(usual) || known.has(usual.replace(/ in \S+$/u, " in any namespace"))
  }
  return [...new Set([...calls].map(rowOf))].filter((row) => !isKnown(row)).toSorted()
}
