/**
 * The session's queue for a queue of the workload, where another cluster has made it. Clusters may have the same queue,
 * or another one under another name, so names come before ids.
 *
 * Not here: whether the queue is there.
 */

import * as Result from "effect/Result"
import { quoted } from "../clean-text.ts"
import type { GivenQueue, SplitSource } from "./observed-split.ts"

/** Another cluster may name the queue by its URL, and this one by its name. */
const isSameQueue = ({ name, reference }: SplitSource, original: string): boolean =>
  original === reference ||
  (!(original.includes("/") && reference.includes("/")) && original.split("/").at(-1) === name)

const only = (found: ReadonlyArray<GivenQueue>): string | undefined => {
  const queues = new Set(found.map(({ queue }) => queue))
  return queues.size === 1 ? [...queues][0] : undefined
}

/** The name or the URL of the session's queue. The failure is a sentence. */
export const givenQueue = (source: SplitSource, given: ReadonlyArray<GivenQueue>): Result.Result<string, string> => {
  const byId = given.filter(({ id }) => id !== undefined && source.ids.includes(id))
  const queue = only(given.filter(({ original }) => isSameQueue(source, original))) ?? only(byId)
  if (queue !== undefined) return Result.succeed(queue)
  const ids = source.ids.map(quoted).join(", ")
  const found = [...new Set(given.map(({ original }) => quoted(original)))].toSorted().join(", ")
  return Result.fail(
    `The default cluster gave ${byId.length === 0 ? "no queue" : "several queues"} for ${quoted(source.name)} with ` +
      `the id ${ids}; it has ${found === "" ? "none" : found}. Let ${ids} name one queue there.`
  )
}
