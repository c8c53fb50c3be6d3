/**
 * The databases of `deployment/myapp` in worlds with branches: the variables by which its pods find them, and how
 * operators make branches of them. The credentials contain the world's canary.
 *
 * Not here: the pods of branches (sim-branch-pods.ts), and clients that order branches (branch-order.ts).
 */

import { readEngineSettings } from "../../../src/domain/branches/branch-settings.ts"
import type { RandomStream } from "../kernel/random-stream.ts"
import { canary } from "./canary.ts"

/** Engines of the databases that `deployment/myapp` has. */
export const branchEngineWords = ["pg", "mysql"] as const
export type BranchEngineWord = (typeof branchEngineWords)[number]

/** Of each engine: its dialect in names, its options block, its scheme, and the variable with the source's URL. */
export const databaseFacts = {
  pg: { dialect: "pg", block: "postgresOptions", scheme: "postgresql", port: 5432, variable: "DATABASE_URL" },
  mysql: { dialect: "mysql", block: "mysqlOptions", scheme: "mysql", port: 3306, variable: "MYSQL_URL" }
} as const satisfies Readonly<Record<BranchEngineWord, object>>

/** Every host of a source ends in this; no branch has such a name. */
export const sourceDomain = "source.example"

/** The Secret with the URLs of sources. */
export const sourceSecret = "databases"

const sourceUrl = (cluster: string, engine: BranchEngineWord): string => {
  const { port, scheme } = databaseFacts[engine]
  return `${scheme}://app:${canary}-of-the-source@${engine}.${cluster}.${sourceDomain}:${port}/shop`
}

/** The variables as the pods of a cluster have them. */
export const sourceVariables = (cluster: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    branchEngineWords.map((engine) => [databaseFacts[engine].variable, sourceUrl(cluster, engine)] as const)
  )

/** The same in a pod template, which names a Secret. */
export const templateVariables: ReadonlyArray<object> = branchEngineWords.map((engine) => ({
  name: databaseFacts[engine].variable,
  valueFrom: { secretKeyRef: { name: sourceSecret, key: engine } }
}))

/** The last words of a tool that could not read the source, as careless tools write them. */
export const copyProblem = (cluster: string): string =>
  `error: connection to ${sourceUrl(cluster, "pg")} failed: timeout expired`

/** Images that users may name, and one that they may not. */
const allowedImages = ["docker.io/library/*"]
export const forbiddenImage = "registry.example/database:1"

/** How operators make branches. */
export const branchSettings = Object.fromEntries(
  branchEngineWords.map((engine) => [
    engine,
    readEngineSettings(engine, { _tag: "Parsed", value: { dbPod: { allowedImages } } }, {})
  ])
)

/** Passwords of branches, which contain the canary as all credentials of a world do. */
export const secretBytes =
  (random: RandomStream) =>
  (count: number): Uint8Array => {
    // Passwords are written in base64url, whose text this is.
    const text = `${canary}-${random.int(0, 0xffffffff).toString(16).padStart(8, "0")}`
    const bytes = Buffer.from(text.padEnd(Math.ceil((count * 4) / 3), "0"), "base64url")
    return bytes.subarray(0, count)
  }
