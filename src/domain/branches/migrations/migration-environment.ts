/**
 * The environment of migrations in an image of the user's: that of the target's container, in which the variables of
 * the connection lead to the branch. The branch's password is only named; the kubelet resolves it, as it does the
 * target's Secrets.
 *
 * Not here: Flyway, which needs nothing of the target (migration-job.ts).
 */

import * as Result from "effect/Result"
import { quoted } from "../../clean-text.ts"
import { firstFromFile } from "../../file-variable.ts"
import { asObjects, asString, at, type JsonObject } from "../../json.ts"
import { defaultContainer } from "../../targets/pod-template.ts"
import { literalValue } from "../../variable-text.ts"
import { encoded, urlHost } from "../branch-address.ts"
import type { BranchRequest } from "../branch-request.ts"
import type { Connection } from "../connection-source.ts"
import type { Dialect } from "../dialect.ts"
import type { Environment, SourceTarget } from "../source-environment.ts"
import type { MigrationRequest } from "./migration-request.ts"

/** The administrators' rules for the environment of migrations. */
export interface MigrationEnvironment extends Environment {
  /** Whether migrations have the variables of the target's container. */
  readonly inherits: boolean
}

/** The branch as its migrations reach it. */
export interface MigratedBranch {
  /** IP address of its pod. */
  readonly host: string
  /** Name of the Secret with its password, under the key `password`. */
  readonly secret: string
  readonly database: string
}

/** A branch and the container of its target that migrations take their environment from. */
export interface MigrationPlace extends SourceTarget {
  readonly request: Pick<BranchRequest, "connection" | "dialect" | "queryParameters">
  readonly branch: MigratedBranch
}

const passwordVariable = "MIRRORD_DB_PASSWORD"

const named = (name: string, value: string): JsonObject => ({ name, value: literalValue(value) })

/** The branch's password. */
export const passwordOf = (name: string, { secret }: MigratedBranch): JsonObject => ({
  name,
  valueFrom: { secretKeyRef: { name: secret, key: "password" } }
})

/** By these a program finds the branch; the others may refer to them. */
const own = (branch: MigratedBranch, { port, user }: Dialect): ReadonlyArray<JsonObject> => [
  named("MIRRORD_DB_HOST", branch.host),
  named("MIRRORD_DB_PORT", String(port)),
  named("MIRRORD_DB_USER", user),
  passwordOf(passwordVariable, branch),
  named("MIRRORD_DB_NAME", branch.database)
]

/** The branch's URL. The password is one that needs no encoding. */
const urlOf = ({ branch, request: { dialect, queryParameters } }: MigrationPlace): string => {
  const { address, port, user } = dialect
  const parameters = Object.entries({ ...address.needs, ...queryParameters })
  const query = parameters.map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
  const [scheme = ""] = address.schemes
  const before = `${scheme}://${encoded(user)}:`
  const after = `@${urlHost(branch.host)}:${port}/${encoded(branch.database)}`
  const behind = query.length === 0 ? after : `${after}?${query.join("&")}`
  return `${literalValue(before)}$(${passwordVariable})${literalValue(behind)}`
}

/**
 * The value of one part of the connection in the branch, as a variable has it; `undefined` if a branch has no such
 * part.
 */
const valueOf = (place: MigrationPlace, part: string): string | undefined => {
  const { branch, request } = place
  const { address, port, user } = request.dialect
  switch (part) {
    case "url":
      return urlOf(place)
    case "host":
      return literalValue(branch.host)
    case "port":
      return String(port)
    case "user":
      return literalValue(user)
    case "password":
      return `$(${passwordVariable})`
    case "database":
      return literalValue(branch.database)
    default: {
      const value = request.queryParameters[part] ?? (Object.hasOwn(address.own, part) ? address.own[part] : undefined)
      return value === undefined ? undefined : literalValue(value)
    }
  }
}

const variablesOf = (connection: Connection): ReadonlyArray<string> =>
  [...connection.values()].flat().flatMap(({ variable }) => variable ?? [])

/** The container of the target: the named one, else one with a variable of the connection, else the usual one. */
const containerOf = ({ container, request: { connection }, template }: MigrationPlace): JsonObject | undefined => {
  const containers = asObjects(at(template, "spec", "containers"))
  if (container !== undefined) return containers.find(({ name }) => name === container)
  const variables = new Set(variablesOf(connection))
  const usual = defaultContainer(template)
  return (
    containers.find(({ env }) => asObjects(env).some(({ name }) => variables.has(asString(name) ?? ""))) ??
    containers.find(({ name }) => name === usual)
  )
}

/** The variables that lead to the branch instead of the source. */
const redirected = (place: MigrationPlace): ReadonlyArray<JsonObject> =>
  [...place.request.connection].flatMap(([part, sources]) => {
    const value = valueOf(place, part)
    return sources.flatMap((source) =>
      value === undefined || source.variable === undefined || source._tag === "Pattern"
        ? []
        : [{ name: source.variable, value }]
    )
  })

/** Why the target's own variables could lead migrations to the source; `undefined` if they cannot. */
const strayProblem = (
  { request: { connection } }: MigrationPlace,
  isSet: (variable: string) => boolean
): Result.Result<void, string> => {
  for (const [part, sources] of connection) {
    for (const source of sources) {
      if (source.variable === undefined) {
        return Result.fail(
          `spec.connectionSource takes the ${part} from a Secret, and does not say by which variable the program has ` +
            "it (env_var_name): the migrations could reach the source."
        )
      }
      if (source._tag === "Pattern" && !isSet(source.variable)) {
        return Result.fail(
          `The ${part} is a part of the variable ${source.variable} (envPattern), which migrations cannot have ` +
            "changed: set it in spec.migrations.env, for example by $(MIRRORD_DB_HOST)."
        )
      }
    }
  }
  return Result.succeed(undefined)
}

const nameOf = ({ name }: JsonObject): string => asString(name) ?? ""

/**
 * The environment of migrations, each layer stronger than those before it: the target's container, the administrators',
 * the connection, that of the branch, the user's. The failure is a sentence for the user.
 */
export const migrationEnvironment = (
  rules: MigrationEnvironment,
  place: MigrationPlace,
  { env }: Extract<MigrationRequest, { readonly _tag: "Container" }>
): Result.Result<Environment, string> =>
  Result.gen(function* () {
    const branchs = own(place.branch, place.request.dialect)
    const container = rules.inherits ? containerOf(place) : {}
    if (container === undefined) {
      return yield* Result.fail(`The target has no container ${quoted(place.container ?? "")}.`)
    }
    if (rules.inherits) yield* strayProblem(place, (variable) => Object.hasOwn(env, variable))
    const redirections = redirected(place)
    // A stronger entry has the place of the weaker one, so that those behind it refer to the stronger one. The branch's
    // own come first and the connection's behind them, since all others may refer to them.
    const entries = new Map<string, JsonObject>([...branchs, ...redirections].map((entry) => [nameOf(entry), entry]))
    for (const layer of [asObjects(container["env"]), rules.env, redirections, branchs])
      for (const entry of layer) entries.set(nameOf(entry), entry)
    for (const [name, value] of Object.entries(env)) {
      // Behind all that it may refer to.
      entries.delete(name)
      entries.set(name, { name, value })
    }
    const fromFile = firstFromFile([...entries.values()])
    if (fromFile !== undefined) {
      return yield* Result.fail(
        `The variable ${fromFile} comes from a file of the target's pod (fileKeyRef), which migrations have not: set ` +
          "it in spec.migrations.env, or have the administrators set migrationEnv.inherit to false."
      )
    }
    return { env: [...entries.values()], envFrom: [...asObjects(container["envFrom"]), ...rules.envFrom] }
  })
