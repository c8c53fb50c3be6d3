/**
 * Reads a kube-apiserver's audit log: the requests of people and of pods. The embedded cluster keeps its own list of
 * callers.
 */

import { readFileSync } from "node:fs"
import { asNumber, asObject, asString, asStrings, type JsonObject } from "../../../src/domain/json.ts"
import type { Caller } from "../../cluster/embedded-cluster.ts"

const methods: Readonly<Record<string, string>> = {
  create: "POST",
  update: "PUT",
  patch: "PATCH",
  delete: "DELETE",
  deletecollection: "DELETE"
}

const parsed = (line: string): Readonly<Record<string, unknown>> | undefined => {
  try {
    return asObject(JSON.parse(line))
  } catch {
    // The line that the server is just writing.
    return undefined
  }
}

/** The user of a request. One that an operator makes for a person is the person's. */
const userOf = (event: JsonObject): JsonObject => {
  const other = asObject(event["impersonatedUser"])
  const name = asString(other["username"])
  return name === undefined || name.startsWith("system:serviceaccount:") ? asObject(event["user"]) : other
}

/**
 * The requests in the text of an audit log, oldest first. A request counts once, as soon as its answer has begun,
 * because an upgrade or a watch may not end for hours. Verbs that do not write count as GET.
 */
export const parseAuditLog = (text: string): ReadonlyArray<Caller> => {
  const seen = new Set<unknown>()
  return text.split("\n").flatMap((line) => {
    const event = line === "" ? undefined : parsed(line)
    if (event === undefined || seen.has(event["auditID"])) return []
    seen.add(event["auditID"])
    const user = userOf(event)
    const caller: Caller = {
      at: Date.parse(asString(event["requestReceivedTimestamp"]) ?? ""),
      user: asString(user["username"]) ?? "",
      groups: asStrings(user["groups"]),
      method: methods[asString(event["verb"]) ?? ""] ?? "GET",
      path: asString(event["requestURI"]) ?? "",
      status: asNumber(asObject(event["responseStatus"])["code"]) ?? 0,
      userAgent: asString(event["userAgent"]) ?? ""
    }
    return [caller]
  })
}

/** The requests in the file of an audit log, which need not exist yet. */
export const readAuditLog = (path: string): ReadonlyArray<Caller> => {
  try {
    return parseAuditLog(readFileSync(path, "utf8"))
  } catch {
    return []
  }
}
