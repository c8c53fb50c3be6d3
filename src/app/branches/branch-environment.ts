/**
 * Reads the published chart's variables of each engine whose databases may have branches: whether it is switched on,
 * and its file.
 *
 * Not here: what a file may hold (domain/branches/branch-settings.ts).
 */

import { Config, Effect, Option } from "effect"
import { readDocument } from "../../adapters/files/configuration-files.ts"
import { type BranchSettings, readEngineSettings } from "../../domain/branches/branch-settings.ts"
import { engines as dialects } from "../../domain/branches/engines.ts"
import { branchEngines, type BranchEngine } from "../../domain/resources/chart-switches.ts"
import type { SettingValues } from "../kernel/setting-values.ts"

const text = (name: string) => Config.option(Config.String(name)).pipe(Config.map(Option.getOrUndefined))

const engineVariables = (engine: BranchEngine) =>
  Config.all({
    engine: Config.succeed(engine),
    isOn: Config.Boolean(`OPERATOR_${engine.toUpperCase()}_BRANCHING`).pipe(Config.withDefault(false)),
    file: text(`OPERATOR_${engine.toUpperCase()}_BRANCH_CONFIG`)
  })

export const branchEnvironment = Config.all(branchEngines.map(engineVariables))

/** The engines that are switched on; `braid doctor` asks for the rights that their branches need. */
export const branchedEngines = branchEnvironment.pipe(
  Config.map((engines) => engines.flatMap(({ engine, isOn }) => (isOn ? [engine] : [])))
)

export const readBranchSettings = (
  engines: Config.Success<typeof branchEnvironment>,
  { dataLimit, podUsers, stagingLimit }: Pick<SettingValues, "dataLimit" | "podUsers" | "stagingLimit">
): Effect.Effect<BranchSettings> =>
  Effect.forEach(
    engines.filter(({ isOn }) => isOn),
    ({ engine, file }) =>
      // The branches of other engines are refused, whatever their files say.
      Effect.map(
        readDocument(dialects[engine].dialect === undefined ? undefined : file),
        (document) =>
          [
            engine,
            readEngineSettings(engine, document, { data: dataLimit, staging: stagingLimit, leavesUsersOut: !podUsers })
          ] as const
      )
  ).pipe(Effect.map((read): BranchSettings => Object.fromEntries(read)))
