/**
 * Reads the migrations that a BranchDatabase asks for. Clients change them by merge patches, which leave the keys of an
 * earlier flavor behind, so only those of the current flavor count.
 *
 * Not here: which images are allowed (branch-image.ts), and the Job that runs them (migration-job.ts).
 */

import * as Result from "effect/Result"
import { quoted } from "../../clean-text.ts"
import type { Sha256Hex } from "../../fleet/cluster-name.ts"
import { isObject, type JsonObject } from "../../json.ts"
import { archiveMark, archiveProblem } from "./archive-mark.ts"

/** The migrations of a branch. `image` is `undefined` if the administrators' image is meant. */
export type MigrationRequest =
  /** Flyway with the files of an archive: `tar.gz` in base64, or its mark. */
  | { readonly _tag: "Archive"; readonly archive: string; readonly image: string | undefined }
  /** Flyway with files of its image. */
  | { readonly _tag: "Locations"; readonly locations: ReadonlyArray<string>; readonly image: string }
  /** A program of an image. `undefined` for the image's own. */
  | {
      readonly _tag: "Container"
      readonly image: string
      readonly command: ReadonlyArray<string> | undefined
      readonly args: ReadonlyArray<string> | undefined
      readonly env: Readonly<Record<string, string>>
    }

const variableName = /^[-._A-Za-z][-._A-Za-z0-9]{0,252}$/u
const nul = "\u0000"

const isGiven = (value: unknown): boolean => value !== undefined && value !== null
const isText = (value: unknown): value is string => typeof value === "string" && !value.includes(nul)

/** A list of texts; `undefined` if it is not there. */
const textsAt = (spec: JsonObject, field: string): Result.Result<ReadonlyArray<string> | undefined, string> => {
  const value = spec[field]
  if (!isGiven(value)) return Result.succeed(undefined)
  return Array.isArray(value) && value.every(isText)
    ? Result.succeed(value)
    : Result.fail(`spec.migrations.${field} must be a list of texts.`)
}

const imageAt = ({ image }: JsonObject): Result.Result<string | undefined, string> =>
  !isGiven(image) || isText(image)
    ? Result.succeed(isText(image) ? image : undefined)
    : Result.fail("spec.migrations.image must be text.")

const readFlyway = (spec: JsonObject): Result.Result<MigrationRequest, string> =>
  Result.gen(function* () {
    const { archive } = spec
    const image = yield* imageAt(spec)
    const locations = yield* textsAt(spec, "locations")
    if (isGiven(archive) && locations !== undefined) {
      return yield* Result.fail(
        "spec.migrations has both archive and locations, of which one is an earlier session's: stop the branch, and " +
          "run the command again."
      )
    }
    if (isGiven(archive)) {
      const text = isText(archive) ? archive : ""
      const problem = archiveProblem(text)
      return yield* problem === undefined
        ? Result.succeed({ _tag: "Archive" as const, archive: text, image })
        : Result.fail(problem)
    }
    if (locations === undefined || locations.length === 0 || locations.some((one) => one === "" || one.includes(","))) {
      return yield* Result.fail(
        "spec.migrations needs the files of Flyway: an archive, or locations in the image, such as filesystem:/sql."
      )
    }
    if (image === undefined) {
      return yield* Result.fail("spec.migrations.image is missing; it must be the image that has the locations.")
    }
    return { _tag: "Locations", locations, image }
  })

const readContainer = (spec: JsonObject): Result.Result<MigrationRequest, string> =>
  Result.gen(function* () {
    const image = yield* imageAt(spec)
    if (image === undefined) {
      return yield* Result.fail("spec.migrations.image is missing; it must be the image that runs the migrations.")
    }
    const [command, args] = [yield* textsAt(spec, "command"), yield* textsAt(spec, "args")]
    const { env } = spec
    const entries = isObject(env) ? Object.entries(env) : []
    if ((isGiven(env) && !isObject(env)) || !entries.every(([, value]) => isText(value))) {
      return yield* Result.fail("spec.migrations.env must be a map of texts.")
    }
    const wrong = entries.find(([name]) => !variableName.test(name))
    if (wrong !== undefined) {
      return yield* Result.fail(
        `spec.migrations.env names ${quoted(wrong[0])}, which is no name of an environment variable.`
      )
    }
    return {
      _tag: "Container",
      image,
      command,
      args,
      env: Object.fromEntries(entries.map(([name, value]) => [name, String(value)]))
    }
  })

/** Reads `spec.migrations`; the failure is a sentence that names the field and what would be right. */
export const readMigrations = (spec: JsonObject): Result.Result<MigrationRequest, string> => {
  const { flavor } = spec
  if (flavor === "flyway") return readFlyway(spec)
  if (flavor === "container") return readContainer(spec)
  return Result.fail(`spec.migrations.flavor is ${quoted(String(flavor))}; it must be flyway or container.`)
}

/** The same for the same migrations, in whatever order the API server has the parts of an object. */
export const migrationDigest = (request: MigrationRequest, sha256Hex: Sha256Hex): string => {
  const marked = request._tag === "Archive" ? { ...request, archive: archiveMark(request.archive, sha256Hex) } : request
  const parts = Object.entries(marked).map(([name, value]: [string, unknown]) => [
    name,
    isObject(value) ? Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)) : (value ?? null)
  ])
  return sha256Hex(JSON.stringify(parts.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)))).slice(0, 32)
}
