/**
 * The collections that this process keeps by list and watch and cannot read at the moment, for everybody who asks how
 * it is: the log, `/readyz`, metrics, and the operator's description of itself. The operator acts on such a collection
 * from what it knew before, or not at all.
 *
 * Not here: listing and watching (reflector.ts).
 */

import { Clock, Context, Effect, type Scope } from "effect"
import { cleanText, textLimits } from "../../domain/clean-text.ts"
import type { Sample } from "../../domain/metrics/catalogue.ts"
import type { KubeError, ResourceRef } from "../../ports/kube-api.ts"
import { LogOnce } from "./log-once.ts"
import { logInfo, logWarning } from "./log.ts"
import { elapsedOf } from "./term.ts"

/** How long a collection may be unread until people are told, ms: an API server that is restarted takes as long. */
const toldAfter = 10_000

/** A collection of one cluster. Times are those of the steady clock, ms. */
interface WatchedList {
  readonly cluster: string
  /** `plural`, or `plural.group`. */
  readonly resource: string
  /** Why it cannot be read, and since when; `undefined` if it can. */
  failing: { readonly why: string; readonly since: number } | undefined
}

/** The collections that are unread for a while. */
export interface UnreadCollections {
  /** A sentence for each. */
  readonly sentences: ReadonlyArray<string>
  /** For how long the first of them is unread, ms. */
  readonly longest: number
}

/** The collections of a process. `now`: by the steady clock, ms. */
export class FailingLists {
  readonly #lists = new Set<WatchedList>()

  readonly add = (list: WatchedList): void => void this.#lists.add(list)
  readonly remove = (list: WatchedList): void => void this.#lists.delete(list)

  readonly unread = (now: number): UnreadCollections => {
    const found = [...this.#lists].flatMap(({ cluster, failing, resource }) =>
      failing === undefined || now - failing.since < toldAfter ? [] : [{ ...failing, cluster, resource }]
    )
    const sentences = found.map(
      ({ cluster, resource, why }) =>
        `The ${resource} of cluster ${cluster} cannot be listed and watched, so changes are seen late or never: ${why}.`
    )
    return { sentences: [...new Set(sentences)], longest: Math.max(0, ...found.map(({ since }) => now - since)) }
  }

  /** For how long each collection is unread. */
  readonly samples = (now: number): ReadonlyArray<Sample> => {
    const seconds = new Map<string, Sample>()
    for (const { cluster, failing, resource } of this.#lists) {
      const key = `${cluster}/${resource}`
      const value = Math.max(seconds.get(key)?.value ?? 0, failing === undefined ? 0 : (now - failing.since) / 1_000)
      seconds.set(key, { name: "braid_list_failing_seconds", labels: { cluster, resource }, value })
    }
    return [...seconds.values()]
  }
}

/** The collections of this process, unless others are provided. */
export const CurrentFailingLists = Context.Reference("braid/app/CurrentFailingLists", {
  defaultValue: () => new FailingLists()
})

/** The collections that this process cannot read for a while. */
export const failingLists: Effect.Effect<UnreadCollections> = Effect.gen(function* () {
  const { unread } = yield* CurrentFailingLists
  return unread(elapsedOf(yield* Clock.Clock)())
})

/** How a reflector reports. */
export interface ListHealth {
  readonly failed: (error: KubeError) => Effect.Effect<void>
  readonly read: Effect.Effect<void>
}

/** The same trouble has the same words but for numbers, such as times and ports. */
const newsOf = ({ detail, reason }: KubeError): string => `${reason} ${detail.replaceAll(/\d+/gu, "#")}`

/** Notes a collection for as long as the scope lives, and logs when it fails, fails otherwise, and is read again. */
export const watchList = Effect.fnUntraced(function* (
  cluster: string,
  { group, plural }: Pick<ResourceRef, "group" | "plural">
): Effect.fn.Return<ListHealth, never, Scope.Scope> {
  const { add, remove } = yield* CurrentFailingLists
  const elapsed = elapsedOf(yield* Clock.Clock)
  const resource = group === "" ? plural : `${plural}.${group}`
  const list: WatchedList = { cluster, resource, failing: undefined }
  yield* Effect.acquireRelease(
    Effect.sync(() => add(list)),
    () => Effect.sync(() => remove(list))
  )
  const log = new LogOnce()
  let isTold = false
  return {
    failed: (error) =>
      Effect.suspend(() => {
        const why = cleanText(error.detail, textLimits.message).replace(/[.!]$/u, "")
        list.failing = { why, since: list.failing?.since ?? elapsed() }
        if (elapsed() - list.failing.since < toldAfter) return Effect.void
        isTold = true
        return log.tell(newsOf(error), logWarning("a collection cannot be read", { cluster, resource, problem: why }))
      }),
    read: Effect.suspend(() => {
      const { failing } = list
      list.failing = undefined
      log.reset()
      if (failing === undefined || !isTold) return Effect.void
      isTold = false
      const seconds = Math.round((elapsed() - failing.since) / 1_000)
      return logInfo("a collection can be read again", { cluster, resource, seconds })
    })
  }
})
