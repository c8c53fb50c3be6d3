/**
 * Shapes that the kinds for queue splitting share (published-chart.md §1.13).
 *
 * Not here: fields of single brokers.
 */

import * as Schema from "effect/Schema"
import { literals, nullable, text } from "../field-schemas.ts"

export const QueueConsumer = Schema.Struct({
  name: text("Name of the workload."),
  container: nullable(text("Name of the container; all if missing.")),
  workloadType: literals(["Deployment", "Rollout"], "Kind of the workload.")
}).annotate({ description: "The workload that reads the queues." })

export const NameUpdates = Schema.Record(
  Schema.String,
  Schema.Struct({ originalName: text("Name before the split."), outputName: text("Name of the temporary queue.") })
).annotate({ description: "Queues that got another name." })

/** Brokers by the names that the split kinds use. */
export const queueKinds = [
  "sqs",
  "kafka",
  "rmq",
  "googlePubSub",
  "azureServiceBus",
  "redisPubSub",
  "temporal",
  "bullMq"
] as const

export const QueueKind = literals([...queueKinds, "unknown"], "The broker.")
