/**
 * The features by which an operator shows clients which branches they may order.
 *
 * Not here: the features of everything else (app/operator/describe.ts).
 */

import * as Result from "effect/Result"
import { asArray } from "../json.ts"
import { branchEngines, type BranchEngine } from "../resources/chart-switches.ts"
import type { Feature } from "../resources/mirrord-operator.ts"
import type { BranchSettings } from "./branch-settings.ts"
import { engines } from "./engines.ts"

/** Features that branches of every engine have. */
const featuresOfAll: ReadonlyArray<Feature> = ["DbBranchCustomImage", "DbBranchProfiles"]

/** Features of engines; clients make branches of the other engines without asking for one. */
const engineFeatures: Readonly<Partial<Record<BranchEngine, ReadonlyArray<Feature>>>> = {
  pg: ["PgBranching", "PgBranchQueryParams"],
  mysql: ["MySqlBranching"],
  mariadb: ["MariaDbBranching"],
  mongodb: ["MongodbBranching"],
  cockroachdb: ["CockroachdbBranching"],
  generic: ["GenericDbBranching"]
}

const featuresOf = (served: ReadonlyArray<BranchEngine>): ReadonlyArray<Feature> => [
  ...new Set(served.flatMap((engine) => [...(engineFeatures[engine] ?? []), ...featuresOfAll]))
]

/** The engines whose branches a cluster with these settings makes. */
const servedEngines = (settings: BranchSettings): ReadonlyArray<BranchEngine> =>
  branchEngines.filter((engine) => {
    const found = settings[engine]
    return found !== undefined && Result.isSuccess(found) && engines[engine].dialect !== undefined
  })

/** The features of the branches that a cluster with these settings makes. */
export const branchFeatures = (settings: BranchSettings): ReadonlyArray<Feature> => featuresOf(servedEngines(settings))

/** The features of branches among those that another operator names; it may be of another version. */
export const branchFeaturesAmong = (told: unknown): ReadonlyArray<Feature> =>
  featuresOf(branchEngines).filter((feature) => asArray(told).includes(feature))
