/**
 * The filters by which a session gets messages, ready to be used.
 *
 * Not here: which queues a session reads (session-queues.ts), and matching (message-filter.ts).
 */

import * as Result from "effect/Result"
import { quoted } from "../clean-text.ts"
import { type FilterText, type MessageFilter, readMessageFilter } from "./message-filter.ts"
import { type SessionPlace, sessionQueues } from "./session-queues.ts"
import type { SplitConfiguration } from "./split-configuration.ts"

/** The filters by the ids of the queues of which the session gets messages. The failure is a sentence. */
export const sessionFilters = (
  configuration: SplitConfiguration,
  place: SessionPlace,
  filters: ReadonlyMap<string, FilterText>
): Result.Result<ReadonlyMap<string, MessageFilter>, string> =>
  Result.gen(function* () {
    const read = new Map<string, MessageFilter>()
    for (const [id, text] of filters) {
      const filter = Result.mapError(readMessageFilter(text), (problem) => `The queue ${quoted(id)}: ${problem}.`)
      read.set(id, yield* filter)
    }
    const queues = yield* sessionQueues(configuration, place, read)
    return new Map(queues.flatMap(({ filter, queue }) => (filter === undefined ? [] : [[queue.id, filter] as const])))
  })
