/** The splits of a cluster as metrics say them, at the moment when they are read. */

import type { MeasuredMain, MeasuredQueue, MeasuredSplits } from "../../domain/metrics/split-samples.ts"
import type { StoredQueue } from "../../domain/queues/stored-queue.ts"
import type { KnownSplit } from "./known-split.ts"
import type { SplitTotals } from "./queue-totals.ts"
import type { Forwarders } from "./running-forwarders.ts"
import type { Splits } from "./split-controller.ts"

/** Messages in the main queues of an original, as last counted; `undefined` before. */
const inMain = ({ queues }: KnownSplit, recorded: ReadonlyArray<StoredQueue>, url: string): number | undefined => {
  const counts = recorded.flatMap(({ name, owner, source }) => {
    const state = owner._tag === "Main" && source.url === url ? queues.get(name) : undefined
    return state?._tag === "Present" ? (state.counts.at(-1)?.messages ?? []) : []
  })
  return counts.length === 0 ? undefined : counts.reduce((sum, count) => sum + count, 0)
}

const mainsOf = (known: KnownSplit, recorded: ReadonlyArray<StoredQueue>): ReadonlyArray<MeasuredMain> =>
  known.totals.all().flatMap(([url]) => {
    const messages = inMain(known, recorded, url)
    return messages === undefined ? [] : [{ url, messages }]
  })

/** The queues that forwarders of this process read. `all`: the totals by their URLs. */
export const measuredQueues = (
  forwarders: ReturnType<Forwarders["local"]>,
  all: ReturnType<SplitTotals["all"]>
): ReadonlyArray<MeasuredQueue> => {
  if (forwarders === undefined) return []
  const running = new Map(forwarders.map(([{ source }, forwarder]) => [source.url, forwarder]))
  return all.map(([url, totals]) => ({ ...totals, url, failing: running.get(url)?.problems().length ?? 0 }))
}

export const measuredSplits = (splits: Splits): MeasuredSplits => {
  const recorded = splits.queues()
  return {
    splits: splits.splits().map(({ record }) => record.phase),
    sessions: splits.sessions().map(({ wanted }) => wanted.phase ?? "starting"),
    queues: splits.known().flatMap(({ forwarders, totals }) => measuredQueues(forwarders.local(), totals.all())),
    mains: splits.known().flatMap((known) => mainsOf(known, recorded))
  }
}
