// @ts-check
/**
 * The bill of materials of a release, as CycloneDX has it: npm's own for the packages in the bundle, and the packages
 * of the image's base. Reads package-lock.json and the pins; asks no registry.
 */

import { readFileSync } from "node:fs"
import { join } from "node:path"
import { runProgram } from "../run-program.mjs"

/** @import {Pinned} from "../image/debian-base.mjs" */

/** @typedef {{ readonly "bom-ref": string }} Component */

/**
 * @param {string} root @param {string} pinsFile
 * @param {ReadonlyArray<string>} packages in the program, `node_modules/…` from the root
 * @returns {Promise<string>} JSON, without the serial number and the time that npm gives each bill
 */
export const billOfMaterials = async (root, pinsFile, packages) => {
  // npm would leave out with `--omit=dev` whatever a package of the workshop needs too.
  const command = ["npm", "sbom", "--sbom-format=cyclonedx", "--package-lock-only"]
  const {
    bomFormat,
    components: all,
    metadata,
    specVersion
  } = JSON.parse(await runProgram("npm's bill", command, { cwd: root }))
  const { component, tools } = metadata
  const held = new Set(
    packages.map((path) => {
      const { name, version } = JSON.parse(readFileSync(join(root, path, "package.json"), "utf8"))
      return `${name}@${version}`
    })
  )
  const own = all.filter((/** @type {Component} */ one) => held.has(one["bom-ref"]))
  /** @type {Readonly<Record<string, { readonly debian: ReadonlyArray<Pinned> }>>} */
  const pins = JSON.parse(readFileSync(pinsFile, "utf8"))
  const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
  const debian = Object.entries(pins).flatMap(([architecture, { debian }]) =>
    debian.map(({ name, sha256, version }) => {
      const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}`
      return { "bom-ref": purl, type: "library", name, version, purl, hashes: [{ alg: "SHA-256", content: sha256 }] }
    })
  )
  const node = devDependencies["node"]
  const purl = `pkg:generic/node@${node}`
  const components = [...own, ...debian, { "bom-ref": purl, type: "platform", name: "node", version: node, purl }]
  const described = { tools, component: { ...component, name: "braid" } }
  return `${JSON.stringify({ bomFormat, specVersion, version: 1, metadata: described, components }, null, 2)}\n`
}
