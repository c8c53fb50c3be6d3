/**
 * Finds the programs of database engines on this machine. `npm run engines` (scripts) provides missing programs;
 * nothing is downloaded here.
 */

import { homedir } from "node:os"
import { delimiter, join } from "node:path"
import { isProgram } from "./kubernetes/programs.ts"

type Environment = Readonly<Record<string, string | undefined>>

/** Engines of root run as another user, who may not enter the home of root. */
const defaultCache = (): string => (process.getuid?.() === 0 ? "/var/cache/braid" : join(homedir(), ".cache", "braid"))

/** The folder of `npm run engines`; its programs are in `bin`. */
export const enginesFolder = (env: Environment): string => join(env["BRAID_CACHE"] ?? defaultCache(), "engines")

/** Engines of another version than the machine's own, which `npm run engines` puts into folders of their own. */
export const furtherEngines = {
  postgresql: { name: "postgresql", title: "PostgreSQL", version: "17", bin: "usr/lib/postgresql/17/bin" },
  mysql: { name: "mysql", title: "MySQL", version: "9", bin: "usr/bin" }
} as const

/** The folder of the programs of such an engine. */
export const furtherEngine = (engine: keyof typeof furtherEngines, env: Environment): string => {
  const { bin, name, version } = furtherEngines[engine]
  return join(enginesFolder(env), `${name}-${version}`, bin)
}

/** The search path of engines: what is installed, then the programs of `npm run engines`. */
export const enginePath = (env: Environment): string =>
  [env["PATH"] ?? "", "/usr/sbin", join(enginesFolder(env), "bin")].join(delimiter)

/** The path of a program of an engine; `undefined` if there is none. */
export const engineProgram = (name: string, env: Environment): string | undefined =>
  enginePath(env)
    .split(delimiter)
    .flatMap((folder) => (folder === "" ? [] : [join(folder, name)]))
    .find(isProgram)

/** The sentence that tells a person how to get missing programs. */
export const missingEngines = (names: ReadonlyArray<string>): string =>
  `${names.join(", ")} not found in PATH: \`npm run engines\` provides what is missing, once`
