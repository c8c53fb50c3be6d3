// @ts-check
/**
 * The places in the repository that name its version, and whether they agree. Reads only; release.mjs writes them.
 */

import { readFileSync } from "node:fs"
import { parse } from "yaml"
import { containerfile, image } from "../image.mjs"
import { isVersion } from "./version.mjs"

/**
 * Every place that names our version; the pattern matches the version. The first place is the one that counts.
 *
 * @type {ReadonlyArray<{ readonly file: string; readonly field: string; readonly pattern: RegExp }>}
 */
export const versionPlaces = [
  { file: "package.json", field: "version", pattern: /(?<=^ {2}"version": ")[^"\n]*/mu },
  { file: "package-lock.json", field: "version", pattern: /(?<=^ {2}"version": ")[^"\n]*/mu },
  { file: "package-lock.json", field: 'packages[""].version', pattern: /(?<=^ {6}"version": ")[^"\n]*/mu },
  { file: "charts/mirrord-operator/Chart.yaml", field: "version", pattern: /(?<=^version: ).*/mu },
  { file: "charts/mirrord-operator/Chart.yaml", field: "appVersion", pattern: /(?<=^appVersion: ).*/mu }
]
const valuesFile = "charts/mirrord-operator/values.yaml"

/** @param {URL} root @param {string} file */
const read = (root, file) => {
  try {
    return readFileSync(new URL(file, root), "utf8")
  } catch {
    return undefined
  }
}

/** @param {unknown} value @param {string} name */
const field = (value, name) => (typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined)

/**
 * The version of the repository at `root`, and a sentence for everything that does not agree with it.
 *
 * @param {URL} root
 */
export const readVersions = (root) => {
  const found = versionPlaces.map((place) => ({ ...place, found: read(root, place.file)?.match(place.pattern)?.[0] }))
  const version = found[0]?.found ?? ""
  const problems = found
    .filter((place) => place.found === undefined || place.found !== version)
    .map(
      (place) =>
        `${place.file}, ${place.field}: ${place.found === undefined ? "there is none" : `found ${place.found}`}; ` +
        `write ${version}, the version in package.json`
    )
  if (!isVersion(version))
    problems.push(`package.json, version: found ${version}; write MAJOR.MINOR.PATCH, such as 1.2.3 or 1.2.3-rc.1`)
  if (read(root, "Containerfile") !== containerfile(version)) {
    problems.push(
      `Containerfile: it is not what scripts/image.mjs describes for ${version}; run node ` +
        "scripts/generate-containerfile.mjs"
    )
  }
  const operator = field(parse(read(root, valuesFile) ?? ""), "operator")
  if (field(operator, "image") !== image.name) {
    problems.push(
      `${valuesFile}, operator.image: found ${field(operator, "image")}; write ${image.name}, the image of ` +
        "scripts/image.mjs"
    )
  }
  if (field(operator, "imageTag") !== null) {
    problems.push(
      `${valuesFile}, operator.imageTag: found ${field(operator, "imageTag")}; write null: the tag is the ` +
        "chart's appVersion"
    )
  }
  return { version, problems }
}
