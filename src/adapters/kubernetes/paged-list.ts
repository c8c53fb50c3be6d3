/**
 * Reads a list page by page, so that neither the number nor the size of the stored objects makes a list impossible: of
 * each page only what the kind keeps stays, and a page that is too long is asked for again with fewer objects.
 *
 * Not here: the requests (kube-api-http.ts).
 */

import { Effect } from "effect"
import { asString, isObject } from "../../domain/json.ts"
import { weightOf } from "../../domain/resources/kept-fields.ts"
import {
  isKubeObject,
  keptItems,
  type KubeApi,
  type KubeError,
  type KubeObject,
  type ResourceRef
} from "../../ports/kube-api.ts"
import { TooLong } from "./bounded-body.ts"
import { type Operation, unexpected, unreachable } from "./kube-errors.ts"

/** Objects of the first page. */
const firstLimit = 500
/** How often a list is begun whose pages the server forgets before they are read. */
const maxTries = 3
/** Roughly the most memory that a list may take when all its pages are read, in bytes: some 60,000 pods. */
const maxListBytes = 64 * 1024 * 1024

/** Asks for a page, which may be too long. `page`: the part of the query that says which. */
type AskPage = (page: Readonly<Record<string, string>>) => Effect.Effect<unknown, KubeError>

interface Page {
  readonly items: ReadonlyArray<KubeObject>
  readonly resourceVersion: string
  /** Where the next page begins; `undefined` if this is the last one. */
  readonly next: string | undefined
}

/** A malformed list is never taken for an empty list: an object that is missing from a list counts as deleted. */
const readPage = (value: unknown): Page | undefined => {
  const { items: found, metadata } = isObject(value) ? value : {}
  // An empty slice of Go is null in JSON.
  const items = found === null ? [] : found
  const { continue: next, resourceVersion } = isObject(metadata) ? metadata : {}
  return Array.isArray(items) && items.every(isKubeObject) && typeof resourceVersion === "string"
    ? { items, resourceVersion, next: next === "" ? undefined : asString(next) }
    : undefined
}

/** The objects of the pages so far. */
interface Read {
  readonly items: Array<KubeObject>
  weight: number
  /** The version of the first page: a watch from it misses nothing of what any page shows. */
  resourceVersion: string | undefined
}

/** Takes a page. The result: why the list cannot be read, if so. */
const takePage = (read: Read, ref: ResourceRef, page: Page | undefined): string | undefined => {
  if (page === undefined) return "the answer is not a list of objects with a resourceVersion"
  read.resourceVersion ??= page.resourceVersion
  for (const item of keptItems(ref, page.items)) {
    read.items.push(item)
    read.weight += weightOf(item)
  }
  return read.weight > maxListBytes
    ? `its objects take more than ${maxListBytes / 1024} KiB of memory; the rest was not read`
    : undefined
}

const readAll = (operation: Operation, ref: ResourceRef, ask: AskPage): ReturnType<KubeApi["list"]> =>
  Effect.gen(function* () {
    const read: Read = { items: [], weight: 0, resourceVersion: undefined }
    let limit = firstLimit
    let next: string | undefined
    for (;;) {
      const asked = { limit: String(limit), ...(next === undefined ? {} : { continue: next }) }
      const answer = yield* ask(asked)
      if (answer instanceof TooLong) {
        if (limit === 1) return yield* unreachable(operation, answer)
        limit = Math.ceil(limit / 2)
        continue
      }
      const page = readPage(answer)
      const problem = takePage(read, ref, page)
      if (problem !== undefined) return yield* unexpected(operation, problem)
      next = page?.next
      if (next === undefined) return { items: read.items, resourceVersion: read.resourceVersion ?? "" }
    }
  })

/**
 * The whole list as it was when its first page was read, with the version of that moment. The server may forget that
 * version while the pages are read; then the list is begun again.
 */
export const readPages = (operation: Operation, ref: ResourceRef, ask: AskPage): ReturnType<KubeApi["list"]> =>
  Effect.retry(readAll(operation, ref, ask), { times: maxTries - 1, while: ({ reason }) => reason === "Gone" })
