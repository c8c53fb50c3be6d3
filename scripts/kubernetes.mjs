// @ts-check
/**
 * Runs `npm run kubernetes`: provides the programs of a real control plane, for tests. They are built from Go modules
 * once per version; programs in KUBEBUILDER_ASSETS or PATH are used as they are. Starts no control plane.
 */

import { spawn, spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { cacheFolder, defaultVersion, installedPrograms, isProgram } from "../lab/playground/kubernetes/programs.ts"

const modules = fileURLToPath(new URL("../test/kubernetes/modules", import.meta.url))
const versions = readdirSync(modules).sort()

const help = `npm run kubernetes [-- --version V]

Puts kube-apiserver, kube-controller-manager, etcd, kubectl and helm into a folder and prints that folder as the last
line; does nothing if they are there. What KUBEBUILDER_ASSETS or PATH have in this version is linked, the rest is built
with Go.

  --version V  ${versions.join(" or ")}; default ${defaultVersion}
  --help       this text

The folder is $BRAID_CACHE/kubernetes/V; BRAID_CACHE is ~/.cache/braid unless set. To test against it:
  KUBEBUILDER_ASSETS=$(npm run --silent kubernetes | tail -n 1) npm test`

/**
 * One program: its package, the module that pins it, and how to ask it for its version; that of Kubernetes' own must
 * fit.
 *
 * @typedef {{
 *   readonly name: import("../lab/playground/kubernetes/programs.ts").ProgramName
 *   readonly package: string
 *   readonly module: string
 *   readonly ask: ReadonlyArray<string> | undefined
 * }} Program
 */

/** @param {string} version @returns {ReadonlyArray<Program>} */
const programsOf = (version) => [
  { name: "etcd", package: "go.etcd.io/etcd/server/v3", module: version, ask: undefined },
  { name: "kube-apiserver", package: "k8s.io/kubernetes/cmd/kube-apiserver", module: version, ask: ["--version"] },
  {
    name: "kube-controller-manager",
    package: "k8s.io/kubernetes/cmd/kube-controller-manager",
    module: version,
    ask: ["--version"]
  },
  { name: "kubectl", package: "k8s.io/kubernetes/cmd/kubectl", module: version, ask: ["version", "--client"] },
  { name: "helm", package: "helm.sh/helm/v3/cmd/helm", module: defaultVersion, ask: undefined }
]

/** @param {string} message @returns {never} */
const fail = (message) => {
  console.error(`npm run kubernetes: ${message}`)
  process.exit(1)
}

/** @param {Program} program @param {string} version @returns {string | undefined} */
const findInstalled = (program, version) => {
  return installedPrograms(program.name, process.env).find((file) => {
    if (program.ask === undefined) return true
    return spawnSync(file, program.ask, { encoding: "utf8" }).stdout.includes(`v${version}`)
  })
}

/**
 * Says how far a build is: one line that is written over on a terminal, a line at every tenth elsewhere. @param
 * {string} what @param {number} total
 */
const makeProgress = (what, total) => {
  const began = Date.now()
  let done = 0
  let lastTenth = -1
  return {
    step: () => {
      done++
      const seconds = Math.round((Date.now() - began) / 1000)
      const text = `${what}: ${Math.min(done, total)} of ${total} packages, ${seconds} s`
      const tenth = Math.floor((10 * done) / total)
      if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`)
      else if (tenth > lastTenth) console.error(text)
      lastTenth = tenth
    },
    end: () => {
      if (process.stderr.isTTY) process.stderr.write("\r\u001b[K")
      console.error(`${what}: built in ${Math.round((Date.now() - began) / 1000)} s`)
    }
  }
}

const goEnv = {
  CGO_ENABLED: "0",
  GOFLAGS: "-mod=readonly -buildvcs=false",
  // A tenth of a compiler's time collects garbage, for memory that the servers' tests need anyway.
  GOGC: process.env["GOGC"] ?? "400"
}

/**
 * Builds programs of one module in one run of Go, which compiles for one program while it links another.
 *
 * @param {ReadonlyArray<Program>} programs @param {string} version @param {string} folder
 * @returns {Promise<void>}
 */
const build = (programs, version, folder) => {
  const cwd = join(modules, programs[0]?.module ?? version)
  const env = { ...process.env, ...goEnv }
  const packages = programs.map((program) => program.package)
  const what = programs.map(({ name }) => name).join(", ")
  const listed = spawnSync("go", ["list", "-deps", ...packages], {
    cwd,
    env,
    encoding: "utf8",
    maxBuffer: 1 << 26,
    stdio: ["ignore", "pipe", "inherit"]
  })
  if (listed.status !== 0) fail(`the packages of ${what} cannot be read; what Go says about it stands above`)
  const progress = makeProgress(what, listed.stdout.trim().split("\n").length)
  // Without this flag the server calls itself v0.0.0, which clients dislike.
  const ldflags = `-s -w -X k8s.io/component-base/version.gitVersion=v${version}`
  const temporary = mkdtempSync(join(folder, "build-"))
  // Nobody debugs these programs, and a tenth of the time of a build is for debuggers.
  const flags = ["-v", "-trimpath", "-gcflags=all=-dwarf=false", "-ldflags", ldflags]
  return new Promise((resolve) => {
    const go = spawn("go", ["build", ...flags, "-o", `${temporary}/`, ...packages], {
      cwd,
      env,
      stdio: ["ignore", "inherit", "pipe"]
    })
    let rest = ""
    /** @type {string[]} */
    const said = []
    go.stderr.setEncoding("utf8").on("data", (/** @type {string} */ text) => {
      const lines = `${rest}${text}`.split("\n")
      rest = lines.pop() ?? ""
      for (const line of lines) {
        if (/^[\w.~-]+(\/[\w.~-]+)*$/u.test(line)) progress.step()
        else said.push(line)
      }
    })
    go.on("error", (error) => fail(`go cannot be started: ${error.message}`))
    go.on("close", (code) => {
      if (code === 0) {
        for (const { name, package: from } of programs) renameSync(join(temporary, builtName(from)), join(folder, name))
      }
      rmSync(temporary, { recursive: true, force: true })
      if (code !== 0) fail(`${what} cannot be built:\n${[...said, rest].join("\n")}`)
      progress.end()
      resolve()
    })
  })
}

/**
 * The file name that Go gives a package's program: its last part that is no major version.
 *
 * @param {string} from
 */
const builtName = (from) => from.split("/").findLast((part) => !/^v\d+$/u.test(part)) ?? from

const readArguments = () => {
  try {
    return parseArgs({ options: { version: { type: "string", default: defaultVersion }, help: { type: "boolean" } } })
      .values
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : String(error)}\n\n${help}`)
  }
}

const main = async () => {
  const values = readArguments()
  if (values.help) return console.log(help)
  const { version } = values
  if (!versions.includes(version)) fail(`--version ${version} is not one that tests know: ${versions.join(", ")}`)
  const folder = cacheFolder(version, process.env)
  mkdirSync(folder, { recursive: true })
  /** @type {Program[]} */
  const missing = []
  for (const program of programsOf(version)) {
    const target = join(folder, program.name)
    if (isProgram(target)) continue
    // There may be a link whose target is gone.
    rmSync(target, { force: true })
    const installed = findInstalled(program, version)
    if (installed === undefined || installed === target) missing.push(program)
    else {
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
  for (const programs of Map.groupBy(missing, ({ module }) => module).values()) await build(programs, version, folder)
  console.log(folder)
}

await main()
