// @ts-check
/**
 * Runs `npm run build`: stages the tree that the operator's image holds, the sources and the packages that they need at
 * run time. Nothing is compiled, because Node takes the types away itself. image.mjs says what the tree holds.
 */

import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync
} from "node:fs"
import { basename, dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { image, staged } from "./image.mjs"

const help = `npm run build [-- --out FOLDER]

Stages exactly the tree that the image holds: ${image.files.join(", ")} and the packages of package-lock.json that are
needed at run time. The Containerfile copies it.

  --out FOLDER  must not exist; default ${staged}, which is replaced
  --help        this text`

const root = fileURLToPath(new URL("..", import.meta.url))

/** @param {string} message @returns {never} */
const fail = (message) => {
  console.error(`npm run build: ${message}`)
  process.exit(1)
}

/** Types and source maps of packages: Node never reads them. @param {string} name */
const isForPeople = (name) => /\.([cm]?ts|map)$/u.test(name)

/**
 * Readable for every user, writable for none but the owner. @param {string} from @param {string} to @param {(name:
 * string) => boolean} leavesOut
 */
const copy = (from, to, leavesOut) => {
  if (statSync(from).isDirectory()) {
    const names = readdirSync(from).filter((name) => !leavesOut(name))
    for (const name of names) copy(join(from, name), join(to, name), leavesOut)
    return
  }
  mkdirSync(dirname(to), { recursive: true })
  copyFileSync(from, to)
  chmodSync(to, 0o644)
}

/** Folders of the packages that are needed at run time, `node_modules/…`. @returns {ReadonlyArray<string>} */
const packages = () => {
  /**
   * @type {Readonly<
   *   Record<
   *     string,
   *     {
   *       readonly version?: string
   *       readonly dev?: boolean
   *       readonly optional?: boolean
   *       readonly devOptional?: boolean
   *     }
   *   >
   * >}
   */
  const locked = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages
  return Object.entries(locked).flatMap(([path, { dev, devOptional, optional, version }]) => {
    if (path === "" || dev === true) return []
    let found = "nothing"
    try {
      found = JSON.parse(readFileSync(join(root, path, "package.json"), "utf8")).version
    } catch {
      if (optional === true || devOptional === true) return []
    }
    if (found !== version) throw new Error(`${path}: package-lock.json has ${version}, there is ${found}; run npm ci`)
    return [path]
  })
}

const readArguments = () => {
  try {
    return parseArgs({ options: { out: { type: "string" }, help: { type: "boolean" } } }).values
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : String(error)}\n\n${help}`)
  }
}

const main = () => {
  const values = readArguments()
  if (values.help) return console.log(help)
  const out = values.out === undefined ? join(root, staged) : resolve(values.out)
  if (values.out !== undefined && existsSync(out))
    fail(`--out ${values.out}: it exists; name a folder that does not, or remove it`)
  const unfinished = join(dirname(out), `.${basename(out)}.${process.pid}`)
  process.umask(0o022)
  try {
    for (const file of image.files) copy(join(root, file), join(unfinished, file), () => false)
    for (const path of packages())
      copy(join(root, path), join(unfinished, path), (name) => name === "node_modules" || isForPeople(name))
    rmSync(out, { recursive: true, force: true })
    renameSync(unfinished, out)
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true })
    fail(error instanceof Error ? error.message : String(error))
  }
  console.log(out)
}

main()
