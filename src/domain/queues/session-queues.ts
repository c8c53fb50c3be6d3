/**
 * Which queues a session reads: all of the configuration, since its program must find none of the originals. Those that
 * it does not name match no message.
 *
 * Not here: whether a filter matches a message.
 */

import * as Result from "effect/Result"
import { quoted } from "../clean-text.ts"
import type { QueueVariable } from "./queue-variables.ts"
import type { ConfiguredQueue, SplitConfiguration } from "./split-configuration.ts"

/** Means every queue that the session's container reads and the session does not name by its own id. */
const everyId = "*"

/** A queue, and the session's filter for it; `undefined` if it gets no message of it. */
export interface SessionQueue<Filter> {
  readonly queue: ConfiguredQueue
  readonly filter: Filter | undefined
}

/** The variables of a workload, and the container whose variables the session's program gets. */
export interface SessionPlace {
  readonly container: string
  readonly variables: ReadonlyArray<Pick<QueueVariable, "container" | "id">>
}

const unknownId = ({ origin, queues, unserved }: SplitConfiguration, id: string): string => {
  const other = unserved.find((queue) => queue.id === id)
  const ids = queues.map((queue) => quoted(queue.id)).toSorted()
  const found = ids.length === 0 ? "no queue of SQS" : `the queues of SQS ${ids.join(", ")}`
  const what = other === undefined ? "unknown" : `of the kind ${other.kind}, which this operator does not split`
  return `The queue ${quoted(id)} is ${what}: ${origin} has ${found}. Name one of these.`
}

const unreadId = ({ container, variables }: SessionPlace, id: string): string => {
  const others = new Set(variables.filter((one) => one.id === id).map((one) => quoted(one.container)))
  return (
    `The container ${quoted(container)} of this session does not read the queue ${quoted(id)}, so nothing would read ` +
    `its messages; ${[...others].join(" and ")} does. Name that container in the target.`
  )
}

/**
 * The queues of a session with its filters of SQS by id. A filter must be for a queue that the session's container
 * reads: its messages would otherwise wait where no program looks. The failure is a sentence.
 */
export const sessionQueues = <Filter>(
  configuration: SplitConfiguration,
  place: SessionPlace,
  filters: ReadonlyMap<string, Filter>
): Result.Result<ReadonlyArray<SessionQueue<Filter>>, string> => {
  const { container, variables } = place
  const read = new Set(variables.filter((one) => one.container === container).map(({ id }) => id))
  const named = [...filters.keys()].filter((id) => id !== everyId)
  const unknown = named.find((id) => !configuration.queues.some((queue) => queue.id === id))
  if (unknown !== undefined) return Result.fail(unknownId(configuration, unknown))
  const unread = named.find((id) => !read.has(id))
  if (unread !== undefined) return Result.fail(unreadId(place, unread))
  return Result.succeed(
    configuration.queues.map((queue) => ({
      queue,
      filter: filters.get(queue.id) ?? (read.has(queue.id) ? filters.get(everyId) : undefined)
    }))
  )
}
