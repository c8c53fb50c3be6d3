/**
 * Rights by Roles, ClusterRoles and their bindings in the store, and the refusal in a real server's words. For requests
 * and for the access reviews alike. Escalation checks at writes of roles do not exist here.
 */

import { asObject, asObjects, asString, asStrings, at } from "../../../src/domain/json.ts"
import type { KubeObject } from "../schema/kube-object.ts"
import type { ObjectStore } from "../store/object-store.ts"
import * as refs from "../store/resource-refs.ts"
import { ApiError } from "../wire/status-error.ts"
import { type Identity, mastersGroup } from "./identity.ts"

/** A verb on a resource or on a path. */
export type Access =
  | {
      readonly _tag: "Resource"
      readonly verb: string
      readonly group: string
      readonly version: string
      readonly resource: string
      readonly subresource: string
      readonly namespace: string
      readonly name: string
    }
  | { readonly _tag: "NonResource"; readonly verb: string; readonly path: string }

const has = (list: unknown, ...wanted: ReadonlyArray<string>): boolean => {
  const items = asStrings(list)
  return items.includes("*") || wanted.some((item) => items.includes(item))
}

const allowsResource = (rule: unknown, access: Access & { readonly _tag: "Resource" }): boolean => {
  const resource = access.subresource === "" ? access.resource : `${access.resource}/${access.subresource}`
  const resources = asStrings(at(rule, "resources"))
  const names = asStrings(at(rule, "resourceNames"))
  return (
    has(at(rule, "verbs"), access.verb) &&
    has(at(rule, "apiGroups"), access.group) &&
    (has(resources, resource) || (access.subresource !== "" && resources.includes(`*/${access.subresource}`))) &&
    (names.length === 0 || names.includes(access.name))
  )
}

const allowsPath = (rule: unknown, access: Access & { readonly _tag: "NonResource" }): boolean =>
  has(at(rule, "verbs"), access.verb) &&
  asStrings(at(rule, "nonResourceURLs")).some(
    (url) => url === "*" || url === access.path || (url.endsWith("*") && access.path.startsWith(url.slice(0, -1)))
  )

const allows = (rule: unknown, access: Access): boolean =>
  access._tag === "Resource" ? allowsResource(rule, access) : allowsPath(rule, access)

const isSubject = (subject: unknown, binding: KubeObject, identity: Identity): boolean => {
  const name = asString(at(subject, "name")) ?? ""
  switch (at(subject, "kind")) {
    case "User":
      return name === identity.user
    case "Group":
      return identity.groups.includes(name)
    case "ServiceAccount": {
      const namespace = asString(at(subject, "namespace")) ?? binding.metadata.namespace ?? ""
      return identity.user === `system:serviceaccount:${namespace}:${name}`
    }
    default:
      return false
  }
}

const bindsTo = (binding: KubeObject, identity: Identity): boolean =>
  asObjects(binding["subjects"]).some((subject) => isSubject(subject, binding, identity))

/** `system:masters` may do everything. */
export const isAllowed = (store: ObjectStore, identity: Identity, access: Access): boolean => {
  if (identity.groups.includes(mastersGroup)) return true
  const roleAllows = (binding: KubeObject): boolean => {
    const roleRef = asObject(binding["roleRef"])
    const name = asString(roleRef["name"]) ?? ""
    const role =
      roleRef["kind"] === "Role"
        ? store.get(refs.roles, binding.metadata.namespace, name)
        : store.get(refs.clusterRoles, undefined, name)
    return asObjects(role?.["rules"]).some((rule) => allows(rule, access))
  }
  const granted = (binding: KubeObject): boolean => bindsTo(binding, identity) && roleAllows(binding)
  if (store.list(refs.clusterRoleBindings).items.some(granted)) return true
  if (access._tag !== "Resource" || access.namespace === "") return false
  return store.list(refs.roleBindings, { namespace: access.namespace }).items.some(granted)
}

/** 403 in the words of a real server. */
export const accessDenied = (identity: Identity, access: Access): ApiError => {
  const who = `User ${JSON.stringify(identity.user)}`
  if (access._tag === "NonResource") {
    return new ApiError(
      403,
      "Forbidden",
      `forbidden: ${who} cannot ${access.verb} path ${JSON.stringify(access.path)}`,
      {}
    )
  }
  const { group, name, namespace, verb } = access
  const resource = access.subresource === "" ? access.resource : `${access.resource}/${access.subresource}`
  const scope = namespace === "" ? "at the cluster scope" : `in the namespace ${JSON.stringify(namespace)}`
  const what = `${access.resource}${group === "" ? "" : `.${group}`}${name === "" ? "" : ` ${JSON.stringify(name)}`}`
  return new ApiError(
    403,
    "Forbidden",
    `${what} is forbidden: ${who} cannot ${verb} resource ${JSON.stringify(resource)} in API group ` +
      `${JSON.stringify(group)} ${scope}`,
    { ...(name === "" ? {} : { name }), ...(group === "" ? {} : { group }), kind: access.resource }
  )
}
