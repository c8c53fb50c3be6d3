// @ts-check
/**
 * Runs `npm run release`: gives operator, image and chart, which are released together, one version, and makes the
 * files of a release. First everything is checked, and the files are written last. Commits and pushes nothing.
 */

import { spawnSync } from "node:child_process"
import { accessSync, constants, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { delimiter, join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { containerfile, image } from "./image.mjs"
import { releaseChangelog } from "./release/changelog.mjs"
import { makeReleaseFiles, notesOf } from "./release/release-files.mjs"
import { readVersions, versionPlaces } from "./release/version-places.mjs"
import { compareVersions, isVersion } from "./release/version.mjs"

const filesFolder = "dist/release"

const help = `npm run release -- X.Y.Z [OPTION…]

Writes the version into package.json, package-lock.json, Chart.yaml and the Containerfile, and folds the files of
changelog.d into a section of CHANGELOG.md and deletes them (a section that is there already is left as it is). Commits
and pushes nothing; it prints what to do next.

  --dry-run          look at everything, change nothing
  --date YYYY-MM-DD  day of the release in CHANGELOG.md; default: today in UTC
  --help             this text

npm run release

Makes the files of the release that is checked out, in ${filesFolder}: image (\`npm run image\`), chart with the image's
digest, command-line package, bill of materials, notes, checksums. helm is taken from KUBEBUILDER_ASSETS or PATH.
Refuses while changelog.d has changes, which the notes would lack.

The working tree must be clean. When something fails, nothing is changed.`

const root = new URL("..", import.meta.url)
const folder = fileURLToPath(root)
const changelog = "CHANGELOG.md"
const fragmentFolder = "changelog.d"

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

/** The reasons why this tree is not a commit's. */
const changedFiles = () => {
  const status = git(["status", "--porcelain"])
  if (status.status !== 0)
    return [
      `git does not answer for ${folder}: ${status.error?.message ?? status.stderr.trim()}; ` +
        "release from a clone of the repository"
    ]
  const dirty = status.stdout.split("\n").filter((line) => line !== "")
  return dirty.length > 0
    ? [`the working tree has changes (found ${dirty.map((line) => line.slice(3)).join(", ")}); commit or remove them`]
    : []
}

/** The reasons why this tree is not to be released as this version. @param {string} version */
const treeProblems = (version) => {
  const tag = git(["tag", "--list", `v${version}`]).stdout?.trim()
  return [
    ...changedFiles(),
    ...(tag ? [`the tag ${tag} exists, so ${version} is released; choose a higher version`] : [])
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
 * Writes the files; a failure leaves all as they were, since the tree was clean.
 *
 * @param {ReadonlyMap<string, string | undefined>} texts
 */
const writeAll = (texts) => {
  try {
    for (const [file, text] of texts) {
      if (text === undefined) rmSync(join(folder, file))
      else writeFileSync(join(folder, file), text)
    }
  } catch (error) {
    git(["checkout", "--quiet", "--", ...texts.keys()])
    throw error
  }
}

/** @param {string} version @param {boolean} isChanged without a change there is nothing to commit */
const afterVersion = (version, isChanged) => `Next:
  CI=true npm test${isChanged ? `\n  git commit --all --message "release: ${version}"` : ""}
  git tag v${version}
  npm run release
  git push origin HEAD v${version}`

/** @param {string} version @param {ReadonlyArray<string>} names */
const afterFiles = (version, names) => `${filesFolder}: ${names.join(", ")}
Next, the image first, since the chart names it:
  skopeo copy --all oci-archive:${filesFolder}/braid-${version}.oci.tar docker://${image.name}:${version}
  helm push ${filesFolder}/mirrord-operator-${version}.tgz oci://REGISTRY
and the files onto the release's page. The tag does all of it at a forge that runs .github/workflows/release.yml.`

/** @param {string} version @param {{ readonly date: string; readonly "dry-run": boolean }} values */
const writeVersion = (version, values) => {
  const current = readVersions(root)
  const fragments = readFragments()
  const log = releaseChangelog(read(changelog), { version, date: values.date }, fragments)
  const problems = [
    ...versionProblems(version, current.version),
    ...dateProblems(values.date),
    ...treeProblems(version),
    ...current.problems,
    ...("problem" in log ? [`${changelog}: ${log.problem}`] : [])
  ]
  if (problems.length > 0 || "problem" in log) return fail(problems)
  const texts = newTexts(
    version,
    log.text,
    fragments.map(({ file }) => file)
  )
  const changed = [...texts.keys()].filter((file) => texts.get(file) !== read(file))
  try {
    if (!values["dry-run"]) writeAll(texts)
  } catch (error) {
    return fail([error instanceof Error ? error.message : String(error)])
  }
  const did = values["dry-run"] ? "would change" : "changed"
  console.log(`${version}: ${did} ${changed.length === 0 ? "no file" : changed.join(", ")}`)
  console.log(values["dry-run"] ? "Nothing was changed." : afterVersion(version, changed.length > 0))
}

/** The reasons why the changelog does not tell what is in this commit. @param {string} version */
const notesProblems = (version) => {
  if (notesOf(read(changelog), version).trim() === "")
    return [`${changelog}: there is no ## [${version}]; run \`npm run release -- ${version}\` first`]
  const waiting = readFragments().map(({ file }) => file)
  if (waiting.length === 0) return []
  return [
    `${fragmentFolder} has changes that ## [${version}] lacks (found ${waiting.join(", ")}); release them by ` +
      `\`npm run release -- X.Y.Z\` with a version above ${version}, or move them into that section`
  ]
}

const makeFiles = async () => {
  const { problems, version } = readVersions(root)
  const helm = findHelm()
  const all = [
    ...problems,
    ...changedFiles(),
    ...notesProblems(version),
    ...(helm === undefined
      ? ["there is no helm in KUBEBUILDER_ASSETS or PATH; install it, or use the folder that npm run kubernetes prints"]
      : [])
  ]
  if (all.length > 0 || helm === undefined) return fail(all)
  try {
    const names = await makeReleaseFiles({ helm, out: join(folder, filesFolder), root: folder, version })
    console.log(afterFiles(version, names))
  } catch (error) {
    fail([error instanceof Error ? error.message : String(error)])
  }
}

const main = async () => {
  const { values, positionals } = readArguments()
  if (values.help) return console.log(help)
  const [version, ...more] = positionals
  if (more.length > 0) return fail([`there is more than a version (found ${more.join(" ")})\n\n${help}`])
  if (version !== undefined) return writeVersion(version, values)
  if (values["dry-run"]) return fail([`--dry-run needs a version\n\n${help}`])
  await makeFiles()
}

await main()
