/**
 * Says which connect parameters ask for something that this operator does not serve, also those of newer clients, whose
 * names alone say so. In a session over many clusters the client leaves every check to the operator (operator-api.md
 * §2.7), so what is not refused here would be missing without a word: the program would read the whole queue, or use
 * the real database.
 *
 * Not here: parameters that cannot be read (connect-request.ts) or name a bad target (session-spec.ts).
 */

import * as Result from "effect/Result"
import { quoted } from "../clean-text.ts"
import type { ConnectParameterName, ConnectParameterValues } from "./connect-parameter-catalogue.ts"
import { anyQueue, type ConnectParams, parseJson, splitsAnyQueue, unknownEntries } from "./connect-request.ts"

/** A feature that parameters ask for: its name, what would happen without it, and where users turn it off. */
interface UnservedFeature {
  readonly name: string
  readonly danger: string
  readonly setting: string
}

const splittingOf = (broker: string): UnservedFeature => ({
  name: `queue splitting for ${broker}`,
  danger: "the program would read messages of everybody",
  setting: "feature.split_queues"
})

const branches: UnservedFeature = {
  name: "database branches",
  danger: "the program would use the real database",
  setting: "feature.db_branches"
}

const sqs = splittingOf("SQS")
const kafka = splittingOf("Kafka")
const rabbit = splittingOf("RabbitMQ")
const pubsub = splittingOf("Google Pub/Sub")
const serviceBus = splittingOf("Azure Service Bus")
const redis = splittingOf("Redis Pub/Sub")
const temporal = splittingOf("Temporal")
const bull = splittingOf("BullMQ")
const queues = splittingOf("temporary queues of another operator")
const anySplit: UnservedFeature = { ...queues, name: "queue splitting" }

/** Every parameter: the feature that it asks for, or `Served` where it asks for nothing that is missing. */
const features: Readonly<Record<ConnectParameterName, UnservedFeature | "Served">> = {
  connect: "Served",
  on_concurrent_steal: "Served",
  // The client has read the profile and has applied it; the name is for policies alone (domain/policies).
  profile: "Served",
  label_target: "Served",
  kafka_splits: kafka,
  kafka_jq_filters: kafka,
  kafka_protobuf_decoding: kafka,
  sqs_splits: sqs,
  rmq_splits: rabbit,
  gcp_pubsub_splits: pubsub,
  sqs_jq_filters: sqs,
  gcp_pubsub_jq_filters: pubsub,
  azure_service_bus_splits: serviceBus,
  azure_service_bus_jq_filters: serviceBus,
  redis_pubsub_splits: redis,
  temporal_splits: temporal,
  redis_pubsub_jq_filters: redis,
  temporal_jq_filters: temporal,
  bullmq_splits: bull,
  bullmq_jq_filters: bull,
  // The client sends it alone for a split without a filter.
  queue_modes: anySplit,
  branch_name: "Served",
  mysql_branch_names: branches,
  pg_branch_names: branches,
  mongodb_branch_names: branches,
  branch_db_names: branches,
  session_ci_info: "Served",
  up_session_info: "Served",
  is_default_cluster: "Served",
  sqs_output_queues: queues,
  rmq_output_queues: queues,
  multi_cluster: "Served",
  output_tmp_resources: queues,
  key: "Served",
  header_filter: "Served"
}

/** Whether a parameter's value asks for anything: an empty list or map does not. */
const asksFor = (value: unknown, isAutomatic: boolean): boolean => {
  if (Array.isArray(value)) return value.length > 0
  if (typeof value !== "object" || value === null) return value !== undefined
  return Object.keys(value).some((id) => !(isAutomatic && id === anyQueue))
}

const isMissing = (feature: UnservedFeature | "Served"): feature is UnservedFeature => feature !== "Served"

/** The features that an operator serves in some clusters alone. */
export interface ServedFeatures {
  readonly branches: boolean
  /** Splits of queues of SQS. */
  readonly sqs: boolean
  /** Whether the client is the operator of a primary, which may name queues that another cluster has made. */
  readonly isLink: boolean
}

/** Whether queues that another cluster has made are of other brokers than SQS. */
const areOfOthers = ({ output_tmp_resources: made = [] }: Partial<ConnectParameterValues>): boolean =>
  made.some(({ channel, subscription, taskQueue, topic }) =>
    [channel, subscription, taskQueue, topic].some((names) => asksFor(names, false))
  )

/** Whether the operator serves what this parameter asks for. */
const isServed = (
  parameter: string,
  feature: UnservedFeature,
  values: Partial<ConnectParameterValues>,
  served: ServedFeatures
): boolean => {
  if (feature === branches) return served.branches
  if (!served.sqs) return false
  // A mode for a queue of another broker comes with a parameter of that broker.
  if (feature === sqs || feature === anySplit) return true
  return (
    served.isLink &&
    (parameter === "sqs_output_queues" || (parameter === "output_tmp_resources" && !areOfOthers(values)))
  )
}

/**
 * The features that parameters of a newer client ask for, by the end of their names; the first fitting end counts. The
 * client names the parameters of each new broker and engine in this way.
 */
const newerFeatures: ReadonlyArray<readonly [ending: string, feature: UnservedFeature]> = [
  ["_branch_names", branches],
  ["_splits", anySplit],
  ["_jq_filters", anySplit],
  [
    "_filters",
    {
      name: "a filter",
      danger: "the program would get what others are to get",
      setting: "the configuration"
    }
  ]
]

/** The value of a parameter of which nothing is known but its name; what is no JSON is a text. */
const valueOf = (text: string): unknown => Result.getOrElse(parseJson(text), () => text)

/** How many names a sentence has at most. */
const maxNames = 10

/** The sentences for parameters that are not known, and whose names say that the program needs what they ask for. */
const newerSentences = (params: ConnectParams, isAutomatic: boolean): ReadonlyArray<string> => {
  const wanted = unknownEntries(params).flatMap(([parameter, text]) => {
    const [, feature] = newerFeatures.find(([ending]) => parameter.endsWith(ending)) ?? []
    return feature !== undefined && text !== "" && asksFor(valueOf(text), isAutomatic) ? [{ parameter, feature }] : []
  })
  return [...new Set(wanted.map(({ feature }) => feature))].map((feature) => {
    const names = new Set(wanted.filter((one) => one.feature === feature).map(({ parameter }) => quoted(parameter)))
    return (
      `This operator does not know the connect parameter ${[...names].slice(0, maxNames).join(", ")}, by which a ` +
      `newer client asks for ${feature.name}: without it ${feature.danger}. Take it out of ${feature.setting}, or ` +
      "have the operator upgraded."
    )
  })
}

/**
 * The sentences for a user who asks for features that this operator does not serve; none if it serves all. The splits
 * that `mirrord up` adds by itself are left out without a word, as the published operator does where it does not
 * split.
 */
export const unservedFeatures = (params: ConnectParams, served: ServedFeatures): ReadonlyArray<string> => {
  const values: Partial<ConnectParameterValues> = params.values
  const isAutomatic = splitsAnyQueue(params)
  const wanted = Object.entries(features).flatMap(([parameter, feature]) =>
    isMissing(feature) &&
    !isServed(parameter, feature, values, served) &&
    asksFor((values as Readonly<Record<string, unknown>>)[parameter], isAutomatic)
      ? [{ parameter, feature }]
      : []
  )
  const missing = new Set(wanted.map(({ feature }) => feature))
  // The feature that says which queues they are says it all.
  if ([...missing].some((feature) => feature !== anySplit && feature.setting === anySplit.setting))
    missing.delete(anySplit)
  const known = [...missing].map((feature) => {
    const { danger, name, setting } = feature
    const parameters = wanted.filter((one) => one.feature === feature).map(({ parameter }) => parameter)
    return (
      `This operator does not serve ${name} (connect parameter ${parameters.join(", ")}): without it ${danger}. ` +
      `Take it out of ${setting}.`
    )
  })
  return [...known, ...newerSentences(params, isAutomatic)]
}
