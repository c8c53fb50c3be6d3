/**
 * Values of a connection that a user has written into the client's configuration instead of naming the workload's
 * variables. The client sends them before it makes the branch (operator-api.md §1.8), whose spec then names a Secret.
 *
 * Not here: keeping them until the branch is there (app/branches/offered-credentials.ts).
 */

import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { quoted } from "../clean-text.ts"
import { isDnsLabel } from "../fleet/cluster-name.ts"
import { asString, at, isObject } from "../json.ts"
import { type Connection, isVariableName } from "./connection-source.ts"

/** The values of one branch. */
export interface BranchCredentials {
  /** Namespace of the target, in which the branch is made. */
  readonly namespace: string
  /** `spec.id` of the branch. */
  readonly id: string
  /** By variable, which is also the key in the Secret. */
  readonly values: ReadonlyMap<string, Redacted.Redacted>
  /** The Kubernetes user for whom a primary sends them; `undefined` if the caller is the user. */
  readonly user: string | undefined
}

/** A Secret holds them with its names in a megabyte, and a request is far smaller. */
const maxValues = 64
const maxId = 253

/** Names of Secrets that begin so are given by the operator alone. */
const prefix = "mirrord-branch-values-"

/** Name of the Secret that a branch's spec names. `token`: random, since who knows it may have the values copied. */
export const credentialsSecretName = (token: string): string => `${prefix}${token}`

/** Whether a Secret has such a name. Only the branch that owns the Secret is made with its values. */
export const isCredentialsSecret = (name: string): boolean => name.startsWith(prefix)

/** The Secrets of such values among the sources of a branch's connection, each once. */
export const credentialsSecrets = (connection: Connection): ReadonlyArray<string> => [
  ...new Set(
    [...connection.values()]
      .flat()
      .flatMap((source) => (source._tag === "Secret" && isCredentialsSecret(source.name) ? [source.name] : []))
  )
]

/** The variables whose values are not the same in both; also those that only one of them has. */
export const differentVariables = (
  a: BranchCredentials["values"],
  b: BranchCredentials["values"]
): ReadonlyArray<string> => {
  const text = (value: Redacted.Redacted | undefined) => (value === undefined ? undefined : Redacted.value(value))
  return [...new Set([...a.keys(), ...b.keys()])].filter((name) => text(a.get(name)) !== text(b.get(name)))
}

/** Reads the client's request; the failure is a sentence that holds no value. */
export const readBranchCredentials = (body: unknown): Result.Result<BranchCredentials, string> => {
  const namespace = asString(at(body, "namespace")) ?? ""
  const id = asString(at(body, "branch_id")) ?? ""
  const given = at(body, "values")
  const entries = isObject(given) ? Object.entries(given) : []
  if (!isDnsLabel(namespace)) {
    return Result.fail(`namespace is ${quoted(namespace)}; it must be the name of the target's namespace.`)
  }
  if (id === "" || id.length > maxId) {
    return Result.fail(`branch_id has ${id.length} characters; it must have 1 to ${maxId}.`)
  }
  if (entries.length === 0 || entries.length > maxValues) {
    return Result.fail(`values holds ${entries.length} variables; it must hold 1 to ${maxValues}.`)
  }
  const values = new Map<string, Redacted.Redacted>()
  for (const [name, value] of entries) {
    if (!isVariableName(name)) {
      return Result.fail(`values names ${quoted(name)}, which is no name of an environment variable.`)
    }
    if (typeof value !== "string") return Result.fail(`values.${name} is no text; each value must be one.`)
    values.set(name, Redacted.make(value))
  }
  return Result.succeed({ namespace, id, values, user: asString(at(body, "on_behalf_of")) })
}

/** The request as a primary sends it on to its default cluster. */
export const credentialsBody = ({ id, namespace, values }: BranchCredentials, user: string): object => ({
  namespace,
  branch_id: id,
  values: Object.fromEntries([...values].map(([name, value]) => [name, Redacted.value(value)])),
  on_behalf_of: user
})
