/** Finds what suites need from outside of `npm ci`; nothing is installed, downloaded or started here. */

import { spawnSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { postgresqlFolder } from "../../lab/playground/branches/postgresql.ts"
import { closedNetworkProblem } from "../../lab/playground/closed-network.ts"
import { engineProgram, furtherEngine, missingEngines } from "../../lab/playground/engine-programs.ts"
import { installedPrograms, isProgram, programNames, takesChart } from "../../lab/playground/kubernetes/programs.ts"
import { findNode, missingAgent } from "../../lab/playground/node/node-files.ts"
import { unfitMachine } from "../../scripts/debian-suite.mjs"
import { type Need, type Suite, suites } from "../suites.ts"
import { cgroupProblem } from "./memory-cgroup.ts"

/** A need as it was found, or the sentence that tells a person how to get it. */
export type Found =
  | { readonly _tag: "Found"; readonly as: string }
  | { readonly _tag: "Missing"; readonly sentence: string }

const found = (as: string): Found => ({ _tag: "Found", as })
const missing = (sentence: string): Found => ({ _tag: "Missing", sentence })
const foundUnless = (sentence: string | undefined, as: string): Found =>
  sentence === undefined ? found(as) : missing(sentence)

/** The variables that name mirrord's own programs. */
export const mirrordVariables = {
  mirrord: "MIRRORD_BIN",
  "mirrord-agent": "MIRRORD_AGENT_BIN",
  "layer-app": "LAYER_APP_BIN"
} as const satisfies Partial<Record<Need, string>>

/** The environment variable of envtest for the folder with the programs of a control plane. */
export const assetsVariable = "KUBEBUILDER_ASSETS"

const byVariable = (need: keyof typeof mirrordVariables): Found => {
  const variable = mirrordVariables[need]
  const path = process.env[variable] ?? ""
  const hint = "README.md says what it names"
  if (path === "") return missing(`${variable} is not set; ${hint}`)
  return foundUnless(isProgram(path) ? undefined : `${variable}=${path} is no program; ${hint}`, path)
}

const controlPlane = (): Found => {
  const hint = "`npm run kubernetes` prints a folder that can be used"
  const folder = process.env[assetsVariable] ?? ""
  if (folder === "") return missing(`${assetsVariable} is not set; ${hint}`)
  const lacking = programNames.filter((name) => !isProgram(join(folder, name)))
  return foundUnless(
    lacking.length === 0 ? undefined : `${assetsVariable}=${folder} has no ${lacking.join(", ")}; ${hint}`,
    folder
  )
}

const helm = (): Found => {
  const [path] = installedPrograms("helm", process.env)
  const hint = "`npm run kubernetes` prints a folder that has one"
  if (path === undefined) return missing(`neither ${assetsVariable} nor PATH has a helm; ${hint}`)
  return foundUnless(
    takesChart(path) ? undefined : `${path} refuses the chart's kubeVersion where it has no cluster to ask; ${hint}`,
    path
  )
}

/** The values files with which the published chart is tested, in a folder beside the clone. */
export const publishedValues = fileURLToPath(
  new URL("../../../shared/published-values/mirrord-operator", import.meta.url)
)

/** Programs of an engine, by name on the search path of engines or by path. */
const engine = (...programs: ReadonlyArray<string>): Found => {
  const lacking = programs.filter((name) =>
    name.includes("/") ? !isProgram(name) : engineProgram(name, process.env) === undefined
  )
  return lacking.length === 0 ? found(programs.join(", ")) : missing(missingEngines(lacking))
}

/** The folder of MySQL, whose programs have the names of MariaDB's. */
export const mysqlFolder = process.env["MYSQL_BIN"] ?? furtherEngine("mysql", process.env)

/** The output of a program that ended well, and otherwise the reason. */
const probe = (command: string, args: ReadonlyArray<string>): string | undefined => {
  const { error, status, stderr } = spawnSync(command, args, { encoding: "utf8" })
  return status === 0 ? undefined : (error?.message ?? stderr.trim())
}

const promtool = (): Found =>
  foundUnless(
    probe("promtool", ["--version"]) === undefined
      ? undefined
      : "PATH has no promtool; install Debian's package prometheus",
    "promtool"
  )

const shellcheck = (): Found =>
  foundUnless(
    probe("shellcheck", ["--version"]) === undefined
      ? undefined
      : "PATH has no shellcheck; install Debian's package shellcheck",
    "shellcheck"
  )

/** With root's rights, or as the root of a user namespace. */
export const ownMounts: ReadonlyArray<string> =
  process.getuid?.() === 0 ? ["--mount"] : ["--user", "--map-root-user", "--mount"]

const mounts = (): Found => {
  const reason = probe("unshare", [...ownMounts, "true"])
  return foundUnless(reason && `unshare cannot make a mount namespace here: ${reason}`, "unshare")
}

/** Watchers of files (inotify) that a user may have while the suites on nodes run beside each other. */
const minWatchers = 512

const node = (): Found => {
  const files = findNode(process.env)
  if (typeof files === "string") return missing(files)
  const setting = "fs.inotify.max_user_instances"
  const watchers = Number(readFileSync(`/proc/sys/${setting.replaceAll(".", "/")}`, "utf8"))
  if (watchers < minWatchers) return missing(`${setting} is ${watchers}: \`sysctl -w ${setting}=${minWatchers}\``)
  const agent = process.env[mirrordVariables["mirrord-agent"]] ?? ""
  return agent === "" || files.hasAgent ? found(files.kubelet) : missing(missingAgent)
}

const finders: Readonly<Record<Need, () => Found>> = {
  mirrord: () => byVariable("mirrord"),
  "mirrord-agent": () => byVariable("mirrord-agent"),
  "layer-app": () => byVariable("layer-app"),
  "control plane": controlPlane,
  helm,
  "published values": () =>
    foundUnless(existsSync(publishedValues) ? undefined : `there is no folder ${publishedValues}`, publishedValues),
  promtool,
  shellcheck,
  PostgreSQL: () => (postgresqlFolder === undefined ? missing(missingEngines(["initdb"])) : found(postgresqlFolder)),
  "PostgreSQL 17": () => engine(join(furtherEngine("postgresql", process.env), "initdb")),
  Flyway: () => engine("flyway"),
  MariaDB: () => engine("mariadbd", "mariadb-install-db", "mariadb-dump", "mariadb"),
  MySQL: () => engine(...["mysqld", "mysql", "mysqldump"].map((name) => join(mysqlFolder, name))),
  MongoDB: () => engine("ferretdb", "mongodump", "mongorestore", "mongosh"),
  Redis: () => engine("redis-server", "redis-cli"),
  ClickHouse: () => engine("clickhouse-server", "clickhouse-client"),
  DynamoDB: () => engine("java", "DynamoDBLocal.jar"),
  ElasticMQ: () => engine("java", "elasticmq.jar"),
  mounts,
  "network namespaces": () => foundUnless(closedNetworkProblem(), "unshare"),
  "Debian's packages": () =>
    foundUnless(
      ((system) => system && `apt brings the image's base on Debian 12 only; this is ${system}`)(unfitMachine()),
      "apt"
    ),
  node,
  "memory groups": () => foundUnless(cgroupProblem(), "cgroups")
}

const known = new Map<Need, Found>()

/** Looks for what a suite needs, once in each process. */
export const find = (need: Need): Found => {
  const seen = known.get(need) ?? finders[need]()
  known.set(need, seen)
  return seen
}

/** Every need, in the order in which people are shown them. */
export const allNeeds: ReadonlyArray<Need> = Object.keys(finders) as ReadonlyArray<Need>

/** Whether a full run may lack a program: mirrord's own are not to be had everywhere. */
export const mayLack = (need: Need): boolean => need in mirrordVariables

/** A suite that cannot run here, and what it lacks. */
export interface Unrunnable {
  readonly suite: string
  readonly lacks: ReadonlyArray<Need>
  /** Whether only `npm run test:long` has it. */
  readonly isLong: boolean
}

/** The suites that cannot run on this machine. */
export const unrunnable = (): ReadonlyArray<Unrunnable> =>
  Object.entries<Suite>(suites).flatMap(([suite, { long, needs }]) => {
    const lacks = needs.filter((need) => find(need)._tag === "Missing")
    return lacks.length === 0 ? [] : [{ suite, lacks, isLong: long === true }]
  })
