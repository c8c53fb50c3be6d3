/** The published kind of preview environments, PreviewSession. Here it only makes the definition in `crds/`. */

import * as Schema from "effect/Schema"
import { branchEngines, previewEnv } from "./chart-switches.ts"
import { type CustomResource, ageColumn, column } from "./custom-resource.ts"
import {
  eachNamed,
  int32,
  literals,
  nullable,
  text,
  textMap,
  texts,
  time,
  truth,
  uint16,
  unsigned
} from "./field-schemas.ts"
import { ObjectMeta } from "./object-meta.ts"
import { observations } from "./observations.ts"
import { KubeResourceTarget } from "./session-shapes.ts"

const ports = Schema.Array(uint16("A port."))

/** Brokers with filters by message; Kafka's are headers (published-chart.md §1.12). */
const filteredBrokers = ["sqs", "rmq", "gcpPubsub", "azureServiceBus", "redisPubsub", "temporal", "bullmq"] as const

const queueFilters = Schema.optionalKey(
  Schema.Record(
    Schema.String,
    Schema.Struct({
      messageFilter: nullable(textMap("Attribute → regular expression.")),
      jqFilter: nullable(text("A jq program that says whether a message is wanted."))
    })
  ).annotate({ description: "By id of the queue." })
)

/** Published fields (published-chart.md §1.12). Generic branches have none in previews (§1.15). */
const PreviewSessionSpec = Schema.Struct({
  image: text("Image that runs in place of the target's."),
  key: text("Requests with this key reach the preview."),
  target: KubeResourceTarget,
  ttlSecs: unsigned("Seconds until the preview is deleted; 4294967295 or more: never."),
  replicas: Schema.optionalKey(int32("Number of pods.").annotate({ default: 1 })),
  incoming: nullable(
    Schema.Struct({
      steal: truth("Whether requests go to the preview only, or to both."),
      ports: nullable(ports.annotate({ description: "Only these." })),
      ignorePorts: Schema.optionalKey(ports.annotate({ description: "Not these." })),
      httpFilter: nullable(text("Which requests, as JSON text."))
    }).annotate({ description: "Traffic that the preview receives." })
  ),
  env: nullable(
    Schema.Struct({
      include: nullable(texts("Only these variables of the target.")),
      exclude: Schema.optionalKey(texts("Not these variables of the target.")),
      overrides: Schema.optionalKey(textMap("Variables with values of their own."))
    }).annotate({ description: "Environment of the preview." })
  ),
  labels: nullable(
    Schema.Struct({
      include: nullable(texts("Only these labels of the target.")),
      exclude: Schema.optionalKey(texts("Not these labels of the target."))
    }).annotate({ description: "Labels that the preview takes over." })
  ),
  configMounts: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        path: text("Path of the file."),
        type: literals(["text", "binary"], "Whether `data` is the text or base64."),
        data: text("Content of the file.")
      })
    ).annotate({ description: "Files of the preview." })
  ),
  secretMounts: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({ path: text("Path of the file."), secretKey: text("Key in the preview's Secret.") })
    ).annotate({ description: "Secret files of the preview." })
  ),
  idle: nullable(
    Schema.Struct({
      startIdle: Schema.optionalKey(truth("Whether it starts without pods.").annotate({ default: false })),
      sleepAfterSecs: nullable(unsigned("Seconds without a request after which its pods go.")),
      wakeTimeoutSecs: nullable(unsigned("Seconds that a request waits for its pods."))
    }).annotate({ description: "Whether the preview sleeps when nobody uses it." })
  ),
  dbBranching: nullable(
    Schema.Struct(
      eachNamed(
        branchEngines.filter((engine) => engine !== "generic").map((engine) => `${engine}BranchNames` as const),
        () => Schema.optionalKey(texts("Names of branches that the preview uses."))
      )
    ).annotate({ description: "Branch databases of the preview." })
  ),
  queueSplitting: nullable(
    Schema.Struct({
      ...eachNamed(
        filteredBrokers.map((broker) => `${broker}QueueFilters` as const),
        () => queueFilters
      ),
      kafkaQueueFilters: Schema.optionalKey(
        Schema.Record(Schema.String, textMap("Header → regular expression.")).annotate({
          description: "By id of the topic."
        })
      ),
      kafkaQueueJqFilters: Schema.optionalKey(textMap("By id of the topic.")),
      queueModes: Schema.optionalKey(
        Schema.Record(Schema.String, literals(["steal", "mirror"], "Who gets the messages.")).annotate({
          description: "By id of the queue."
        })
      )
    }).annotate({ description: "Messages that the preview receives." })
  )
}).annotate({ description: "What the preview runs and receives." })
export type PreviewSessionSpec = typeof PreviewSessionSpec.Type

/**
 * `failureMessage` must be there with `Failed`, or clients break (published-chart.md §1.12). `conditions` and
 * `observedGeneration` are our additions.
 */
const PreviewSessionStatus = Schema.Struct({
  phase: literals(
    ["Initializing", "Waiting", "Ready", "Failed", "Idle", "Unknown"],
    "Where the preview is in its life."
  ),
  startedAt: time("When it was started."),
  failureMessage: nullable(text("Why it failed.")),
  failedAt: nullable(time("When it failed.")),
  expiresAt: nullable(time("When it is deleted.")),
  shareHost: nullable(text("Host under which anybody reaches it.")),
  idleSince: nullable(time("Since when its pods are gone.")),
  ...observations
}).annotate({ description: "What the operator observed." })
export type PreviewSessionStatus = typeof PreviewSessionStatus.Type

export const PreviewSession = Schema.Struct({
  metadata: ObjectMeta,
  spec: PreviewSessionSpec,
  status: nullable(PreviewSessionStatus)
})
/** A new image of a workload that runs beside it and gets the requests meant for it. */
export type PreviewSession = typeof PreviewSession.Type

export const previewSessions: CustomResource<PreviewSession> = {
  group: "preview.mirrord.metalbear.co",
  version: "v1alpha",
  kind: "PreviewSession",
  plural: "previewsessions",
  scope: "Namespaced",
  schema: PreviewSession,
  description: "A new image of a workload that runs beside it.",
  installedWith: [previewEnv],
  columns: [
    column("Key", ".spec.key"),
    column("Target", ".spec.target.name"),
    column("Phase", ".status.phase"),
    column("Expires", ".status.expiresAt"),
    ageColumn
  ],
  keepsUnknownFields: true
}
