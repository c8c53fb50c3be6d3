/**
 * How the doctor reads answers of an API server that may be anything: another server, another version, no JSON at all.
 *
 * Not here: which requests are made.
 */

import type { Answer } from "../../../domain/commands/doctor/cluster-facts.ts"
import { asObjects, asString, at } from "../../../domain/json.ts"
import type { ProbeResult } from "../../../ports/cluster-probe.ts"

/** Requests at a time to one API server. */
export const concurrency = 8

/** The answer as `read` understands it; a body that it does not understand counts as no answer. */
export const valueOf = <T>({ answer }: ProbeResult, read: (body: unknown) => T | undefined): Answer<T> => {
  if (answer._tag !== "Answered") return answer
  const value = read(answer.value.body)
  return value === undefined
    ? { _tag: "NoAnswer", detail: "the answer is not what an API server answers" }
    : { _tag: "Answered", value }
}

/** Reads the text at a path of field names. */
export const textAt =
  (...path: ReadonlyArray<string>) =>
  (body: unknown): string | undefined =>
    asString(at(body, ...path))

/** The body of a review, such as a SelfSubjectReview. */
export const reviewBody = (kind: string, group: string, spec: object): object => ({
  apiVersion: `${group}/v1`,
  kind,
  spec
})

/** The text of one field of each object in a list. */
export const textsOfField = (list: unknown, field: string): ReadonlyArray<string> =>
  asObjects(list).flatMap((item) => asString(item[field]) ?? [])

/** Plural names that a version of a group serves, subresources included. */
export const servedPlurals = (body: unknown): ReadonlyArray<string> => textsOfField(at(body, "resources"), "name")
