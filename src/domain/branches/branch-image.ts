/**
 * Whether users may run an image as the database of a branch, or as its migrations. Images that administrators choose
 * are always allowed.
 *
 * Not here: which image a branch asks for (branch-request.ts).
 */

import { quoted } from "../clean-text.ts"
import { matchesGlob } from "../policies/glob.ts"

const reference = /^[a-zA-Z0-9][-a-zA-Z0-9._/:]{0,500}(?:@sha256:[0-9a-f]{64})?$/u
/** Whether a tag goes on to the end: else a pattern of tags would let another repository through. */
const endsInTag = (image: string): boolean => !image.split("/").slice(1, -1).join("").includes(":")

/** A host with a full stop or a port; anything else is a name at Docker's registry. */
const isRegistry = (part: string): boolean => /^[^*?]+$/u.test(part) && (/[.:]/u.test(part) || part === "localhost")

/**
 * Whether a text can be a pattern of images: it begins with a registry that it names whole, or is `*`, which every
 * image matches. Elsewhere `*` is any text, and `?` any one character.
 */
export const isImagePattern = (pattern: string): boolean => {
  const [registry = "", ...repository] = pattern.split("/")
  return pattern === "*" || (isRegistry(registry) && repository.join("") !== "")
}

/** The patterns of all images of a repository: without a tag, with one, and by digest. */
export const imagesOf = (repository: string): ReadonlyArray<string> => [
  repository,
  `${repository}:*`,
  `${repository}@*`
]

/** Why an image that a user names in a field is refused; `undefined` if it may run. `allowed`: patterns. */
export const imageProblem = (field: string, image: string, allowed: ReadonlyArray<string>): string | undefined => {
  if (!reference.test(image) || !endsInTag(image)) {
    return `${field} is ${quoted(image)}; it must be an image such as docker.io/library/postgres:17.`
  }
  if (allowed.some((pattern) => matchesGlob(pattern, image))) return undefined
  const rule = allowed.length === 0 ? "users may name no image" : `allowed are ${allowed.map(quoted).join(", ")}`
  return `${field} is ${quoted(image)}, which this operator does not allow: ${rule}.`
}
