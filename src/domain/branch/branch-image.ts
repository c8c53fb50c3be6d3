/**
 * Whether users may run an image as the database of a branch. Images that administrators choose are always allowed.
 *
 * Not here: which image a branch asks for (branch-request.ts).
 */

import { quoted } from "../clean-text.ts"
import { matchesGlob } from "../policy/glob.ts"

const reference = /^[a-zA-Z0-9][-a-zA-Z0-9._/:]{0,500}(?:@sha256:[0-9a-f]{64})?$/u

/**
 * Why an image that a user names in a field is refused; nothing if it may run. `allowed`: patterns in which `*` is any
 * text; nothing: every image may.
 */
export const imageProblem = (
  field: string,
  image: string,
  allowed: ReadonlyArray<string> | undefined
): string | undefined => {
  if (!reference.test(image)) {
    return `${field} is ${quoted(image)}; it must be an image such as docker.io/library/postgres:17.`
  }
  if (allowed === undefined || allowed.some((pattern) => matchesGlob(pattern, image))) return undefined
  const rule = allowed.length === 0 ? "users may name no image" : `allowed are ${allowed.map(quoted).join(", ")}`
  return `${field} is ${quoted(image)}, which this operator does not allow: ${rule}.`
}
