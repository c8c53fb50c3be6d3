/**
 * The access providers of KEP-5339: programs that an administrator allows this operator to run, to get credentials for
 * the clusters of `ClusterProfile` objects. Their file has the shape of cluster-inventory-api's (pkg/access).
 *
 * Not here: which cluster uses which (cluster-profile.ts), and what the programs are told and say
 * (domain/fleet/credentials/exec-credential.ts).
 */

import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { asArray, asObject, asString, isObject, type JsonObject } from "../json.ts"
import type { ConfigurationMistake } from "./configuration.ts"
import { type ExecApiVersion, execApiVersions } from "./credentials/exec-credential.ts"
import { MistakeList } from "./mistakes.ts"
import { type ConfigurationDocument, documentValue } from "./parse-configuration.ts"

/** A program, and how it is started: the `execConfig` of KEP-5339. */
export interface ExecConfig {
  readonly apiVersion: ExecApiVersion
  /** An absolute path, or a name that is looked for in `PATH`. */
  readonly command: string
  readonly args: ReadonlyArray<string>
  /** Variables by their names. A value may be a secret. */
  readonly env: Readonly<Record<string, Redacted.Redacted>>
  /** Whether the program sees the cluster. */
  readonly provideClusterInfo: boolean
}

export interface AccessProvider {
  readonly name: string
  readonly execConfig: ExecConfig
}

/** Name of the file, for sentences. */
const fileName = "access-providers.yaml"

/** A map of the file, and where it stands. */
interface Place {
  readonly at: string
  readonly fields: JsonObject
  readonly mistakes: MistakeList
}

/** The fields that the operator understands. One that it does not understand may be the one that forbids something. */
const known = {
  provider: ["name", "execConfig", "profileSourcedCLIArgsPolicy", "profileSourcedEnvVarsPolicy"],
  execConfig: ["apiVersion", "command", "args", "env", "provideClusterInfo", "interactiveMode", "installHint"]
} as const

const refuseUnknown = ({ at, fields, mistakes }: Place, names: ReadonlyArray<string>): void => {
  for (const field of Object.keys(fields))
    if (!names.includes(field))
      mistakes.add(`${at}.${field}`, fields[field], "there is no such field", `write one of ${names.join(", ")}`)
}

/** A field that may have one of some values, or be left out. */
const oneOf = <A extends string | boolean>(
  { at, fields, mistakes }: Place,
  field: string,
  choices: ReadonlyArray<A>,
  cure: string
): A | undefined => {
  const found = fields[field]
  if (found === undefined || found === null) return undefined
  const choice = choices.find((one) => one === found)
  if (choice === undefined) mistakes.add(`${at}.${field}`, found, `it must be ${choices.join(" or ")}`, cure)
  return choice
}

const isText = (value: unknown): value is string => typeof value === "string" && !value.includes("\0")

const commandOf = ({ at, fields, mistakes }: Place): string => {
  const found = fields["command"]
  // A relative path would depend on where the operator was started.
  if (isText(found) && found !== "" && (found.startsWith("/") || !found.includes("/"))) return found
  const cure = "write the program's absolute path in the operator's pod"
  mistakes.add(`${at}.command`, found, "it must be an absolute path, or a name in PATH", cure)
  return ""
}

const argsOf = ({ at, fields, mistakes }: Place): ReadonlyArray<string> => {
  const found = fields["args"] ?? []
  if (Array.isArray(found) && found.every(isText)) return found
  // An argument may be a secret, so the mistake does not quote it.
  mistakes.add(`${at}.args`, "something else", "it must be a list of texts", "write numbers and switches in quotes")
  return []
}

const envOf = ({ at, fields, mistakes }: Place): ExecConfig["env"] => {
  const found = fields["env"] ?? []
  const entries = asArray(found).map(asObject)
  const isRight = ({ name, value }: JsonObject): boolean =>
    isText(name) && /^[^=]+$/u.test(name) && (value === undefined || isText(value))
  if (!Array.isArray(found) || !entries.every(isRight))
    mistakes.add(`${at}.env`, "something else", "it must be a list of name and value", "write both as texts")
  return Object.fromEntries(
    entries.flatMap(({ name, value }) => (isText(name) ? [[name, Redacted.make(asString(value) ?? "")]] : []))
  )
}

const execConfigOf = (place: Place): ExecConfig => {
  refuseUnknown(place, known.execConfig)
  const apiVersion = oneOf(place, "apiVersion", execApiVersions, "write the version that the program speaks")
  if (place.fields["apiVersion"] === undefined || place.fields["apiVersion"] === null)
    place.mistakes.add(`${place.at}.apiVersion`, undefined, "it is missing", `write ${execApiVersions[0]}`)
  oneOf(place, "interactiveMode", ["Never", "IfAvailable"], "the operator has no terminal; leave it out")
  return {
    apiVersion: apiVersion ?? execApiVersions[0],
    command: commandOf(place),
    args: argsOf(place),
    env: envOf(place),
    provideClusterInfo: oneOf(place, "provideClusterInfo", [true, false], "leave it out for false") ?? false
  }
}

const providerOf = (place: Place): AccessProvider => {
  const { at, fields, mistakes } = place
  refuseUnknown(place, known.provider)
  const { execConfig, name } = fields
  if (!isText(name) || name === "")
    mistakes.add(`${at}.name`, name, "it must be text", "write the name by which profiles offer access")
  const cure = "leave it out; nothing that a ClusterProfile says becomes an argument or a variable of a program"
  oneOf(place, "profileSourcedCLIArgsPolicy", ["Ignore"], cure)
  oneOf(place, "profileSourcedEnvVarsPolicy", ["Ignore"], cure)
  if (!isObject(execConfig))
    mistakes.add(`${at}.execConfig`, "something else", "it must be a map", "write at least apiVersion and command")
  return {
    name: asString(name) ?? "",
    execConfig: execConfigOf({ at: `${at}.execConfig`, fields: asObject(execConfig), mistakes })
  }
}

/** Reads the file; an absent one has no providers. Fails with all mistakes, none of which contains a secret. */
export const parseAccessProviders = (
  document: ConfigurationDocument
): Result.Result<ReadonlyArray<AccessProvider>, ReadonlyArray<ConfigurationMistake>> => {
  const mistakes = new MistakeList(fileName)
  const value = documentValue(document, mistakes)
  const list = value === undefined || value === null ? [] : asObject(value)["providers"]
  if (mistakes.mistakes.length === 0 && !Array.isArray(list))
    mistakes.add("providers", "something else", "it must be a list", "write an entry with name and execConfig for each")
  const providers = asArray(list).map((entry, index) => {
    const at = `providers[${index}]`
    if (!isObject(entry)) mistakes.add(at, "something else", "it must be a map", "write name and execConfig")
    return providerOf({ at, fields: asObject(entry), mistakes })
  })
  const names = providers.map(({ name }) => name)
  for (const [index, name] of names.entries())
    if (names.indexOf(name) < index)
      mistakes.add(`providers[${index}].name`, name, "an entry before has this name", "name each provider once")
  return mistakes.mistakes.length > 0 ? Result.fail(mistakes.mistakes) : Result.succeed(providers)
}
