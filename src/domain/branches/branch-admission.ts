/**
 * Whether this cluster makes the branch that a resource asks for: its engine must be switched on, its image allowed,
 * and its namespace no protected one.
 *
 * Not here: reading the spec (branch-request.ts), and the target, which has to be looked up.
 */

import * as Result from "effect/Result"
import { quoted } from "../clean-text.ts"
import type { BranchDatabase } from "../resources/branches/branch-database.ts"
import { branching } from "../resources/chart-switches.ts"
import { protectedTarget, type ProtectedNamespaces } from "../targets/protected-namespaces.ts"
import { imageProblem, imagesOf } from "./branch-image.ts"
import { type BranchRequest, readBranchRequest } from "./branch-request.ts"
import type { BranchProfile, BranchSettings, EngineSettings } from "./branch-settings.ts"
import { engines } from "./engines.ts"
import { leftOutProblem } from "./kept-branch.ts"
import { flywayRepository } from "./migrations/migration-job.ts"
import { sidesProblem } from "./source-sides.ts"

/** The rules of a cluster for branches. */
export interface BranchRules {
  readonly settings: BranchSettings
  readonly protectedNamespaces: ProtectedNamespaces
}

/** A branch that this cluster makes. */
export interface AdmittedBranch {
  readonly request: BranchRequest
  readonly settings: BranchProfile
}

/** By this annotation the client of a primary without workloads names the namespace of the target. */
export const targetNamespaceAnnotation = "mirrord.metalbear.co/target-namespace"

/** Why a branch may not be made where its resource is. */
const placeProblem = ({ protectedNamespaces }: BranchRules, { metadata }: BranchDatabase): string | undefined => {
  const { annotations, namespace = "" } = metadata
  const other = annotations?.[targetNamespaceAnnotation]
  if (other !== undefined && other !== namespace) {
    return (
      `The annotation ${targetNamespaceAnnotation} names another namespace than ${namespace}, in which the branch ` +
      "would be made: make the branch in the target's own namespace."
    )
  }
  const failure = protectedTarget(protectedNamespaces, namespace, false)
  return failure === undefined ? undefined : `The branch is refused: ${failure.message}.`
}

/** The settings that a branch names, or the usual ones. */
const profileOf = (settings: EngineSettings, profile: string | undefined): Result.Result<BranchProfile, string> => {
  const found = profile === undefined ? settings : settings.profiles.get(profile)
  if (found !== undefined) return Result.succeed(found)
  const names = [...settings.profiles.keys()].map(quoted).join(", ")
  const there = names === "" ? "there are none" : `there are ${names}`
  return Result.fail(`spec.profile is ${quoted(profile ?? "")}, which this cluster does not have: ${there}.`)
}

/** Patterns of all images of repositories, each once. */
const imagesOfAll = (repositories: ReadonlyArray<string | undefined>): ReadonlyArray<string> =>
  [...new Set(repositories.flatMap((repository) => repository ?? []))].flatMap(imagesOf)

/**
 * Why an image that a branch names may not run; `undefined` if it may. Without a list of the administrators' it must be
 * of a repository that is used where users name none.
 */
const imagesProblem = (
  { dialect, image, migrations }: BranchRequest,
  { allowedImages, migrations: { repository }, pod }: BranchProfile
): string | undefined => {
  const engine = [pod.repository, dialect.repository]
  const ofEngine = allowedImages ?? imagesOfAll(engine)
  const problem = image._tag === "Named" ? imageProblem("spec.image", image.image, ofEngine) : undefined
  if (problem !== undefined || migrations?.image === undefined) return problem
  const ofMigrations = allowedImages ?? imagesOfAll([...engine, repository, flywayRepository])
  return imageProblem("spec.migrations.image", migrations.image, ofMigrations)
}

/** The branch as this cluster makes it; the failure is a sentence for the user. */
export const admittedBranch = (rules: BranchRules, branch: BranchDatabase): Result.Result<AdmittedBranch, string> =>
  Result.gen(function* () {
    const leftOut = leftOutProblem(branch.metadata)
    if (leftOut !== undefined) return yield* Result.fail(leftOut)
    const request = yield* readBranchRequest(branch.spec)
    const { connection, engine, profile } = request
    const settings = rules.settings[engine]
    if (settings === undefined) {
      return yield* Result.fail(
        `Branches of ${engines[engine].name} are switched off in this cluster: have the chart's value ` +
          `${branching(engine)} set to true.`
      )
    }
    const found = yield* profileOf(yield* settings, profile)
    const problem = placeProblem(rules, branch) ?? sidesProblem(connection) ?? imagesProblem(request, found)
    return problem === undefined ? { request, settings: found } : yield* Result.fail(problem)
  })
