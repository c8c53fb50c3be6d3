// @ts-check
/**
 * Runs `npm run release`: one version for operator, image and chart, which are released together. First everything is
 * checked, then the chart is packaged from a copy, and the files are written last. Commits and pushes nothing.
 */

import { spawnSync } from "node:child_process"
import {
  accessSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { containerfile, image } from "./image.mjs"
import { releaseChangelog } from "./release/changelog.mjs"
import { readVersions, versionPlaces } from "./release/version-places.mjs"
import { compareVersions, isVersion } from "./release/version.mjs"

const help = `npm run release -- X.Y.Z [OPTION…]

Writes the version into package.json, package-lock.json, Chart.yaml and the Containerfile, folds the files of
changelog.d into a section of CHANGELOG.md and deletes them (a section that is there already is left as it is), and
packages the chart into dist/. Commits and pushes nothing; it prints what to do next.

  --dry-run          look at everything, package the chart, change nothing
  --date YYYY-MM-DD  day of the release in CHANGELOG.md; default: today in UTC
  --help             this text

helm is taken from KUBEBUILDER_ASSETS or PATH. The working tree must be clean. When something fails, nothing is
changed.`

const root = new URL("..", import.meta.url)
const folder = fileURLToPath(root)
const chart = "charts/mirrord-operator"
const changelog = "CHANGELOG.md"
const fragmentFolder = "changelog.d"
const dist = join(folder, "dist")

/** @param {ReadonlyArray<string>} problems @returns {never} */
const fail = (problems) => {
  for (const problem of problems) console.error(`npm run release: ${problem}`)
  console.error("npm run release: nothing was changed")
  process.exit(1)
}

const readArguments = () => {
  try {
    return parseArgs({
      options: {
        "dry-run": { type: "boolean", default: false },
        date: { type: "string", default: new Date().toISOString().slice(0, 10) },
        help: { type: "boolean" }
      },
      allowPositionals: true
    })
  } catch (error) {
    return fail([`${error instanceof Error ? error.message : String(error)}\n\n${help}`])
  }
}

/** @param {string} file */
const read = (file) => readFileSync(join(folder, file), "utf8")

/** The changes since the last release, each a file. @returns {ReadonlyArray<{ file: string; text: string }>} */
const readFragments = () =>
  (existsSync(join(folder, fragmentFolder)) ? readdirSync(join(folder, fragmentFolder)).toSorted() : [])
    .filter((name) => name.endsWith(".md") && name !== "README.md")
    .map((name) => ({ file: `${fragmentFolder}/${name}`, text: read(`${fragmentFolder}/${name}`) }))

/** @param {ReadonlyArray<string>} args */
const git = (args) => spawnSync("git", args, { cwd: folder, encoding: "utf8" })

/** The reasons why this tree is not to be released as this version. @param {string} version */
const treeProblems = (version) => {
  const status = git(["status", "--porcelain"])
  if (status.status !== 0)
    return [
      `git does not answer for ${folder}: ${status.error?.message ?? status.stderr.trim()}; ` +
        "release from a clone of the repository"
    ]
  const dirty = status.stdout.split("\n").filter((line) => line !== "")
  const tags = git(["tag", "--list", `v${version}`]).stdout.trim()
  return [
    ...(dirty.length > 0
      ? [`the working tree has changes (found ${dirty.map((line) => line.slice(3)).join(", ")}); commit or remove them`]
      : []),
    ...(tags !== "" ? [`the tag ${tags} exists, so ${version} is released; choose a higher version`] : [])
  ]
}

/** @param {string} version @param {string} current */
const versionProblems = (version, current) => {
  if (!isVersion(version))
    return [
      `the version is malformed (found ${JSON.stringify(version)}); ` +
        "write MAJOR.MINOR.PATCH, such as 1.2.3 or 1.2.3-rc.1"
    ]
  if (isVersion(current) && compareVersions(version, current) < 0)
    return [
      `the version is lower than that in package.json (found ${version}, there is ${current}); choose a higher one`
    ]
  return []
}

/** A day of the calendar: Date.parse takes the 30th of February for a day in March. @param {string} date */
const isDay = (date) =>
  /^\d{4}-\d{2}-\d{2}$/u.test(date) && !Number.isNaN(Date.parse(date)) && new Date(date).toISOString().startsWith(date)

/** @param {string} date */
const dateProblems = (date) =>
  isDay(date) ? [] : [`--date is no day (found ${JSON.stringify(date)}); write one as 2026-01-31`]

const findHelm = () =>
  [process.env["KUBEBUILDER_ASSETS"] ?? "", ...(process.env["PATH"] ?? "").split(delimiter)]
    .filter((place) => place !== "")
    .map((place) => join(place, "helm"))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK)
        return true
      } catch {
        return false
      }
    })

/**
 * New text of each file that names the version; `undefined` for a file that goes.
 *
 * @param {string} version @param {string} log @param {ReadonlyArray<string>} gone
 */
const newTexts = (version, log, gone) => {
  /** @type {Map<string, string | undefined>} */
  const texts = new Map([
    [changelog, log],
    ["Containerfile", containerfile(version)]
  ])
  for (const { file, pattern } of versionPlaces)
    texts.set(
      file,
      (texts.get(file) ?? read(file)).replace(pattern, () => version)
    )
  for (const file of gone) texts.set(file, undefined)
  return texts
}

/**
 * Packages the committed files of the chart, with the new texts, in `temporary`.
 *
 * @param {string} helm @param {string} temporary @param {string} version
 * @param {ReadonlyMap<string, string | undefined>} texts
 */
const packageChart = (helm, temporary, version, texts) => {
  for (const file of git(["ls-files", "-z", chart])
    .stdout.split("\0")
    .filter((name) => name !== "")) {
    const target = join(temporary, file)
    mkdirSync(dirname(target), { recursive: true })
    const text = texts.get(file)
    if (text === undefined) copyFileSync(join(folder, file), target)
    else writeFileSync(target, text)
  }
  const { status, error, stderr } = spawnSync(helm, ["package", join(temporary, chart), "--destination", temporary], {
    encoding: "utf8"
  })
  const file = join(temporary, `mirrord-operator-${version}.tgz`)
  if (status !== 0) throw new Error(`helm package failed: ${error?.message ?? stderr.trim()}`)
  if (!existsSync(file)) throw new Error(`helm package did not make mirrord-operator-${version}.tgz`)
  return file
}

/**
 * Writes the files and puts the package into dist/; a failure leaves all as it was.
 *
 * @param {ReadonlyMap<string, string | undefined>} texts @param {string} packaged @param {string} target
 */
const writeAll = (texts, packaged, target) => {
  const before = new Map([...texts.keys()].map((file) => [file, read(file)]))
  const hadDist = existsSync(dist)
  // Copied to a place beside the target, because only within one file system can a file be moved in one step.
  const beside = `${target}.${process.pid}`
  try {
    mkdirSync(dist, { recursive: true })
    copyFileSync(packaged, beside)
    for (const [file, text] of texts) {
      if (text === undefined) rmSync(join(folder, file))
      else writeFileSync(join(folder, file), text)
    }
    renameSync(beside, target)
  } catch (error) {
    for (const [file, text] of before) writeFileSync(join(folder, file), text)
    rmSync(beside, { force: true })
    if (!hadDist && existsSync(dist)) rmdirSync(dist)
    throw error
  }
}

/**
 * Without a change there is nothing to commit. @param {string} version @param {string} target @param {boolean}
 * isChanged
 */
const next = (version, target, isChanged) => `Next:
  CI=true npm test${isChanged ? `\n  git commit --all --message "Release ${version}"` : ""}
  git tag v${version}
  docker build --file Containerfile --tag ${image.name}:${version} .
  docker push ${image.name}:${version}
  git push origin HEAD v${version}
  helm push ${target} oci://REGISTRY
The image goes first: the chart names it.`

const main = () => {
  const { values, positionals } = readArguments()
  if (values.help) return console.log(help)
  const [version, ...more] = positionals
  if (version === undefined || more.length > 0)
    return fail([
      (version === undefined ? "no version is given" : `there is more than a version (found ${more.join(" ")})`) +
        `\n\n${help}`
    ])

  const current = readVersions(root)
  const fragments = readFragments()
  const log = releaseChangelog(read(changelog), { version, date: values.date }, fragments)
  const helm = findHelm()
  const problems = [
    ...versionProblems(version, current.version),
    ...dateProblems(values.date),
    ...treeProblems(version),
    ...current.problems,
    ...("problem" in log ? [`${changelog}: ${log.problem}`] : []),
    ...(helm === undefined
      ? ["there is no helm in KUBEBUILDER_ASSETS or PATH; install it, or use the folder that npm run kubernetes prints"]
      : [])
  ]
  if (problems.length > 0 || "problem" in log || helm === undefined) return fail(problems)

  const temporary = mkdtempSync(join(tmpdir(), "braid-release-"))
  const target = `dist/mirrord-operator-${version}.tgz`
  /** @type {ReadonlyArray<string>} */
  let changed = []
  try {
    const gone = fragments.map(({ file }) => file)
    const texts = newTexts(version, log.text, gone)
    const packaged = packageChart(helm, temporary, version, texts)
    changed = [...texts.keys()].filter((file) => texts.get(file) !== read(file))
    if (!values["dry-run"]) writeAll(texts, packaged, join(folder, target))
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error))
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
  if (problems.length > 0) return fail(problems)
  const did = values["dry-run"] ? ["would change", "would make"] : ["changed", "made"]
  console.log(`${version}: ${did[0]} ${changed.length === 0 ? "no file" : changed.join(", ")}; ${did[1]} ${target}`)
  console.log(values["dry-run"] ? "Nothing was changed." : next(version, target, changed.length > 0))
}

main()
