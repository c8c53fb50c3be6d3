/**
 * Reads the parameters of a connect request from its query string or header, and writes them for the members.
 *
 * Not here: which parameters there are (connect-parameter-catalogue.ts), and what follows from them.
 */

import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import { cleanText, quoted, textLimits } from "../clean-text.ts"
import { decodeBase64Text, encodeBase64Text } from "../fleet/credentials/base64.ts"
import type { OlderBranchEngine } from "../resources/branches/legacy-branch-databases.ts"
import { fieldProblems } from "../resources/resource-descriptor.ts"
import {
  connectParameters,
  parameterNames,
  type ConnectParameterName,
  type ConnectParameterValues
} from "./connect-parameter-catalogue.ts"

/**
 * The parameters of a connect request (operator-api.md §7.7). They travel with the request and are never stored, since
 * they carry branch names and filters. `entries`: all parameters in order, unknown ones too; `values`: the known ones,
 * decoded.
 */
export interface ConnectParams {
  readonly entries: ReadonlyArray<readonly [name: string, value: string]>
  readonly values: Partial<ConnectParameterValues>
}

/** A parameter that cannot be used. `message` names it, what was found and what would be right. */
export interface ConnectParamsError {
  readonly _tag: "ConnectParamsError"
  readonly parameter: string
  readonly message: string
}

const refuse = (parameter: string, problem: string): ConnectParamsError => ({
  _tag: "ConnectParamsError",
  parameter,
  message: `The connect parameter ${parameter} cannot be used: ${cleanText(problem, textLimits.message)}.`
})

const isKnown = (name: string): name is ConnectParameterName => parameterNames.some((known) => known === name)

export const parseJson = (text: string): Result.Result<unknown, string> => {
  try {
    const value: unknown = JSON.parse(text)
    return Result.succeed(value)
  } catch {
    return Result.fail("it is not JSON")
  }
}

/** The excess of a plain text, which may be stored; the other parameters only travel with the request. */
const lengthProblem = (text: string): string | undefined => {
  const bytes = new TextEncoder().encode(text).length
  return bytes <= textLimits.parameter ? undefined : `it has ${bytes} bytes, at most ${textLimits.parameter} are taken`
}

/** Texts that stand for values of another type. */
const words: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["false", false]
])

const decodeValue = (name: ConnectParameterName, text: string): Result.Result<unknown, string> => {
  const { encoding, schema, meaning } = connectParameters[name]
  const tooLong = encoding === "text" ? lengthProblem(text) : undefined
  if (tooLong !== undefined) return Result.fail(tooLong)
  const raw = encoding === "json" ? parseJson(text) : Result.succeed(words.get(text) ?? text)
  if (Result.isFailure(raw)) return Result.fail(`${raw.failure}; it must be ${meaning}`)
  const value = encoding === "text" ? text : raw.success
  return Result.mapError(Schema.decodeUnknownResult(schema)(value), (error) => {
    const [first] = fieldProblems(error)
    const place = first === undefined || first.path === "" ? "" : ` at ${first.path}`
    return `${first?.message ?? "it has another shape"}${place}; it must be ${meaning}`
  })
}

/** Reads decoded name-value pairs. A known parameter may be there once only, or several times with the same value. */
const fromEntries = (
  entries: ReadonlyArray<readonly [string, string]>
): Result.Result<ConnectParams, ReadonlyArray<ConnectParamsError>> => {
  const seen = new Map<string, string>()
  const values: Record<string, unknown> = {}
  const errors: Array<ConnectParamsError> = []
  for (const [name, text] of entries) {
    if (!isKnown(name)) continue
    const before = seen.get(name)
    if (before !== undefined) {
      if (before !== text) errors.push(refuse(name, "it is there twice with different values; send it once"))
      continue
    }
    seen.set(name, text)
    const value = decodeValue(name, text)
    if (Result.isSuccess(value)) values[name] = value.success
    else errors.push(refuse(name, value.failure))
  }
  return errors.length > 0 ? Result.fail(errors) : Result.succeed({ entries, values })
}

/** Reads a query string (with or without the leading `?`); fails with every unusable parameter at once. */
export const parseConnectQuery = (query: string): Result.Result<ConnectParams, ReadonlyArray<ConnectParamsError>> =>
  fromEntries([...new URLSearchParams(query).entries()])

/** Parameters that this operator does not know, and does not act on. */
export interface IgnoredParameters {
  readonly count: number
  /** The first few names, each once. */
  readonly names: ReadonlyArray<string>
}

const maxIgnoredNames = 10

/** The parameters of a request that this operator does not know. */
export const unknownEntries = ({ entries }: ConnectParams): ConnectParams["entries"] =>
  entries.filter(([name]) => !isKnown(name))

/** The same for the audit and for their user; `undefined` if all are known. */
export const ignoredParameters = (params: ConnectParams): IgnoredParameters | undefined => {
  const unknown = unknownEntries(params).map(([name]) => name)
  const names = [...new Set(unknown)].slice(0, maxIgnoredNames)
  return unknown.length === 0 ? undefined : { count: unknown.length, names }
}

/** The warnings for the user of a client whose parameters are not all known. */
export const ignoredWarnings = (ignored: IgnoredParameters | undefined): ReadonlyArray<string> =>
  ignored === undefined
    ? []
    : [
        `the client sent ${ignored.count} connect parameters that this operator does not know, and nothing acts on ` +
          `them: ${ignored.names.map(quoted).join(", ")}; a newer client needs a newer operator for what they ask`
      ]

/** Header that carries the whole query string in standard base64 (operator-api.md §7.6). */
export const connectParamsHeader = "x-mirrord-connect-params"

/** The query string of a value of {@link connectParamsHeader}; the failure is a sentence for the user. */
export const decodeConnectHeader = (value: string): Result.Result<string, string> =>
  Result.mapError(
    decodeBase64Text(value),
    (problem) =>
      `The header ${connectParamsHeader} cannot be used: ${problem}; it must be standard base64 of the query string.`
  )

/** The value of {@link connectParamsHeader} for a query string. */
export const encodeConnectHeader = encodeBase64Text

/** The query string (without `?`), in the order of `entries`, form-urlencoded like the client's own. */
export const connectQuery = (params: ConnectParams): string =>
  new URLSearchParams(params.entries.map(([name, value]): [string, string] => [name, value])).toString()

/** A database branch as a connect names it. */
export interface NamedBranch {
  readonly name: string
  /** The engine of the older kind that the name is of, if there is no BranchDatabase of it. */
  readonly olderKind?: OlderBranchEngine
}

/** The same for the same branch of one connect. */
export const namedBranchKey = ({ name, olderKind }: NamedBranch): string => `${olderKind ?? ""}/${name}`

const branchLists = {
  mysql_branch_names: { olderKind: "mysql" },
  pg_branch_names: { olderKind: "pg" },
  mongodb_branch_names: { olderKind: "mongodb" },
  branch_db_names: {}
} as const satisfies Readonly<Record<string, Omit<NamedBranch, "name">>>
const branchParameters: ReadonlySet<string> = new Set<ConnectParameterName>(Struct.keys(branchLists))

/** The database branches that a request names, each once. A client may name one of any engine in any list. */
export const branchNames = ({ values }: ConnectParams): ReadonlyArray<NamedBranch> => {
  const named = Struct.keys(branchLists).flatMap((list) =>
    (values[list] ?? []).map((name): NamedBranch => ({ name, ...branchLists[list] }))
  )
  return [...new Map(named.map((branch) => [namedBranchKey(branch), branch])).values()]
}

/** The id of a split that `mirrord up` sends for all queues that it may find (operator-api.md §6.1). */
export const anyQueue = "*"

/** Whether `mirrord up` splits whatever queues there are: with {@link anyQueue} it asks for none in particular. */
export const splitsAnyQueue = ({ values }: ConnectParams): boolean =>
  values.up_session_info?.autoQueueSplitting === true

const position = (name: string): number => (isKnown(name) ? parameterNames.indexOf(name) : parameterNames.length)

/**
 * The parameters that a primary sends to one member. Only the default cluster gets names of database branches, since
 * branches exist only there. Every member gets queue ids, filters and everything else. `is_default_cluster` is set
 * truthfully, whatever the client wrote.
 */
export const forMember = (params: ConnectParams, { isDefault }: { readonly isDefault: boolean }): ConnectParams => {
  const isKept = (name: string) => name !== "is_default_cluster" && (isDefault || !branchParameters.has(name))
  const kept = params.entries.filter(([name]) => isKept(name))
  const later = kept.findIndex(([name]) => position(name) > position("is_default_cluster"))
  const at = later === -1 ? kept.length : later
  const values = Object.fromEntries(Object.entries(params.values).filter(([name]) => isKept(name)))
  return {
    entries: [...kept.slice(0, at), ["is_default_cluster", String(isDefault)], ...kept.slice(at)],
    values: { ...values, is_default_cluster: isDefault }
  }
}
