/**
 * The headers `Impersonate-…` (`kubectl --as`): lets a caller act as another user, if its rights allow it, with groups,
 * uid and extras.
 */

import type { IncomingMessage } from "node:http"
import type { ObjectStore } from "../store/object-store.ts"
import { textOfHeader } from "../wire/header-bytes.ts"
import { badRequest } from "../wire/status-error.ts"
import { type Identity, authenticatedGroup } from "./identity.ts"
import { type Access, accessDenied, isAllowed } from "./rbac.ts"

const serviceAccount = /^system:serviceaccount:([^:]+):([^:]+)$/

const right = (
  resource: string,
  name: string,
  place: Partial<Access & { readonly _tag: "Resource" }> = {}
): Access => ({
  _tag: "Resource",
  verb: "impersonate",
  group: "",
  version: "v1",
  resource,
  subresource: "",
  namespace: "",
  name,
  ...place
})

const prefix = "impersonate-extra-"

const decodeKey = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const extraOf = (headers: IncomingMessage["headersDistinct"]): Readonly<Record<string, ReadonlyArray<string>>> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, values = []]) =>
      name.startsWith(prefix) ? [[decodeKey(name.slice(prefix.length)), values.map(textOfHeader)] as const] : []
    )
  )

/** The identity that the headers ask for, beside the user. */
interface Wanted {
  readonly groups: ReadonlyArray<string>
  readonly uid: string | undefined
  readonly extra: Readonly<Record<string, ReadonlyArray<string>>>
}

const rightsFor = (user: string, { extra, groups, uid }: Wanted): ReadonlyArray<Access> => {
  const account = serviceAccount.exec(user)
  const group = "authentication.k8s.io"
  return [
    account === null
      ? right("users", user)
      : right("serviceaccounts", account[2] ?? "", { namespace: account[1] ?? "" }),
    ...groups.map((name) => right("groups", name)),
    ...(uid === undefined ? [] : [right("uids", uid, { group })]),
    ...Object.entries(extra).flatMap(([subresource, values]) =>
      values.map((value) => right("userextras", value, { group, subresource }))
    )
  ]
}

/** The identity for the rest of the request; the caller's own without such headers. Throws 403. */
export const impersonate = (store: ObjectStore, req: IncomingMessage, caller: Identity): Identity => {
  const all = (name: string): ReadonlyArray<string> => (req.headersDistinct[name] ?? []).map(textOfHeader)
  const [user] = all("impersonate-user")
  const wanted = {
    groups: all("impersonate-group"),
    uid: all("impersonate-uid")[0],
    extra: extraOf(req.headersDistinct)
  }
  const { extra, groups, uid } = wanted
  const isMore = groups.length > 0 || uid !== undefined || Object.keys(extra).length > 0
  if (user === undefined && !isMore) return caller
  if (user === undefined) throw badRequest("requested groups without impersonating a user")
  for (const access of rightsFor(user, wanted))
    if (!isAllowed(store, caller, access)) throw accessDenied(caller, access)
  const account = serviceAccount.exec(user)
  const implied =
    account === null || groups.length > 0
      ? []
      : ["system:serviceaccounts", `system:serviceaccounts:${account[1] ?? ""}`]
  return {
    user,
    ...(uid === undefined ? {} : { uid }),
    groups: [...new Set([...groups, ...implied, authenticatedGroup])],
    extra
  }
}
