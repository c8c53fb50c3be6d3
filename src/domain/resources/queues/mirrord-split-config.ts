/** The published kind MirrordSplitConfig: the queues of a workload. */

import * as Schema from "effect/Schema"
import { anySplitting } from "../chart-switches.ts"
import { type CustomResource, ageColumn, column } from "../custom-resource.ts"
import { eachNamed, nullable, text, texts, unsigned } from "../field-schemas.ts"
import { ObjectMeta } from "../object-meta.ts"
import { objectReference } from "../session-shapes.ts"
import { QueueKind, queueKinds } from "./queue-shapes.ts"

const roles = [
  "queue",
  "topic",
  "subscription",
  "groupId",
  "appId",
  "exchange",
  "channel",
  "channelPattern",
  "shardChannel",
  "taskQueue",
  "projectId",
  "temporalAddress",
  "temporalNamespace"
] as const

const VariableReference = Schema.Struct({
  env: nullable(text("Name of the variable.")),
  envLike: nullable(text("Pattern of the variable's name.")),
  containers: nullable(texts("Only in these containers.")),
  fallback: nullable(text("Value when the variable is not in the pod's definition.")),
  valuePattern: nullable(text("Regular expression that takes the name out of the value.")),
  valueSelector: nullable(text("jq program that takes the name out of the value."))
})

/** Published fields (published-chart.md §1.13). */
const MirrordSplitConfigSpec = Schema.Struct({
  targetRef: Schema.Struct(objectReference).annotate({ description: "The workload that reads the queues." }),
  queues: Schema.Array(
    Schema.Struct({
      id: text("The id that sessions use."),
      kind: QueueKind,
      appConfig: Schema.Struct(
        eachNamed(roles, (role) =>
          nullable(Schema.Array(VariableReference).annotate({ description: `Variables that hold the ${role}.` }))
        )
      ).annotate({ description: "How the workload learns the names." }),
      clientConfig: nullable(text("Name of the MirrordPropertyList with the broker's credentials.")),
      queueConfig: nullable(text("Name of the MirrordPropertyList with settings of temporary queues."))
    })
  ).annotate({ description: "The queues." }),
  clientConfigs: nullable(
    Schema.Struct(eachNamed(queueKinds, () => nullable(text("Name of a MirrordPropertyList.")))).annotate({
      description: "`clientConfig` of queues that have none."
    })
  ),
  drainTimeout: nullable(unsigned("Seconds that temporary queues may take to become empty.")),
  // Documented, and not in the published definition, which would drop it (queue splitting: Kafka's page).
  ttl: nullable(unsigned("Seconds that the split stays as it is after its last session.")),
  restart: nullable(
    Schema.Struct({
      strategy: nullable(
        Schema.Literals(["standard", "isolatePods", "unknown"]).annotate({ description: "How pods get the new names." })
      ),
      timeout: nullable(unsigned("Seconds that the restart may take.")),
      waitForPods: nullable(
        Schema.Union([Schema.Int, Schema.String]).annotate({
          description: "Number or share of pods that must be ready.",
          "x-kubernetes-int-or-string": true
        })
      )
    }).annotate({ description: "How the workload is restarted." })
  ),
  tmpNameTemplate: nullable(text("Names of temporary queues."))
}).annotate({ description: "Which queues a workload reads and how it finds them." })

export const MirrordSplitConfig = Schema.Struct({ metadata: ObjectMeta, spec: MirrordSplitConfigSpec })
/** Says how a workload finds its queues, so that sessions can share them. */
export type MirrordSplitConfig = typeof MirrordSplitConfig.Type

export const mirrordSplitConfigs: CustomResource<MirrordSplitConfig> = {
  group: "queues.mirrord.metalbear.co",
  version: "v1",
  kind: "MirrordSplitConfig",
  plural: "mirrordsplitconfigs",
  scope: "Namespaced",
  schema: MirrordSplitConfig,
  description: "Queues that a workload reads, and how it finds them.",
  installedWith: anySplitting,
  columns: [column("TARGET-KIND", ".spec.targetRef.kind"), column("TARGET-NAME", ".spec.targetRef.name"), ageColumn]
}
