/**
 * The published kinds MirrordSQSSession and MirrordRMQSession: a session's part in the queues of one broker. Here they
 * only make definitions in `crds/`.
 */

import * as Schema from "effect/Schema"
import { splitting } from "../chart-switches.ts"
import type { CustomResource } from "../custom-resource.ts"
import { exactlyOne, nullable, text, textMap, uint16 } from "../field-schemas.ts"
import { ObjectMeta } from "../object-meta.ts"
import { NameUpdates, QueueConsumer } from "./queue-shapes.ts"

const SplitDetails = Schema.Struct({ queueNames: NameUpdates, envUpdates: NameUpdates })
const SplitError = Schema.Struct({
  statusCode: uint16("As of an HTTP answer."),
  reason: text("A sentence for a person.")
})

/**
 * The phase, as an object whose only key is the phase's name. Its readers know no further keys, so nothing may be added
 * here (published-chart.md §1.13).
 */
export const SqsSessionStatus = Schema.Struct({
  Starting: Schema.optionalKey(Schema.Struct({ start_time_utc: text("When it began.") })),
  RegisteringFilters: Schema.optionalKey(SplitDetails),
  Ready: Schema.optionalKey(SplitDetails),
  StartError: Schema.optionalKey(SplitError),
  CleanupError: Schema.optionalKey(Schema.Struct({ error: SplitError, details: nullable(SplitDetails) }))
}).annotate({
  description: "The phase of the split.",
  ...exactlyOne("Starting", "RegisteringFilters", "Ready", "StartError", "CleanupError")
})
export type SqsSessionStatus = typeof SqsSessionStatus.Type
const status = nullable(SqsSessionStatus)

/** Fields that both brokers have (published-chart.md §1.13). */
const shared = {
  queueFilters: Schema.Record(Schema.String, textMap("Attribute → regular expression.")).annotate({
    description: "By id of the queue."
  }),
  queueConsumer: QueueConsumer,
  sessionId: text("Id of the session, in hex."),
  outputQueueNames: Schema.optionalKey(textMap("Names of the session's own queues."))
}
const description = "Messages that one session receives."

export const MirrordSqsSession = Schema.Struct({
  metadata: ObjectMeta,
  spec: Schema.Struct({
    ...shared,
    queueJqFilters: Schema.optionalKey(
      textMap("By id of the queue: a jq program that says whether a message is wanted.")
    )
  }).annotate({ description }),
  status
})
export type MirrordSqsSession = typeof MirrordSqsSession.Type

export const MirrordRmqSession = Schema.Struct({
  metadata: ObjectMeta,
  spec: Schema.Struct({ ...shared, namespace: text("Namespace of the workload.") }).annotate({ description }),
  status
})
export type MirrordRmqSession = typeof MirrordRmqSession.Type

const common = { group: "queues.mirrord.metalbear.co", version: "v1alpha" } as const

/** One session's part in SQS queues. */
export const mirrordSqsSessions: CustomResource<MirrordSqsSession> = {
  ...common,
  kind: "MirrordSQSSession",
  plural: "mirrordsqssessions",
  scope: "Namespaced",
  schema: MirrordSqsSession,
  description: "One session's part in SQS queues.",
  installedWith: [splitting("sqs")]
}

/** One session's part in RabbitMQ queues. Cluster-scoped, unlike the one for SQS (published-chart.md §1.2). */
export const mirrordRmqSessions: CustomResource<MirrordRmqSession> = {
  ...common,
  kind: "MirrordRMQSession",
  plural: "mirrordrmqsessions",
  scope: "Cluster",
  schema: MirrordRmqSession,
  description: "One session's part in RabbitMQ queues.",
  installedWith: [splitting("rmq")]
}
