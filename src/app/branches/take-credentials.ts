/**
 * Takes the values that a client sends for a branch of this cluster. A branch that lives keeps its own, so others for
 * its id are refused.
 *
 * Not here: the Secret (make-branch-pod.ts).
 */

import { Effect, Redacted, Result } from "effect"
import {
  type BranchCredentials,
  credentialsSecrets,
  differentVariables
} from "../../domain/branches/branch-credentials.ts"
import { readBranchRequest } from "../../domain/branches/branch-request.ts"
import { quoted } from "../../domain/clean-text.ts"
import type { Caller } from "../../domain/fleet/credentials/front-proxy.ts"
import { asObject, isObject } from "../../domain/json.ts"
import { type BranchDatabase, branchDatabases } from "../../domain/resources/branches/branch-database.ts"
import { secrets } from "../../domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../domain/resources/mirrord-cluster-session.ts"
import { operatorGroup } from "../../domain/resources/operator-api.ts"
import type { KubeApi } from "../../ports/kube-api.ts"
import { mayDo } from "../api/access-review.ts"
import { type ApiError, badRequest, forbidden, internalError } from "../api/status.ts"
import type { OfferedCredentials } from "./offered-credentials.ts"

export interface CredentialServices {
  readonly api: KubeApi
  readonly offered: OfferedCredentials
  /** The branches of a namespace that live, of an id; once all branches are known. */
  readonly living: (namespace: string, id: string) => ReadonlyArray<BranchDatabase>
}

/** The values that a Secret holds; `undefined` if there is none. */
const storedValues = (
  { api, offered }: CredentialServices,
  namespace: string,
  secret: string
): Effect.Effect<BranchCredentials["values"] | undefined, ApiError> => {
  const kept = offered.find(namespace, secret)
  if (kept !== undefined) return Effect.succeed(kept)
  return api.get(secrets, secret, namespace).pipe(
    Effect.map(({ data }) => {
      const entries = Object.entries(asObject(isObject(data) ? data : {}))
      const decoded = (text: unknown) => Redacted.make(Buffer.from(String(text), "base64").toString("utf8"))
      return new Map(entries.map(([name, text]) => [name, decoded(text)]))
    }),
    Effect.catch((error) =>
      error.reason === "NotFound"
        ? Effect.succeed(undefined)
        : Effect.fail(internalError(`The Secret ${secret} cannot be read: ${error.detail}.`))
    )
  )
}

/**
 * The Secret of a branch that lives, if the values are its own; `undefined` if it is found by others. Refuses other
 * values, which its users would take for theirs.
 */
const secretOf = Effect.fnUntraced(function* (
  services: CredentialServices,
  { id, namespace, values }: BranchCredentials,
  branch: BranchDatabase
): Effect.fn.Return<string | undefined, ApiError> {
  const request = readBranchRequest(branch.spec)
  const [secret] = Result.isSuccess(request) ? credentialsSecrets(request.success.connection) : []
  const stored = secret === undefined ? undefined : yield* storedValues(services, namespace, secret)
  const different = stored === undefined ? [] : differentVariables(stored, values)
  if (different.length === 0) return stored === undefined ? undefined : secret
  return yield* badRequest(
    `The database branch ${quoted(branch.metadata.name)} of id ${quoted(id)} was made with other values of ` +
      `${different.join(", ")}: take another id, or stop the branch (mirrord db-branches stop).`
  )
})

/** The namespaces of a branch: that in which its resource is, and that of its target. */
interface BranchPlace {
  readonly ordered: string
  readonly target: string
}

/**
 * Refuses callers who may make no branch, for whom values mean nothing, and those who may not connect to targets in the
 * namespace for which they bring them. A request names no target, so the right to single ones does not count.
 */
export const unlessStranger = Effect.fnUntraced(function* (
  api: KubeApi,
  caller: Caller,
  { ordered, target }: BranchPlace
): Effect.fn.Return<void, ApiError> {
  const { group, plural } = branchDatabases
  if (!(yield* mayDo(api, caller, { group, resource: plural, verb: "create", namespace: ordered })))
    return yield* forbidden(
      `${caller.user} may not create ${plural}.${group} in namespace ${ordered}; ask an administrator for that right.`
    )
  const deed = { group: operatorGroup, resource: "targets", verb: "proxy", namespace: target }
  if (yield* mayDo(api, caller, deed)) return
  return yield* forbidden(
    `User ${caller.user} cannot proxy resource "targets" in API group "${operatorGroup}" in the namespace ` +
      `"${target}", and so brings no values for branches of databases there; ask an administrator for the role ` +
      "mirrord-operator-user there."
  )
})

/** Takes the values, and returns the name of the Secret that the branch's spec is to name. */
export const takeCredentials = Effect.fnUntraced(function* (
  services: CredentialServices,
  credentials: BranchCredentials,
  caller: Caller
): Effect.fn.Return<string, ApiError> {
  const { id, namespace, user } = credentials
  yield* unlessStranger(services.api, caller, { ordered: namespace, target: namespace })
  const known = yield* Effect.forEach(services.living(namespace, id), (branch) =>
    secretOf(services, credentials, branch)
  )
  const own = known.find((secret) => secret !== undefined)
  // The same command once more: the branch is there.
  if (own !== undefined) return own
  const { group, plural } = mirrordClusterSessions
  // A primary alone may begin sessions itself, and speak for its users.
  const isOfOther =
    user !== undefined && (yield* mayDo(services.api, caller, { group, resource: plural, verb: "create" }))
  const name = yield* services.offered.offer(credentials, isOfOther ? `${caller.user}/${user}` : caller.user)
  return (
    name ??
    (yield* forbidden(
      "Too many values have been sent for branches that were not made: try again in ten minutes, or run fewer " +
        "commands at once."
    ))
  )
})
