/**
 * Reads from where a workload knows its database: variables of the container, or keys of Secrets. Values are never read
 * here; only the kubelet resolves them, in the pod that copies.
 *
 * Not here: which engine it is (engines.ts).
 */

import * as Result from "effect/Result"
import { quoted } from "../clean-text.ts"
import { asString, isObject } from "../json.ts"
import { compileSpanFinder, type FindSpan } from "../regex.ts"
import type { ConnectionSource } from "../resources/branches/branch-shapes.ts"

/** A part of a variable's value, as the user writes it and as it is found. */
export interface ValuePattern {
  readonly text: string
  readonly find: FindSpan
}

/** The place of one value. `container` is `undefined` if the container of the target is meant. */
export type ValueSource =
  | { readonly _tag: "Variable"; readonly container: string | undefined; readonly variable: string }
  /** A part of the variable's value alone. */
  | {
      readonly _tag: "Pattern"
      readonly container: string | undefined
      readonly variable: string
      readonly pattern: ValuePattern
    }
  /** `variable`: the application's own name of the value, if it reads it from its environment. */
  | { readonly _tag: "Secret"; readonly name: string; readonly key: string; readonly variable: string | undefined }

/** The source of each part of a connection by its name, such as `url` or `host`; the first one locates the database. */
export type Connection = ReadonlyMap<string, ReadonlyArray<ValueSource>>

const defaultParameters: ReadonlyArray<string> = ["host", "port", "user", "password", "database"]

/** The field of a branch's spec that says where a part of its connection comes from. */
export const fieldOf = (part: string): string => {
  if (part === "url") return "spec.connectionSource.url"
  return `spec.connectionSource.params.${defaultParameters.includes(part) ? part : `extra.${part}`}`
}

const variableName = /^[-._A-Za-z][-._A-Za-z0-9]{0,252}$/u
/** Whether a text can be the name of an environment variable, and with that also a key of a Secret. */
export const isVariableName = (name: string): boolean => variableName.test(name)

const secretName = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/u
const secretKey = /^[-._A-Za-z0-9]{1,253}$/u

const served = "env, envFrom, envPattern and secret"
const unserved: Readonly<Record<string, string>> = {
  gcpSecretManager: "Google's Secret Manager"
}

const readVariable = (
  field: string,
  value: object
): Result.Result<ValueSource & { readonly _tag: "Variable" }, string> => {
  const { container, variable }: { container?: unknown; variable?: unknown } = value
  const name = asString(variable) ?? ""
  if (!variableName.test(name)) {
    return Result.fail(`${field} names the variable ${quoted(name)}, which is no name of an environment variable.`)
  }
  const named = asString(container) ?? ""
  return Result.succeed({ _tag: "Variable", variable: name, container: named === "" ? undefined : named })
}

/** `part`: the name of the part of the connection, which a group of the pattern may have. */
const readPattern = (field: string, part: string, value: object): Result.Result<ValueSource, string> =>
  Result.gen(function* () {
    const { value_pattern }: { value_pattern?: unknown } = value
    const text = asString(value_pattern) ?? ""
    const { container, variable } = yield* readVariable(field, value)
    const find = yield* Result.mapError(
      compileSpanFinder(text, [part, "value"]),
      (problem) => `${field}.envPattern.value_pattern cannot be used: ${problem}.`
    )
    return { _tag: "Pattern", container, variable, pattern: { text, find } }
  })

const readSecret = (field: string, value: object): Result.Result<ValueSource, string> => {
  const { env_var_name, key, name }: { env_var_name?: unknown; key?: unknown; name?: unknown } = value
  const [secret, entry] = [asString(name) ?? "", asString(key) ?? ""]
  if (!secretName.test(secret)) return Result.fail(`${field} names the Secret ${quoted(secret)}, which is no name.`)
  if (!secretKey.test(entry)) return Result.fail(`${field} names the key ${quoted(entry)}, which no Secret can have.`)
  const variable = asString(env_var_name)
  if (variable !== undefined && !variableName.test(variable)) {
    return Result.fail(`${field} names the variable ${quoted(variable)}, which is no name of an environment variable.`)
  }
  return Result.succeed({ _tag: "Secret", name: secret, key: entry, variable })
}

/** One source: an object whose only field says its kind. */
const readSource = (field: string, part: string, value: unknown): Result.Result<ValueSource, string> => {
  const [entry, ...others] = isObject(value) ? Object.entries(value) : []
  if (entry === undefined || others.length > 0 || !isObject(entry[1])) {
    return Result.fail(`${field} must hold one of ${served}.`)
  }
  const [kind, content] = entry
  if (kind === "env" || kind === "envFrom") return readVariable(field, content)
  if (kind === "envPattern") return readPattern(field, part, content)
  if (kind === "secret") return readSecret(field, content)
  const name = Object.hasOwn(unserved, kind) ? unserved[kind] : undefined
  return Result.fail(
    name === undefined
      ? `${field} holds ${quoted(kind)}; it must be one of ${served}.`
      : `${field} asks for ${name} (${kind}), which this operator does not serve: use one of ${served}.`
  )
}

const readSources = (
  field: string,
  part: string,
  value: unknown
): Result.Result<ReadonlyArray<ValueSource>, string> => {
  const list = Array.isArray(value) ? value : [value]
  if (list.length === 0) return Result.fail(`${field} is an empty list; it must name at least one source.`)
  return Result.all(list.map((one: unknown) => readSource(field, part, one)))
}

/** The named fields of an object; `null` counts as missing. */
const given = (fields: object, prefix: string): ReadonlyArray<readonly [name: string, field: string, value: unknown]> =>
  Object.entries(fields).flatMap(([name, value]: [string, unknown]) =>
    value === undefined || value === null ? [] : [[name, `${prefix}.${name}`, value] as const]
  )

/** Reads `spec.connectionSource`; the failure is a sentence that names the field. */
export const readConnection = (
  source: ConnectionSource,
  extraParameters: ReadonlyArray<string>
): Result.Result<Connection, string> =>
  Result.gen(function* () {
    const { params, url } = source
    if ((url === undefined) === (params === undefined)) {
      return yield* Result.fail("spec.connectionSource must hold either url or params.")
    }
    const prefix = "spec.connectionSource.params"
    const { extra = {}, ...usual } = params ?? {}
    const fields =
      params === undefined
        ? [["url", "spec.connectionSource.url", url] as const]
        : [...given(usual, prefix), ...given(extra, `${prefix}.extra`)]
    const known = params === undefined ? ["url"] : [...defaultParameters, ...extraParameters]
    const connection = new Map<string, ReadonlyArray<ValueSource>>()
    for (const [name, field, value] of fields) {
      if (!known.includes(name)) {
        return yield* Result.fail(`${field} is no parameter of this engine; it knows ${known.join(", ")}.`)
      }
      connection.set(name, yield* readSources(field, name, value))
    }
    if (params !== undefined && !connection.has("host")) {
      return yield* Result.fail(
        `${prefix} names no host, and sessions would find the source's server, not the branch's; add ${prefix}.host.`
      )
    }
    return connection
  })
