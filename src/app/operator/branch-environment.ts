/**
 * Reads the published chart's variables about branches of databases: which engines are switched on, the file of each,
 * and the limits of their volumes.
 *
 * Not here: what a file may hold (domain/branches/branch-settings.ts).
 */

import { Config, Effect, Option } from "effect"
import { readDocument } from "../../adapters/files/configuration-files.ts"
import { type BranchSettings, readEngineSettings } from "../../domain/branches/branch-settings.ts"
import { engines as dialects } from "../../domain/branches/engines.ts"
import { branchEngines, type BranchEngine } from "../../domain/resources/chart-switches.ts"

const text = (name: string) => Config.option(Config.String(name)).pipe(Config.map(Option.getOrUndefined))

/** Whether pods that the operator makes name no users, as OpenShift wants it. */
const podUsersLeftOut = Config.Boolean("OPERATOR_POD_USERS").pipe(
  Config.withDefault(true),
  Config.map((isOn) => !isOn)
)

const engineVariables = (engine: BranchEngine) =>
  Config.all({
    engine: Config.succeed(engine),
    isOn: Config.Boolean(`OPERATOR_${engine.toUpperCase()}_BRANCHING`).pipe(Config.withDefault(false)),
    file: text(`OPERATOR_${engine.toUpperCase()}_BRANCH_CONFIG`)
  })

export const branchEnvironment = Config.all({
  engines: Config.all(branchEngines.map(engineVariables)),
  limits: Config.all({
    data: text("OPERATOR_BRANCH_DEFAULT_DB_VOLUME_SIZE_LIMIT"),
    staging: text("OPERATOR_BRANCH_DEFAULT_INIT_VOLUME_SIZE_LIMIT")
  }),
  leavesUsersOut: podUsersLeftOut
})

/** The engines that are switched on; `braid doctor` asks for the rights that their branches need. */
export const branchedEngines = branchEnvironment.pipe(
  Config.map(({ engines }) => engines.flatMap(({ engine, isOn }) => (isOn ? [engine] : [])))
)

export const readBranchSettings = ({
  engines,
  leavesUsersOut,
  limits
}: Config.Success<typeof branchEnvironment>): Effect.Effect<BranchSettings> =>
  Effect.forEach(
    engines.filter(({ isOn }) => isOn),
    ({ engine, file }) =>
      // The branches of other engines are refused, whatever their files say.
      Effect.map(
        readDocument(dialects[engine].dialect === undefined ? undefined : file),
        (document) => [engine, readEngineSettings(engine, document, { ...limits, leavesUsersOut })] as const
      )
  ).pipe(Effect.map((read): BranchSettings => Object.fromEntries(read)))
