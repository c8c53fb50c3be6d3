/**
 * The queues that a request for a copy has split, as the parameters by which a connect to another target names them:
 * with a copy they are in none of the connect's (operator-api.md §9.2).
 *
 * Not here: whether they can be split (queues/wanted-split-reader.ts, sessions/unserved-parameters.ts).
 */

import * as Result from "effect/Result"
import { quoted } from "../clean-text.ts"
import type { CopySplit, CopyTargetSpec } from "../resources/copy-target.ts"
import type { ConnectParameterName } from "../sessions/connect-parameter-catalogue.ts"
import { anyQueue, type ConnectParams, parseConnectQuery } from "../sessions/connect-request.ts"

const sqs = "SQS"

/** The parameter by which a connect names queues of each broker; the names of brokers are the client's. */
const brokers: ReadonlyMap<string, ConnectParameterName> = new Map([
  [sqs, "sqs_splits"],
  ["Kafka", "kafka_splits"],
  ["RMQ", "rmq_splits"],
  ["GCPPubSub", "gcp_pubsub_splits"],
  ["AzureServiceBus", "azure_service_bus_splits"],
  ["RedisPubSub", "redis_pubsub_splits"],
  ["Temporal", "temporal_splits"],
  ["BullMQ", "bullmq_splits"]
])

type SplitSpec = Pick<CopyTargetSpec, "auto_queue_splitting" | "split_queues">

/** The connect parameters that ask for the same splits; without entries if the copy is for none. */
export const copySplits = (spec: SplitSpec): Result.Result<ConnectParams, string> => {
  const isAutomatic = spec.auto_queue_splitting === true
  const maps = new Map<string, Map<string, unknown>>()
  const name = (parameter: ConnectParameterName, id: string, value: unknown): void => {
    maps.set(parameter, (maps.get(parameter) ?? new Map<string, unknown>()).set(id, value))
  }
  for (const [key, split] of Object.entries<CopySplit>(spec.split_queues ?? {})) {
    const { jq_filter: program, message_filter: attributes, queue_id: id = key, queue_mode: mode } = split
    const { queue_type: broker } = split
    const parameter = brokers.get(broker)
    if (parameter === undefined && !(isAutomatic && id === anyQueue))
      return Result.fail(
        `The queue ${quoted(id)} is of the type ${quoted(broker)} (spec.split_queues), which this operator does not ` +
          "know: without its split the program would read messages of everybody. Take it out of feature.split_queues."
      )
    if (parameter !== undefined) name(parameter, id, attributes ?? {})
    if (broker !== sqs) continue
    if ((program ?? undefined) !== undefined) name("sqs_jq_filters", id, program)
    if ((mode ?? undefined) !== undefined) name("queue_modes", id, mode)
  }
  const named = [...maps].map(([parameter, map]): [string, string] => [
    parameter,
    JSON.stringify(Object.fromEntries(map))
  ])
  const automatic: ReadonlyArray<[string, string]> = isAutomatic
    ? [["up_session_info", JSON.stringify({ autoQueueSplitting: true })]]
    : []
  const query = new URLSearchParams([...named, ...automatic]).toString()
  return Result.mapError(parseConnectQuery(query), (problems) => problems.map(({ message }) => message).join(" "))
}

/** The parameters of a connect to a copy, with those that its splits stand for. The connect's own come first. */
export const withSplits = (connect: ConnectParams, splits: ConnectParams): ConnectParams => ({
  entries: [...connect.entries, ...splits.entries.filter(([name]) => !connect.entries.some(([own]) => own === name))],
  values: { ...splits.values, ...connect.values }
})
