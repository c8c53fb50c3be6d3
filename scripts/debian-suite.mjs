// @ts-check
/**
 * Unpacks programs of another suite of Debian into a folder beside the machine's own, for `npm run engines`. Nothing is
 * installed, and apt works on lists of its own; the programs run with the libraries of their suite.
 *
 * Not here: which programs (engines.mjs).
 */

import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { basename, join, relative } from "node:path"

const codename = "bookworm"
const keys = "/usr/share/keyrings/debian-archive-keyring.gpg"

/** @typedef {typeof import("./run-program.mjs").runProgram} Run */

/**
 * Something to unpack: packages with the libraries that they ask for, of which these programs are put into `bin`,
 * without files that are `needless`. All paths begin in the folder.
 *
 * @typedef {{
 *   readonly suite: string
 *   readonly packages: ReadonlyArray<string>
 *   readonly bin: string
 *   readonly programs: ReadonlyArray<string>
 *   readonly needless: ReadonlyArray<string>
 * }} Unpacked
 */

/**
 * Says what a machine is, unless programs of other suites can be had and run there.
 *
 * @returns {string | undefined} its system and processor
 */
export const unfitMachine = (release = "/etc/os-release", architecture = process.arch) => {
  /** @type {Record<string, string>} */
  const system = {}
  try {
    const lines = readFileSync(release, "utf8").matchAll(/^(\w+)="?(.*?)"?$/gmu)
    for (const [, name = "", value = ""] of lines) system[name] = value
  } catch {
    // A system without this file is no Debian.
  }
  if (system["ID"] === "debian" && system["VERSION_CODENAME"] === codename && architecture === "x64") return undefined
  return `${system["PRETTY_NAME"] ?? process.platform} on ${architecture}`
}

/**
 * Makes lists, sources and cache of apt in a folder. Of the machine's configuration only its mirror and the ways there,
 * such as a proxy, count.
 *
 * @param {Run} run @param {string} suite @param {string} folder
 * @param {{ readonly architecture?: string; readonly hasSecurity?: boolean }} [options] `architecture`: as Debian names
 *   it, amd64 by default; `hasSecurity`: whether the suite's security updates are wanted, which `sid` has none of
 */
export const makeApt = async (run, suite, folder, { architecture = "amd64", hasSecurity = false } = {}) => {
  const format = ["--format", "$(RELEASE)|$(COMPONENT)|$(REPO_URI)"]
  const targets = await run(suite, ["apt-get", "indextargets", ...format, "Created-By: Packages"])
  /** @param {string} release */
  const mirrorOf = (release) =>
    targets
      .split("\n")
      .find((line) => line.startsWith(`${release}|main|`))
      ?.split("|")[2]
  const mirror = mirrorOf(codename)
  if (mirror === undefined) throw new Error(`apt's sources have no suite ${codename} with main, whose mirror is used`)
  const security = hasSecurity ? mirrorOf(`${codename}-security`) : undefined
  const ways = (await run(suite, ["apt-config", "dump"]))
    .split("\n")
    .filter((line) => line.startsWith("Acquire::") && !line.startsWith("Acquire::IndexTargets"))
  for (const name of ["lists/partial", "cache/archives/partial"]) mkdirSync(join(folder, name), { recursive: true })
  // With no package installed, even the C library is among what has to come.
  writeFileSync(join(folder, "status"), "")
  const sources = [
    `${mirror} ${suite} main`,
    // The suite itself gets them with Debian's next point release.
    ...(security === undefined ? [] : [`${security} ${suite}-security main`])
  ]
  writeFileSync(
    join(folder, "sources.list"),
    sources.map((source) => `deb [arch=${architecture} signed-by=${keys}] ${source}\n`).join("")
  )
  const places = [
    ["State", folder],
    ["State::Lists", join(folder, "lists")],
    ["State::status", join(folder, "status")],
    ["Cache", join(folder, "cache")],
    ["Etc::SourceList", join(folder, "sources.list")],
    ...["Etc::Main", "Etc::Parts", "Etc::SourceParts", "Etc::Preferences", "Etc::PreferencesParts"].map((name) => [
      name,
      "/dev/null"
    ])
  ].map(([name, path]) => `Dir::${name} "${path}";`)
  // Without the second one, lists that cannot be had are no failure.
  const own = [
    'Acquire::Languages "none";',
    'APT::Update::Error-Mode "any";',
    `APT::Architecture "${architecture}";`,
    `APT::Architectures { "${architecture}"; };`
  ]
  const file = join(folder, "apt.conf")
  writeFileSync(file, [...ways, ...own, ...places, ""].join("\n"))
  return { APT_CONFIG: file }
}

/**
 * Whether a package is a library that the programs load. Perl and the compiler of PostgreSQL's queries are left out.
 *
 * @param {string} name
 */
const isLibrary = (name) => /^lib(?!llvm|z3|perl|db5|gdbm)/u.test(name) && !name.endsWith("-perl")

/**
 * A program of another suite is started by a script of its name, with the loader and the libraries beside it. It finds
 * its other files by the place of that script.
 *
 * @param {string} folder @param {Unpacked} unpacked
 */
const wrap = (folder, { bin, programs }) => {
  const own = join(folder, "usr", "programs")
  mkdirSync(own)
  for (const program of programs) renameSync(join(folder, program), join(own, basename(program)))
  // Other programs there would be started with the libraries of the machine.
  for (const place of ["usr/bin", "usr/sbin", bin]) rmSync(join(folder, place), { recursive: true, force: true })
  mkdirSync(join(folder, bin))
  for (const name of programs.map((program) => basename(program))) {
    const script = `#!/bin/sh
usr=\${0%/*}/${relative(bin, "usr")}
exec "$usr/lib64/ld-linux-x86-64.so.2" --inhibit-cache --argv0 "$0" \\
  --library-path "$usr/lib/x86_64-linux-gnu" "$usr/programs/${name}" "$@"
`
    writeFileSync(join(folder, bin, name), script, { mode: 0o755 })
  }
}

/**
 * Unpacks packages of a suite, with their libraries, into a folder.
 *
 * @param {Run} run @param {string} folder @param {Unpacked} unpacked
 */
export const unpackSuite = async (run, folder, unpacked) => {
  const { packages, suite } = unpacked
  const apt = join(folder, "apt")
  const env = await makeApt(run, suite, apt)
  await run(suite, ["apt-get", "update", "-qq"], { env })
  const plan = await run(suite, ["apt-get", "install", "--simulate", "--no-install-recommends", ...packages], { env })
  const all = [...plan.matchAll(/^Inst (\S+)/gmu)].flatMap(([, name]) => name ?? [])
  const wanted = all.filter((name) => packages.includes(name) || isLibrary(name))
  await run(suite, ["apt-get", "download", "-qq", ...wanted], { cwd: apt, env })
  for (const file of readdirSync(apt).filter((name) => name.endsWith(".deb"))) {
    await run(suite, ["dpkg", "-x", join(apt, file), folder])
  }
  for (const name of [
    "apt",
    "etc",
    "var",
    "usr/share/doc",
    "usr/share/locale",
    "usr/share/man",
    ...unpacked.needless
  ]) {
    rmSync(join(folder, name), { recursive: true, force: true })
  }
  wrap(folder, unpacked)
}
