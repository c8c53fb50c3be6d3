/**
 * Reads from a BranchDatabase the branch that it asks for, or the sentence that refuses it. CEL rules at the API server
 * refuse some of it earlier; objects from before those rules reach this file.
 *
 * Not here: which images are allowed (branch-image.ts), and the pod (branch-pod.ts).
 */

import * as Result from "effect/Result"
import { quoted } from "../clean-text.ts"
import type { BranchDatabaseSpec } from "../resources/branches/branch-database.ts"
import { branchEngines, type BranchEngine } from "../resources/chart-switches.ts"
import { readConnection, type Connection } from "./connection-source.ts"
import type { CopiedPart, Dialect } from "./dialect.ts"
import { engines, type CopyMode } from "./engines.ts"
import { type MigrationRequest, readMigrations } from "./migrations/migration-request.ts"

/** A branch that can be made. */
export interface BranchRequest {
  readonly engine: BranchEngine
  readonly dialect: Dialect
  readonly mode: CopyMode
  /** Empty where the mode has no room for them: tables with `all`, patterns of keys with `empty`. */
  readonly parts: ReadonlyArray<CopiedPart>
  readonly dumpArguments: ReadonlyArray<string>
  readonly connection: Connection
  /** Settings of the session in the source, by name. */
  readonly connectionSettings: Readonly<Record<string, string>>
  /** Query parameters of the URL that the application gets. */
  readonly queryParameters: Readonly<Record<string, string>>
  /** `undefined` if the database has its name in the source. */
  readonly databaseName: string | undefined
  /** Name of the administrators' settings for it; `undefined` for the default ones. */
  readonly profile: string | undefined
  /** `undefined` if the branch has none. */
  readonly migrations: MigrationRequest | undefined
  readonly image: { readonly _tag: "Named"; readonly image: string } | { readonly _tag: "Tag"; readonly tag: string }
  /** How long the branch stays after its last use. */
  readonly ttlMillis: number
}

/** Longest time of a branch without use: a year. The client sends up to 2^64 seconds. */
const maxTtlSecs = 31_536_000
const maxParts = 100
/** Together all parts are variables of one pod, whose object may have 1.5 MiB. */
const maxText = 4_096
const maxDatabaseName = 63
const tag = /^[A-Za-z0-9_][-.A-Za-z0-9_]{0,127}$/u
const settingName = /^[A-Za-z_][A-Za-z0-9_.]{0,62}$/u
const nul = "\u0000"

const isGiven = <T>(value: T | null | undefined): value is T => value !== undefined && value !== null

const chosenEngine = (spec: BranchDatabaseSpec): Result.Result<BranchEngine, string> => {
  const chosen = branchEngines.filter((engine) => isGiven(spec[engines[engine].block]))
  const [engine, second] = chosen
  if (engine !== undefined && second === undefined) return Result.succeed(engine)
  const names = chosen.map((one) => engines[one].block)
  const found = names.length === 0 ? "has no options block" : `has the options blocks ${names.join(" and ")}`
  return Result.fail(`The spec ${found}: it must have exactly one, which says the engine.`)
}

const versionProblem = (spec: BranchDatabaseSpec): string | undefined => {
  if (isGiven(spec.version) && isGiven(spec.image)) return "spec.version and spec.image must not both be set."
  if (isGiven(spec.version) && !tag.test(spec.version)) {
    return `spec.version is ${quoted(spec.version)}; it must be the tag of an image, such as 17.`
  }
  return undefined
}

const databaseNameProblem = ({ databaseForm }: Dialect, name: string): string | undefined => {
  if (databaseForm !== undefined && !databaseForm.holds(name)) {
    return `spec.databaseName is ${quoted(name)}; it must be ${databaseForm.words}.`
  }
  return name === "" || name.includes(nul) || new TextEncoder().encode(name).length > maxDatabaseName
    ? `spec.databaseName is ${quoted(name)}; it must have 1 to ${maxDatabaseName} bytes.`
    : undefined
}

const nouns = { Tables: "table", KeyPatterns: "pattern", Collections: "collection", None: "table" } as const

/** The parts for which a copy of this mode has room. */
const takenParts = ({ parts }: Dialect, mode: CopyMode, named: ReadonlyArray<CopiedPart>): ReadonlyArray<CopiedPart> =>
  parts === "Collections" || (mode === "all") === (parts === "KeyPatterns") ? named : []

const partsProblem = (block: string, dialect: Dialect, parts: ReadonlyArray<CopiedPart>): string | undefined => {
  const noun = nouns[dialect.parts]
  const field = `spec.${block}.copy.${dialect.parts === "KeyPatterns" ? "patterns" : "items"}`
  if (parts.length > maxParts) return `${field} names ${parts.length} ${noun}s; it must be at most ${maxParts}.`
  for (const part of parts) {
    const { filter = "", name } = part
    const tooLong = [name, filter].some((text) => text.length > maxText || text.includes(nul))
    const problem = tooLong ? `is longer than ${maxText} characters, or holds NUL` : dialect.partProblem(part)
    if (problem !== undefined) return `${field} for ${noun} ${quoted(name)} ${problem}.`
  }
  return undefined
}

/** Whether the copy reads the source: an empty branch needs none that can be reached, only the name in its address. */
export const readsSource = ({ mode, parts }: Pick<BranchRequest, "mode" | "parts">): boolean =>
  mode !== "empty" || parts.length > 0

/** The copy takes no part of a variable, neither to find the source nor to learn the name of its database. */
const patternProblem = (connection: Connection, copies: boolean, isNamed: boolean): string | undefined => {
  const patterns = [...connection].flatMap(([part, [first]]) => (first?._tag === "Pattern" ? [part] : []))
  const [first] = patterns
  if (copies && first !== undefined) {
    return (
      `spec.connectionSource has a pattern (envPattern) as its first source of ${first}, from which the copy cannot ` +
      `read it: name a variable before it that holds the ${first} alone, or let the branch begin empty.`
    )
  }
  return isNamed || !patterns.some((part) => part === "url" || part === "database")
    ? undefined
    : "spec.databaseName is missing; it must be set where the first source of the name is a pattern (envPattern)."
}

const queryProblem = (block: string, dialect: Dialect, query: Readonly<Record<string, string>>): string | undefined => {
  const wrong = Object.keys(query).find((name) => dialect.address.locates(name.toLowerCase()))
  return wrong === undefined
    ? undefined
    : `spec.${block}.queryParams holds ${quoted(wrong)}, which the operator sets itself, as it leads to the ` +
        "database; leave it out."
}

const settingsProblem = (block: string, settings: Readonly<Record<string, string>>): string | undefined => {
  const wrong = Object.entries(settings).find(([name, value]) => !settingName.test(name) || value.includes(nul))
  return wrong === undefined
    ? undefined
    : `spec.${block}.connectionSettings holds ${quoted(wrong[0])}, which is no setting that can be made: a name ` +
        "has 1 to 63 letters, digits, _ and ., and a value has no NUL."
}

const dumpProblem = (block: string, dialect: Dialect, given: ReadonlyArray<string>): string | undefined => {
  for (const argument of given) {
    const problem = dialect.dumpArgumentProblem(argument)
    if (problem !== undefined) return `spec.${block}.copy.dumpArgs holds ${quoted(argument)}, ${problem}.`
  }
  return undefined
}

/** The options of the engine that are read; a block without one of them counts as if it were absent. */
interface Options {
  readonly copy?: {
    readonly mode: CopyMode
    readonly items?: Readonly<Record<string, { readonly filter?: string | null }>> | null
    readonly dumpArgs?: ReadonlyArray<string> | null
    readonly patterns?: ReadonlyArray<string> | null
  }
  readonly iamAuth?: object | null
  readonly connectionSettings?: Readonly<Record<string, string>>
  readonly queryParams?: Readonly<Record<string, string>> | null
}

const optionsOf = (spec: BranchDatabaseSpec, engine: BranchEngine): Options => {
  const options = spec[engines[engine].block]
  // Generic databases have an image where others have a copy.
  return !isGiven(options) || "image" in options ? {} : options
}

const partsOf = ({ parts }: Dialect, { items, patterns }: NonNullable<Options["copy"]>): ReadonlyArray<CopiedPart> => {
  switch (parts) {
    case "None":
      return []
    case "KeyPatterns":
      return (patterns ?? []).map((name) => ({ name, filter: undefined }))
    case "Tables":
    case "Collections":
      return Object.entries(items ?? {}).map(([name, { filter }]) => ({ name, filter: filter ?? undefined }))
  }
}

/** The migrations of a branch. They get the database's name, which otherwise stands in the source alone. */
const migrationsOf = (
  { databaseName, migrations }: BranchDatabaseSpec,
  engine: BranchEngine
): Result.Result<MigrationRequest | undefined, string> => {
  if (!isGiven(migrations)) return Result.succeed(undefined)
  if (engines[engine].dialect?.migrations === undefined) {
    const { name } = engines[engine]
    return Result.fail(`spec.migrations asks for migrations, which branches of ${name} do not have; leave it out.`)
  }
  return isGiven(databaseName)
    ? readMigrations(migrations)
    : Result.fail("spec.databaseName is missing; it must be set where the branch has migrations.")
}

/** How long a branch stays after its last use, in ms. */
export const ttlMillisOf = ({ ttlSecs }: Pick<BranchDatabaseSpec, "ttlSecs">): number =>
  Math.min(ttlSecs, maxTtlSecs) * 1_000

/** Reads the spec of a BranchDatabase; the failure is a sentence that names the field and what would be right. */
export const readBranchRequest = (spec: BranchDatabaseSpec): Result.Result<BranchRequest, string> =>
  Result.gen(function* () {
    const refuse = (problem: string | undefined): Result.Result<void, string> =>
      problem === undefined ? Result.succeed(undefined) : Result.fail(problem)

    const engine = yield* chosenEngine(spec)
    const { block, dialect, extraParameters, modes, name, whyNoOtherMode = "" } = engines[engine]
    if (dialect === undefined) {
      return yield* Result.fail(`spec.${block} asks for a branch of ${name}, which this operator does not serve yet.`)
    }
    yield* refuse(versionProblem(spec))
    const { connectionSettings = {}, copy = { mode: "empty" as const }, ...options } = optionsOf(spec, engine)
    if (isGiven(options.iamAuth)) {
      return yield* Result.fail(
        `spec.${block}.iamAuth asks for a cloud identity, which this operator does not serve; leave it out.`
      )
    }
    if (!modes.includes(copy.mode)) {
      const allowed = modes.join(", ") + whyNoOtherMode
      return yield* Result.fail(
        `spec.${block}.copy.mode is ${quoted(copy.mode)}; for ${name} it must be one of ${allowed}.`
      )
    }
    const { databaseName } = spec
    if (isGiven(databaseName)) yield* refuse(databaseNameProblem(dialect, databaseName))
    const parts = partsOf(dialect, copy)
    yield* refuse(partsProblem(block, dialect, parts))
    const dumpArguments = copy.dumpArgs ?? dialect.dumpArguments
    yield* refuse(dumpProblem(block, dialect, dumpArguments))
    yield* refuse(settingsProblem(block, connectionSettings))
    const queryParameters = options.queryParams ?? {}
    yield* refuse(queryProblem(block, dialect, queryParameters))
    const connection = yield* readConnection(spec.connectionSource, extraParameters)
    const copied = { mode: copy.mode, parts: takenParts(dialect, copy.mode, parts) }
    yield* refuse(patternProblem(connection, readsSource(copied), isGiven(databaseName) || dialect.parts === "None"))
    const migrations = yield* migrationsOf(spec, engine)
    return {
      engine,
      dialect,
      ...copied,
      dumpArguments,
      connection,
      connectionSettings,
      queryParameters,
      databaseName: databaseName ?? undefined,
      profile: spec.profile ?? undefined,
      migrations,
      image: isGiven(spec.image)
        ? { _tag: "Named", image: spec.image }
        : { _tag: "Tag", tag: spec.version ?? dialect.version },
      ttlMillis: ttlMillisOf(spec)
    }
  })
