// @ts-check
/**
 * Runs `npm run kubernetes`: provides the programs of a real control plane, for tests. They are built from Go modules
 * once per version; programs in KUBEBUILDER_ASSETS or PATH are used as they are. Starts no control plane.
 */

import { spawnSync } from "node:child_process"
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import {
  cacheFolder,
  defaultVersion,
  installedPrograms,
  isProgram,
  takesChart
} from "../lab/playground/kubernetes/programs.ts"
import { buildGoPrograms } from "./go-programs.mjs"

const modules = fileURLToPath(new URL("../test/kubernetes/modules", import.meta.url))
const versions = readdirSync(modules).sort()
const kubectlModules = fileURLToPath(new URL("../test/kubernetes/kubectl", import.meta.url))
const kubectlVersions = readdirSync(kubectlModules).sort()

const help = `npm run kubernetes [-- --version V] [--kubectl V]

Puts kube-apiserver, kube-controller-manager, etcd, kubectl and helm into a folder and prints that folder as the last
line; does nothing if they are there. What KUBEBUILDER_ASSETS or PATH have in this version is linked, the rest is built
with Go.

  --version V  ${versions.join(" or ")}; default ${defaultVersion}
  --kubectl V  an older kubectl, ${kubectlVersions.join(" or ")}, in place of the control plane's own
  --help       this text

The folder is $BRAID_CACHE/kubernetes/V, or V-kubectl-V; BRAID_CACHE is ~/.cache/braid unless set. To test against it:
  KUBEBUILDER_ASSETS=$(npm run --silent kubernetes | tail -n 1) npm test`

/**
 * One program: its package, the folder of the module that pins it, and whether a file that is here can be used in its
 * place.
 *
 * @typedef {{
 *   readonly name: import("../lab/playground/kubernetes/programs.ts").ProgramName
 *   readonly package: string
 *   readonly module: string
 *   readonly fits: (file: string) => boolean
 * }} Program
 */

/** @param {string} version @param {string | undefined} olderKubectl @returns {ReadonlyArray<Program>} */
const programsOf = (version, olderKubectl) => {
  /** @param {ReadonlyArray<string>} ask @returns {Program["fits"]} */
  const isVersion =
    (ask, of = version) =>
    (file) =>
      spawnSync(file, ask, { encoding: "utf8" }).stdout.includes(`v${of}`)
  const module = join(modules, version)
  const kubectl =
    olderKubectl === undefined
      ? { module, package: "k8s.io/kubernetes/cmd/kubectl" }
      : { module: join(kubectlModules, olderKubectl), package: "kubectl" }
  const kubernetes = "k8s.io/kubernetes/cmd"
  const [server, manager] = /** @type {const} */ (["kube-apiserver", "kube-controller-manager"])
  return [
    { name: "etcd", package: "go.etcd.io/etcd/server/v3", module, fits: () => true },
    { name: server, package: `${kubernetes}/${server}`, module, fits: isVersion(["--version"]) },
    { name: manager, package: `${kubernetes}/${manager}`, module, fits: isVersion(["--version"]) },
    { name: "kubectl", ...kubectl, fits: isVersion(["version", "--client"], olderKubectl) },
    { name: "helm", package: "helm.sh/helm/v3/cmd/helm", module: join(modules, defaultVersion), fits: takesChart }
  ]
}

/** @param {string} message @returns {never} */
const fail = (message) => {
  console.error(`npm run kubernetes: ${message}`)
  process.exit(1)
}

/**
 * A file that can be used: an installed program, or what was built of the same control plane with its own kubectl.
 *
 * @param {Program} program @param {string} version @returns {string | undefined}
 */
const findUsable = (program, version) =>
  [...installedPrograms(program.name, process.env), join(cacheFolder(version, process.env), program.name)].find(
    (file) => isProgram(file) && program.fits(file)
  )

/**
 * The flags that write a module's versions into its programs; each program takes those of packages that it has. Without
 * them kube-apiserver calls itself v0.0.0, which clients dislike, and helm takes a cluster that it cannot ask for
 * Kubernetes 1.20.
 *
 * @param {string} module its folder, which is named after its version @param {string} helm the version of helm
 */
const stamps = (module, helm) => {
  const version = basename(module)
  const [major = "", minor = ""] = version.split(".")
  const minimum = ["pkg/chartutil", "pkg/lint/rules"].flatMap((name) => [
    `${name}.k8sVersionMajor=${major}`,
    `${name}.k8sVersionMinor=${minor}`
  ])
  return [
    `k8s.io/component-base/version.gitVersion=v${version}`,
    ...[`internal/version.version=${helm}`, ...minimum].map((stamp) => `helm.sh/helm/v3/${stamp}`)
  ]
}

/**
 * Builds programs of one module.
 *
 * @param {string} module @param {ReadonlyArray<Program>} programs @param {string} folder
 */
const build = async (module, programs, folder) => {
  const [, helm = ""] = /^\s*helm\.sh\/helm\/v3 (\S+)$/mu.exec(readFileSync(join(module, "go.mod"), "utf8")) ?? []
  await buildGoPrograms({ module, programs, folder, stamps: stamps(module, helm) }).catch((error) =>
    fail(error instanceof Error ? error.message : String(error))
  )
}

const readArguments = () => {
  try {
    return parseArgs({
      options: {
        version: { type: "string", default: defaultVersion },
        kubectl: { type: "string" },
        help: { type: "boolean" }
      }
    }).values
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : String(error)}\n\n${help}`)
  }
}

const main = async () => {
  const values = readArguments()
  if (values.help) return console.log(help)
  const { kubectl, version } = values
  if (!versions.includes(version)) fail(`--version ${version} is not one that tests know: ${versions.join(", ")}`)
  if (kubectl !== undefined && !kubectlVersions.includes(kubectl))
    fail(`--kubectl ${kubectl} is not one that tests know: ${kubectlVersions.join(", ")}`)
  const folder = cacheFolder(kubectl === undefined ? version : `${version}-kubectl-${kubectl}`, process.env)
  mkdirSync(folder, { recursive: true })
  /** @type {Program[]} */
  const missing = []
  for (const program of programsOf(version, kubectl)) {
    const target = join(folder, program.name)
    // A helm of an earlier build may be unfit; that of a version's own folder has its version.
    if (isProgram(target) && (program.name !== "helm" || program.fits(target))) continue
    const installed = findUsable(program, version)
    if (installed === undefined || installed === target) missing.push(program)
    else {
      // There may be a link whose target is gone.
      rmSync(target, { force: true })
      symlinkSync(installed, target)
      console.error(`${program.name}: ${installed}`)
    }
  }
  if (missing.length > 0 && spawnSync("go", ["version"]).status !== 0) {
    const names = missing.map(({ name }) => name).join(", ")
    fail(
      `neither KUBEBUILDER_ASSETS nor PATH has ${names} for Kubernetes ${version}, ` +
        "and Go, which builds them, is missing: install Go 1.26 or newer (https://go.dev/dl)"
    )
  }
  for (const [module, programs] of Map.groupBy(missing, (program) => program.module))
    await build(module, programs, folder)
  console.log(folder)
}

await main()
