/**
 * Finds the programs of a real control plane on this machine. `npm run kubernetes` (scripts) builds missing programs;
 * nothing is downloaded here.
 */

import { spawnSync } from "node:child_process"
import { accessSync, constants, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { homedir, tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { fileURLToPath } from "node:url"
import { kubernetesVersion } from "../../cluster/wire/kubernetes-version.ts"

/** Programs of a real control plane, and of an installation on it. */
export const programNames = ["etcd", "kube-apiserver", "kube-controller-manager", "kubectl", "helm"] as const
export type ProgramName = (typeof programNames)[number]
/** The path of each program. */
export type Programs = Readonly<Record<ProgramName, string>>

/** The version of Kubernetes that is built unless another is asked for. */
export const defaultVersion = kubernetesVersion

type Environment = Readonly<Record<string, string | undefined>>

/** The folder in which `npm run kubernetes` puts a version's programs. */
export const cacheFolder = (version: string, env: Environment): string =>
  join(env["BRAID_CACHE"] ?? join(homedir(), ".cache", "braid"), "kubernetes", version)

export const isProgram = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}

/** All installed programs of this name: in `KUBEBUILDER_ASSETS`, then on `PATH`. */
export const installedPrograms = (name: ProgramName, env: Environment): ReadonlyArray<string> =>
  [env["KUBEBUILDER_ASSETS"], ...(env["PATH"] ?? "").split(delimiter)]
    .flatMap((folder) => (folder === undefined || folder === "" ? [] : [join(folder, name)]))
    .filter(isProgram)

export const chartFolder = fileURLToPath(new URL("../../../charts/mirrord-operator", import.meta.url))

/**
 * Whether this helm takes the chart where it has no cluster to ask: `helm template` then goes by a version of
 * Kubernetes that the build of helm wrote into it. A build that wrote none has 1.20, which the chart's `kubeVersion`
 * refuses.
 */
export const takesChart = (helm: string): boolean => {
  const folder = mkdtempSync(join(tmpdir(), "braid-helm-"))
  try {
    const [wanted = ""] = /^kubeVersion:.*$/mu.exec(readFileSync(join(chartFolder, "Chart.yaml"), "utf8")) ?? []
    writeFileSync(join(folder, "Chart.yaml"), `apiVersion: v2\nname: probe\nversion: 0.0.0\n${wanted}\n`)
    return spawnSync(helm, ["template", folder]).status === 0
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const eachProgram = <A>(each: (name: ProgramName) => A): Readonly<Record<ProgramName, A>> => ({
  etcd: each("etcd"),
  "kube-apiserver": each("kube-apiserver"),
  "kube-controller-manager": each("kube-controller-manager"),
  kubectl: each("kubectl"),
  helm: each("helm")
})

const areAllThere = (found: Readonly<Record<ProgramName, string | undefined>>): found is Programs =>
  programNames.every((name) => found[name] !== undefined)

/** The paths of all programs, with the cache of `npm run kubernetes` last; or the names of the missing programs. */
export const findPrograms = (env: Environment): Programs | ReadonlyArray<ProgramName> => {
  const built = cacheFolder(defaultVersion, env)
  const found = eachProgram((name) => [...installedPrograms(name, env), join(built, name)].find(isProgram))
  return areAllThere(found) ? found : programNames.filter((name) => found[name] === undefined)
}

export const isMissing = (found: Programs | ReadonlyArray<ProgramName>): found is ReadonlyArray<ProgramName> =>
  Array.isArray(found)

/** The sentence that tells a person how to get missing programs. */
export const missingPrograms = (names: ReadonlyArray<ProgramName>): string =>
  `${names.join(", ")} found neither in KUBEBUILDER_ASSETS nor in PATH: \`npm run kubernetes\` builds what is ` +
  "missing, once"

/** The programs of one folder, whether they exist or not. */
export const programsIn = (folder: string): Programs => eachProgram((name) => join(folder, name))
