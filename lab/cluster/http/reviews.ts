/**
 * Kinds that a server answers and does not store: TokenReview, the access reviews, SelfSubjectReview, and TokenRequest
 * of a service account. Rights come from `rbac.ts`, tokens from `tokens.ts`.
 */

import { type JsonObject, asNumber, asObject, asString, asStrings, at } from "../../../src/domain/json.ts"
import { kubeTime } from "../schema/kube-object.ts"
import { invalid, invalidValue, required } from "../wire/status-error.ts"
import type { Identity } from "./identity.ts"
import { type Access, isAllowed } from "./rbac.ts"
import type { ServerContext } from "./server-context.ts"
import { issuer } from "./tokens.ts"

const text = (value: unknown, ...path: ReadonlyArray<string>): string => asString(at(value, ...path)) ?? ""

const accessOf = (spec: JsonObject, kind: string): Access => {
  const resource = spec["resourceAttributes"]
  const path = spec["nonResourceAttributes"]
  if ((resource === undefined) === (path === undefined)) {
    throw invalid({ group: "authorization.k8s.io", kind }, "", [
      invalidValue(
        "spec.resourceAttributes",
        resource ?? null,
        "exactly one of nonResourceAttributes or resourceAttributes must be specified"
      )
    ])
  }
  if (path !== undefined) return { _tag: "NonResource", verb: text(path, "verb"), path: text(path, "path") }
  return {
    _tag: "Resource",
    verb: text(resource, "verb"),
    group: text(resource, "group"),
    version: text(resource, "version"),
    resource: text(resource, "resource"),
    subresource: text(resource, "subresource"),
    namespace: text(resource, "namespace"),
    name: text(resource, "name")
  }
}

const subjectOf = (spec: JsonObject): Identity => {
  if (text(spec, "user") === "" && asStrings(spec["groups"]).length === 0) {
    throw invalid({ group: "authorization.k8s.io", kind: "SubjectAccessReview" }, "", [
      invalidValue("spec.user", "", "at least one of user or group must be specified")
    ])
  }
  return { user: text(spec, "user"), groups: asStrings(spec["groups"]), extra: {} }
}

const userInfo = ({ user, groups, uid, extra }: Identity): JsonObject => ({
  username: user,
  ...(uid === undefined ? {} : { uid }),
  groups,
  extra
})

const tokenReview = (context: ServerContext, spec: JsonObject): JsonObject => {
  const wanted = asStrings(spec["audiences"])
  const audiences = wanted.length === 0 ? [issuer] : wanted
  const result = context.tokens.check(text(spec, "token"), audiences)
  return "identity" in result
    ? { authenticated: true, user: userInfo(result.identity), audiences }
    : { user: {}, error: `[invalid bearer token, ${result.error}]` }
}

/** The sent object with a `status`; `undefined` if the resource is no review. */
export const answerReview = (
  context: ServerContext,
  resource: string,
  identity: Identity,
  body: JsonObject
): JsonObject | undefined => {
  const spec = asObject(body["spec"])
  const verdict = (who: Identity, kind: string): JsonObject => ({
    allowed: isAllowed(context.store, who, accessOf(spec, kind))
  })
  const metadata = { creationTimestamp: null, ...asObject(body["metadata"]) }
  switch (resource) {
    case "subjectaccessreviews":
      return { ...body, metadata, status: verdict(subjectOf(spec), "SubjectAccessReview") }
    case "selfsubjectaccessreviews":
      return { ...body, metadata, status: verdict(identity, "SelfSubjectAccessReview") }
    case "selfsubjectreviews":
      return { ...body, metadata, status: { userInfo: userInfo(identity) } }
    case "tokenreviews":
      if (text(spec, "token") === "") {
        throw invalid({ group: "authentication.k8s.io", kind: "TokenReview" }, "", [required("spec.token")])
      }
      return { ...body, metadata, status: tokenReview(context, spec) }
    default:
      return undefined
  }
}

const shortest = 600
const defaultLifetime = 3600

/** Answers a `TokenRequest`. Like a real server it refuses lifetimes under ten minutes. */
export const requestToken = (context: ServerContext, namespace: string, name: string, body: JsonObject): JsonObject => {
  const spec = asObject(body["spec"])
  const seconds = asNumber(spec["expirationSeconds"]) ?? defaultLifetime
  if (!Number.isInteger(seconds) || seconds < shortest || seconds > 2 ** 32) {
    throw invalid({ group: "authentication.k8s.io", kind: "TokenRequest" }, name, [
      invalidValue(
        "spec.expirationSeconds",
        seconds,
        seconds < shortest
          ? "may not specify a duration less than 10 minutes"
          : "may not specify a duration larger than 2^32 seconds"
      )
    ])
  }
  const wanted = asStrings(spec["audiences"])
  const audiences = wanted.length === 0 ? [issuer] : wanted
  const { token, expirationTimestamp } = context.tokens.issue(namespace, name, seconds, audiences)
  return {
    kind: "TokenRequest",
    apiVersion: "authentication.k8s.io/v1",
    metadata: { name, namespace, creationTimestamp: kubeTime(context.now()) },
    spec: { audiences, expirationSeconds: seconds, boundObjectRef: spec["boundObjectRef"] ?? null },
    status: { token, expirationTimestamp: kubeTime(expirationTimestamp) }
  }
}
