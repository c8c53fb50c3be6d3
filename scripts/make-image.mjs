// @ts-check
/**
 * Runs `npm run image`: makes the operator's image as an archive, without a container engine and without a registry.
 * image.mjs says what the image holds. Pushes nothing.
 */

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { basename, dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { unfitMachine } from "./debian-suite.mjs"
import { entrypoint, image, imageLabels } from "./image.mjs"
import { architectures, debianBase } from "./image/debian-base.mjs"
import { nodeProgram } from "./image/node-program.mjs"
import { ociArchive } from "./image/oci-archive.mjs"
import { makeOfPins } from "./image/pinned-packages.mjs"
import { runProgram } from "./run-program.mjs"
import { stageImage } from "./stage-image.mjs"

/**
 * @import {Architecture} from "./image/debian-base.mjs"
 * @import {
 *   Layer,
 *   PlatformImage
 * } from "./image/oci-archive.mjs"
 * @import {
 *   Pin,
 *   Pins
 * } from "./image/pinned-packages.mjs"
 */

const root = fileURLToPath(new URL("..", import.meta.url))
/** @type {{ readonly version: string; readonly devDependencies: Readonly<Record<string, string>> }} */
const { devDependencies, version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
const pinsFile = "scripts/image/base-packages.json"
const defaultOut = `dist/braid-${version}.oci.tar`

const help = `npm run image [-- OPTION…]

Makes ${image.name}:${version} as an archive of the OCI's layout, which \`docker load\`, \`podman load\`,
\`kind load image-archive\` and \`ctr images import\` take, and prints its digest as the last line. The base is made of
Debian's packages and of Node's binary, in the versions of ${pinsFile}; one commit and one set of
packages make one digest.

  --platform P  linux/amd64 or linux/arm64, may be repeated; default: both
  --out FILE    default ${defaultOut}
  --pins FILE   the versions of the base; default ${pinsFile}
  --update      take the newest versions, and write them into the file of --pins
  --strict      refuse where Debian has removed a pinned package, as \`npm run release\` does; without it the image is
                made of the newest packages, and a line says so and where their versions are
  --help        this text

It needs Debian 12 with apt and npm's registry; everywhere else \`docker build --file Containerfile\` makes the image.`

/** @param {string} message @returns {never} */
const fail = (message) => {
  console.error(`npm run image: ${message}`)
  process.exit(1)
}

const readArguments = () => {
  try {
    return parseArgs({
      options: {
        platform: { type: "string", multiple: true, default: architectures.map((name) => `linux/${name}`) },
        out: { type: "string", default: join(root, defaultOut) },
        pins: { type: "string", default: join(root, pinsFile) },
        update: { type: "boolean", default: false },
        strict: { type: "boolean", default: false },
        help: { type: "boolean" }
      }
    }).values
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : String(error)}\n\n${help}`)
  }
}

/** @param {ReadonlyArray<string>} platforms @returns {ReadonlyArray<Architecture>} */
const architecturesOf = (platforms) => {
  for (const platform of platforms)
    if (!architectures.some((name) => platform === `linux/${name}`))
      fail(`--platform ${platform} is not known; write ${architectures.map((name) => `linux/${name}`).join(" or ")}`)
  return architectures.filter((name) => platforms.includes(`linux/${name}`))
}

/** @param {string} file @returns {Pins} */
const readPins = (file) => {
  try {
    return JSON.parse(readFileSync(file, "utf8"))
  } catch (error) {
    return fail(`--pins ${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** The commit that the image is made of and its time; an image of other files than a commit's says so. */
const readRevision = async () => {
  const git = (/** @type {string[]} */ ...args) => runProgram("the commit", ["git", "-C", root, ...args])
  const [revision = "", seconds = ""] = (await git("log", "-1", "--format=%H %ct")).trim().split(" ")
  const isDirty = (await git("status", "--porcelain", "--", ...image.files, ...image.buildFiles)).trim() !== ""
  return { revision: isDirty ? `${revision}-dirty` : revision, seconds: Number(seconds) }
}

/** The operator's own layer. @param {string} folder @returns {Promise<Layer>} */
const programLayer = async (folder) => {
  const staged = join(folder, "app")
  await stageImage(root, staged)
  const entries = readdirSync(staged).map((name) => ({
    path: `${image.root.slice(1)}/${name}`,
    mode: 0o644,
    data: readFileSync(join(staged, name))
  }))
  return { comment: `braid ${version}`, entries }
}

/** @param {string} folder @param {Architecture} architecture @param {Layer} program @param {Pin | undefined} pin */
const makePlatform = async (folder, architecture, program, pin) => {
  const base = await debianBase(runProgram, folder, architecture, pin?.debian)
  const node = await nodeProgram(runProgram, folder, {
    architecture,
    version: devDependencies["node"] ?? "",
    path: image.node.slice(1),
    pin: pin?.node
  })
  /** @type {PlatformImage} */
  const platform = {
    architecture,
    layers: [
      { comment: "files of Debian that Node needs", entries: base.entries },
      { comment: `Node ${devDependencies["node"]}`, entries: node.entries },
      program
    ],
    config: {
      User: `${image.user}:${image.user}`,
      WorkingDir: image.root,
      Entrypoint: entrypoint,
      Env: [
        "PATH=/nodejs/bin",
        "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt",
        ...Object.entries(image.environment).map(([name, value]) => `${name}=${value}`)
      ]
    }
  }
  return { platform, pins: { node: node.pin, debian: base.pins } }
}

/** Writes a file as a whole or not at all. @param {string} file @param {string | Uint8Array} data */
const writeWhole = (file, data) => {
  mkdirSync(dirname(file), { recursive: true })
  const beside = `${file}.${process.pid}`
  try {
    writeFileSync(beside, data)
    renameSync(beside, file)
  } finally {
    rmSync(beside, { force: true })
  }
}

/** Says that the image is not of the pins, and where the versions are of which it is. */
const sayNewest = (/** @type {ReadonlyArray<string>} */ removed, /** @type {string} */ text) => {
  const file = join(mkdtempSync(join(tmpdir(), "braid-base-packages-")), basename(pinsFile))
  writeFileSync(file, text)
  console.error(
    `npm run image: Debian has removed ${removed.join(", ")}: this image is made of its newest packages, whose ` +
      `versions are in ${file}; copy it to ${pinsFile}, and commit that`
  )
}

const main = async () => {
  const values = readArguments()
  if (values.help) return console.log(help)
  const wanted = architecturesOf(values.platform)
  const unfit = unfitMachine()
  if (unfit !== undefined)
    fail(`Debian's packages can be had on Debian 12 only, and this machine is ${unfit}; use the Containerfile`)
  const before = values.update && !existsSync(values.pins) ? {} : readPins(values.pins)
  for (const name of wanted)
    if (!values.update && before[name] === undefined)
      fail(`${values.pins} has no versions for ${name}; run \`npm run image -- --update\``)
  const folder = mkdtempSync(join(tmpdir(), "braid-image-"))
  try {
    const { revision, seconds } = await readRevision()
    const program = await programLayer(folder)
    const makeAll = async (/** @type {Pins} */ pins) => {
      const all = []
      for (const name of wanted) all.push(await makePlatform(folder, name, program, pins[name]))
      return all
    }
    const { made, removed } = await makeOfPins(makeAll, values.update ? {} : before, values.strict)
    const { archive, digest } = ociArchive({
      name: `${image.name}:${version}`,
      created: seconds,
      labels: imageLabels(version, revision),
      platforms: made.map(({ platform }) => platform)
    })
    writeWhole(resolve(values.out), archive)
    const pins = Object.fromEntries(made.map(({ pins, platform }) => [platform.architecture, pins]))
    // Those of a platform that was not asked for stay.
    const pinsText = `${JSON.stringify({ ...before, ...pins }, null, 2)}\n`
    if (values.update) writeWhole(values.pins, pinsText)
    if (removed.length > 0) sayNewest(removed, pinsText)
    console.error(`${values.out}: ${Math.round(archive.length / 1e6)} MB, ${wanted.join(" and ")}`)
    console.log(digest)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

await main().catch((error) => fail(error instanceof Error ? error.message : String(error)))
