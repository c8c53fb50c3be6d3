// @ts-check
/**
 * Bundles programs with whatever they load into a folder of plain JavaScript. Node compiles that several times faster
 * than the sources, and keeps half as much in memory: types are taken away once, and code that nothing calls is gone.
 * Names stay as they are, so that a stack trace can be read.
 */

import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join, relative, sep } from "node:path"
import { pathToFileURL } from "node:url"
import { rolldown } from "rolldown"

/** The file beside the bundle with the licences of the packages in it. */
export const licencesFile = "THIRD-PARTY-LICENSES"

/**
 * The API's models are half of this package, and its kubeconfig, the only part used here, names two functions beside
 * them. None of its files does anything when it is loaded.
 */
const withoutSideEffects = /node_modules\/@kubernetes\/client-node\/dist\//u

/** Files whose only value is the texts of other files. No bundle has those beside it, so it has the value itself. */
const textsOfFiles =
  /[/\\]src[/\\](?:adapters[/\\]engines[/\\]program-files|app[/\\]commands[/\\]ui[/\\]page-library)\.ts$/u

/** The packages of which these files have texts, by the end of their paths. */
const packagesOfTexts = { "page-library.ts": "node_modules/lit-html" }

/** @type {import("rolldown").Plugin} */
const withTexts = {
  name: "texts of files",
  load: {
    filter: { id: textsOfFiles },
    handler: async (id) => {
      const texts = Object.entries(await import(pathToFileURL(id).href))
      const code = texts.map(([name, text]) => `export const ${name} = ${JSON.stringify(text)}`).join("\n")
      return { code, moduleType: "js" }
    }
  }
}

/** The package that a file belongs to, `node_modules/…` from the root. @param {string} root @param {string} file */
const packageOf = (root, file) =>
  Object.entries(packagesOfTexts).find(([end]) => textsOfFiles.test(file) && file.endsWith(end))?.[1] ??
  /^node_modules\/(?:@[^/]+\/)?[^/]+/u.exec(relative(root, file).split(sep).join("/"))?.[0]

/** @param {string} folder @returns {string} */
const licenceOf = (folder) => {
  const { license, name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))
  const texts = readdirSync(folder)
    .filter((file) => /^(?:licen[cs]e|copying|notice)/iu.test(file))
    .map((file) => readFileSync(join(folder, file), "utf8").trim())
  return [`# ${name} ${version}, ${license}`, ...texts].join("\n\n")
}

/**
 * Bundles the programs, each under its name as `NAME.mjs`, and writes the licences beside them.
 *
 * @param {{ readonly root: string; readonly programs: Readonly<Record<string, string>>; readonly out: string }} options
 * @returns {Promise<ReadonlyArray<string>>} The packages in the bundle, `node_modules/…` from the root
 */
export const bundle = async ({ root, programs, out }) => {
  const build = await rolldown({
    cwd: root,
    input: { ...programs },
    platform: "node",
    // It decides which imports of types stay, and so the order of modules. A missing one is refused.
    tsconfig: join(root, "tsconfig.json"),
    plugins: [withTexts],
    // Packages are named by their folders here, wherever these are.
    resolve: { symlinks: false },
    treeshake: { moduleSideEffects: [{ test: withoutSideEffects, sideEffects: false }] },
    onLog: (level, { message }) => {
      if (level === "warn") throw new Error(message)
    }
  })
  const { output } = await build.write({
    dir: out,
    format: "esm",
    entryFileNames: "[name].mjs",
    chunkFileNames: "[name].mjs",
    // V8 keeps the text of a program. The licences stand in a file of their own.
    comments: false
  })
  await build.close()
  const files = output.flatMap((chunk) => (chunk.type === "chunk" ? chunk.moduleIds : []))
  const packages = [...new Set(files.flatMap((file) => packageOf(root, file) ?? []))].toSorted()
  writeFileSync(join(out, licencesFile), packages.map((path) => `${licenceOf(join(root, path))}\n`).join("\n\n"))
  return packages
}
