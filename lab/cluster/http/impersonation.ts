/**
 * `Impersonate-User` and `Impersonate-Group` (`kubectl --as`): lets a caller act as another user, if its rights allow
 * it. Headers for `extra` and `uid` are ignored.
 */

import type { IncomingMessage } from "node:http"
import type { ObjectStore } from "../store/object-store.ts"
import { badRequest } from "../wire/status-error.ts"
import { type Identity, authenticatedGroup } from "./identity.ts"
import { type Access, accessDenied, isAllowed } from "./rbac.ts"

const serviceAccount = /^system:serviceaccount:([^:]+):([^:]+)$/

const right = (resource: string, name: string, namespace = ""): Access => ({
  _tag: "Resource",
  verb: "impersonate",
  group: "",
  version: "v1",
  resource,
  subresource: "",
  namespace,
  name
})

/** The identity for the rest of the request; the caller's own without such headers. Throws 403. */
export const impersonate = (store: ObjectStore, req: IncomingMessage, caller: Identity): Identity => {
  const user = req.headers["impersonate-user"]
  const groups = req.headersDistinct["impersonate-group"] ?? []
  if (user === undefined && groups.length === 0) return caller
  if (typeof user !== "string") throw badRequest("requested groups without impersonating a user")
  const account = serviceAccount.exec(user)
  const wanted = [
    account === null ? right("users", user) : right("serviceaccounts", account[2] ?? "", account[1]),
    ...groups.map((group) => right("groups", group))
  ]
  for (const access of wanted) if (!isAllowed(store, caller, access)) throw accessDenied(caller, access)
  const implied =
    account === null || groups.length > 0
      ? []
      : ["system:serviceaccounts", `system:serviceaccounts:${account[1] ?? ""}`]
  return { user, groups: [...new Set([...groups, ...implied, authenticatedGroup])], extra: {} }
}
