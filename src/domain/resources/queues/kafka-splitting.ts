/**
 * The three kinds of Kafka's own queue splitting (published-chart.md §1.13).
 *
 * Not here: the kinds for every broker (mirrord-split-config.ts, mirrord-cluster-split-session.ts).
 */

import * as Schema from "effect/Schema"
import { splitting } from "../chart-switches.ts"
import { type CustomResource, ageColumn, column, integerColumn } from "../custom-resource.ts"
import { exactlyOne, nullable, text, unsigned } from "../field-schemas.ts"
import { ObjectMeta } from "../object-meta.ts"

export const MirrordKafkaClientConfig = Schema.Struct({
  metadata: ObjectMeta,
  spec: Schema.Struct({
    properties: Schema.Array(
      Schema.Struct({ name: text("Name of the property."), value: nullable(text("Its value.")) })
    ).annotate({ description: "Properties of the Kafka client." }),
    parent: nullable(text("Name of a configuration that this one extends.")),
    loadFromSecret: nullable(text("Secret with further properties.")),
    clientImplementation: nullable(text("Which client is used.")),
    authenticationExtra: nullable(
      Schema.Struct({
        kind: text("Kind of authentication."),
        awsRegion: nullable(text("Region of the brokers."))
      }).annotate({ description: "Authentication that properties cannot express." })
    )
  }).annotate({ description: "How a broker is reached." })
})
/** How the operator reaches a Kafka broker. */
export type MirrordKafkaClientConfig = typeof MirrordKafkaClientConfig.Type

export const MirrordKafkaEphemeralTopic = Schema.Struct({
  metadata: ObjectMeta,
  spec: Schema.Struct({
    name: text("Name of the topic."),
    clientConfig: text("Name of the MirrordKafkaClientConfig.")
  }).annotate({ description: "A topic." })
})
/** A topic that the operator made for a session and must delete. */
export type MirrordKafkaEphemeralTopic = typeof MirrordKafkaEphemeralTopic.Type

const sources = (description: string) =>
  Schema.Array(
    Schema.Struct({
      directEnvVar: Schema.optionalKey(
        Schema.Struct({
          container: text("Name of the container."),
          variable: text("Its variable."),
          fallback: nullable(text("Value when the variable is not in the pod's definition."))
        })
      )
    })
  ).annotate({ description })

export const MirrordKafkaTopicsConsumer = Schema.Struct({
  metadata: ObjectMeta,
  spec: Schema.Struct({
    consumerName: text("Name of the workload."),
    consumerKind: text("Kind of the workload."),
    consumerApiVersion: text("Group and version of the workload."),
    consumerRestartTimeout: nullable(unsigned("Seconds that the workload may take to restart.")),
    splitTtl: nullable(unsigned("Seconds that a split outlives its last session.")),
    topics: Schema.Array(
      Schema.Struct({
        id: text("The id that sessions use."),
        clientConfig: text("Name of the MirrordKafkaClientConfig."),
        nameSources: sources("Variables that hold the topic's name."),
        groupIdSources: Schema.optionalKey(sources("Variables that hold the consumer group's id.")),
        applicationIdSources: Schema.optionalKey(sources("Variables that hold the Kafka Streams application's id."))
      }).annotate(exactlyOne("groupIdSources", "applicationIdSources"))
    ).annotate({ description: "The topics." })
  }).annotate({ description: "Topics that a workload reads." })
})
/** Names the topics that a workload reads, so that sessions can share them. */
export type MirrordKafkaTopicsConsumer = typeof MirrordKafkaTopicsConsumer.Type

const common = {
  group: "queues.mirrord.metalbear.co",
  version: "v1alpha",
  scope: "Namespaced",
  installedWith: [splitting("kafka")]
} as const

export const mirrordKafkaClientConfigs: CustomResource<MirrordKafkaClientConfig> = {
  ...common,
  kind: "MirrordKafkaClientConfig",
  plural: "mirrordkafkaclientconfigs",
  schema: MirrordKafkaClientConfig,
  description: "How the operator reaches a Kafka broker.",
  columns: [
    column("PARENT", ".spec.parent"),
    column("SECRET", ".spec.loadFromSecret"),
    column("CLIENT", ".spec.clientImplementation"),
    column("AUTHENTICATION_EXTRA", ".spec.authenticationExtra"),
    ageColumn
  ]
}

export const mirrordKafkaEphemeralTopics: CustomResource<MirrordKafkaEphemeralTopic> = {
  ...common,
  kind: "MirrordKafkaEphemeralTopic",
  plural: "mirrordkafkaephemeraltopics",
  schema: MirrordKafkaEphemeralTopic,
  description: "A Kafka topic that the operator made for a session.",
  columns: [column("NAME", ".spec.name"), column("CLIENT-CONFIG", ".spec.clientConfig"), ageColumn]
}

export const mirrordKafkaTopicsConsumers: CustomResource<MirrordKafkaTopicsConsumer> = {
  ...common,
  kind: "MirrordKafkaTopicsConsumer",
  plural: "mirrordkafkatopicsconsumers",
  schema: MirrordKafkaTopicsConsumer,
  description: "Kafka topics that a workload reads.",
  columns: [
    column("CONSUMER-NAME", ".spec.consumerName"),
    column("CONSUMER-KIND", ".spec.consumerKind"),
    column("CONSUMER-API-VERSION", ".spec.consumerApiVersion"),
    integerColumn("CONSUMER-RESTART-TIMEOUT", ".spec.consumerRestartTimeout"),
    ageColumn
  ]
}
