/**
 * The published kind MirrordWorkloadQueueRegistry: the SQS and RabbitMQ queues of a workload.
 */

import * as Schema from "effect/Schema"
import { splitting } from "../chart-switches.ts"
import type { CustomResource } from "../custom-resource.ts"
import { literals, nullable, open, textMap, unsigned } from "../field-schemas.ts"
import { ObjectMeta } from "../object-meta.ts"
import { NameUpdates, QueueConsumer } from "./queue-shapes.ts"

/** Published fields (published-chart.md §1.13). The published schema leaves open what a queue has beside its type. */
const MirrordWorkloadQueueRegistrySpec = Schema.Struct({
  queues: Schema.Record(
    Schema.String,
    open({ queueType: literals(["SQS", "RMQ"], "The broker.") }).annotate({
      description: "How the queue is found: `nameSource` and what the broker needs."
    })
  ).annotate({ description: "By the id that sessions use." }),
  consumer: QueueConsumer,
  workloadRestartTimeout: nullable(unsigned("Seconds that the workload may take to restart; 120 if unset."))
}).annotate({ description: "Queues of a workload." })

export const MirrordWorkloadQueueRegistry = Schema.Struct({
  metadata: ObjectMeta,
  spec: MirrordWorkloadQueueRegistrySpec,
  status: nullable(
    Schema.Struct({
      sqsDetails: nullable(
        Schema.Struct({
          queueNames: NameUpdates,
          directEnvVars: textMap("Variables that name a queue."),
          envUpdates: NameUpdates
        }).annotate({ description: "The split of SQS queues." })
      )
    }).annotate({ description: "What the operator observed." })
  )
})
/** Names the queues that a workload reads, so that sessions can share them. */
export type MirrordWorkloadQueueRegistry = typeof MirrordWorkloadQueueRegistry.Type

export const mirrordWorkloadQueueRegistries: CustomResource<MirrordWorkloadQueueRegistry> = {
  group: "queues.mirrord.metalbear.co",
  version: "v1alpha",
  kind: "MirrordWorkloadQueueRegistry",
  plural: "mirrordworkloadqueueregistries",
  scope: "Namespaced",
  schema: MirrordWorkloadQueueRegistry,
  description: "Queues that a workload reads.",
  installedWith: [splitting("sqs"), splitting("rmq")],
  shortNames: ["qs"]
}
