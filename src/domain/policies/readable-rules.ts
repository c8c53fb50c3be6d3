/**
 * Reads objects in which administrators write rules for targets: policies and TLS configurations. An object with a part
 * that is not understood is refused, and the sentence names the field.
 *
 * Not here: the rules themselves (policy-rules.ts, domain/policies/tls).
 */

import * as Result from "effect/Result"
import { asObject, isObject } from "../json.ts"
import type { LabelSelector } from "../resources/policies/label-selector.ts"
import { readPathPattern, type TargetPattern } from "./target-pattern.ts"

/** The most entries of one list of an object, and the longest text in it. */
const maxEntries = 500
const maxText = 1_000

/** The problem of an object while it is read. */
class Unusable extends Error {}

/** Gives the object up, with a sentence about one of its fields. Only inside of {@link readRules}. */
export const refuse = (path: string, problem: string): never => {
  throw new Unusable(`${path}: ${problem}`)
}

/** The result of `read`; the failure names the field, what was found and what would be right. */
export const readRules = <A>(read: () => A): Result.Result<A, string> => {
  try {
    return Result.succeed(read())
  } catch (error) {
    if (error instanceof Unusable) return Result.fail(error.message)
    throw error
  }
}

export const bounded = <A>(path: string, entries: ReadonlyArray<A>): ReadonlyArray<A> =>
  entries.length <= maxEntries
    ? entries
    : refuse(path, `it has ${entries.length} entries, and at most ${maxEntries} are taken`)

export const short = (path: string, text: string): string =>
  text.length <= maxText ? text : refuse(path, `it has more than ${maxText} characters`)

/** The fields that are understood, by the path of the object that has them. A list's entries are at `path[]`. */
export type KnownFields = Readonly<Record<string, ReadonlyArray<string>>>

/** Whether a field asks for nothing, as a newer definition's default does. */
const isNothing = (value: unknown): boolean => {
  if (Array.isArray(value)) return value.length === 0
  if (isObject(value)) return Object.values(value).every(isNothing)
  return value === undefined || value === null || value === false
}

/**
 * Refuses fields that our view does not show: a newer definition than ours may have them. `at`: the path by which
 * fields are known; `shown`: the same for people, with the numbers of entries.
 */
export const checkFields = (known: KnownFields, at: string, value: unknown, shown = at): void => {
  if (Array.isArray(value)) {
    for (const [i, entry] of value.entries()) checkFields(known, `${at}[]`, entry, `${shown}[${i}]`)
    return
  }
  const names = known[at]
  if (names === undefined) return
  for (const [field, inner] of Object.entries(asObject(value))) {
    if (names.includes(field)) checkFields(known, `${at}.${field}`, inner, `${shown}.${field}`)
    else if (!isNothing(inner)) refuse(`${shown}.${field}`, "this operator does not know this field")
  }
}

/** The targets that an object is for. */
export const readTarget = (
  namespace: string | undefined,
  {
    selector,
    targetPath
  }: { readonly selector?: LabelSelector | null | undefined; readonly targetPath?: string | null | undefined }
): TargetPattern => ({
  namespace,
  paths: typeof targetPath === "string" ? readPathPattern(short("spec.targetPath", targetPath)) : undefined,
  selector: selector ?? undefined
})
