/**
 * Every connect parameter of the client, with its encoding, its values and their meaning, as data.
 *
 * Not here: reading parameters from a request (connect-request.ts).
 */

import * as Schema from "effect/Schema"

const Text = Schema.String
const TextMap = Schema.Record(Text, Text)
/** Queue id → header or attribute → regex. */
const Splits = Schema.Record(Text, TextMap)
const Names = Schema.Array(Text)
const OptionalText = Schema.optionalKey(Schema.NullOr(Text))

const text = (meaning: string) => ({ encoding: "text", schema: Text, meaning }) as const
const flag = (meaning: string) => ({ encoding: "flag", schema: Schema.Boolean, meaning }) as const
const json = <const S extends Schema.ConstraintDecoder<unknown>>(schema: S, meaning: string) =>
  ({ encoding: "json", schema, meaning }) as const

const splits = json(Splits, "a JSON object of queue id to an object of name to regex")
const jqFilters = json(TextMap, "a JSON object of queue id to jq program")
const branchNames = json(Names, "a JSON list of resource names")
const renames = json(TextMap, "a JSON object of original to temporary name")

/** Every connect parameter of client 3.250.0 in the order in which it writes them (operator-api.md §7.7). */
export const connectParameters = {
  connect: { encoding: "flag", schema: Schema.Literal(true), meaning: "true" },
  on_concurrent_steal: {
    encoding: "text",
    schema: Schema.Literals(["abort", "override", "continue"]),
    meaning: "abort, override or continue"
  },
  profile: text("the name of a profile"),
  label_target: json(
    Schema.Struct({ labels: TextMap, container: OptionalText }),
    "a JSON object with labels and perhaps container"
  ),
  kafka_splits: splits,
  kafka_jq_filters: jqFilters,
  kafka_protobuf_decoding: json(
    Schema.Record(Text, Schema.Struct({ descriptor_base64: Text, message_type: Text })),
    "a JSON object of queue id to descriptor_base64 and message_type"
  ),
  sqs_splits: splits,
  rmq_splits: splits,
  gcp_pubsub_splits: splits,
  sqs_jq_filters: jqFilters,
  gcp_pubsub_jq_filters: jqFilters,
  azure_service_bus_splits: splits,
  azure_service_bus_jq_filters: jqFilters,
  redis_pubsub_splits: splits,
  temporal_splits: splits,
  redis_pubsub_jq_filters: jqFilters,
  temporal_jq_filters: jqFilters,
  bullmq_splits: splits,
  bullmq_jq_filters: jqFilters,
  queue_modes: json(TextMap, "a JSON object of queue id to mode"),
  branch_name: text("the name of a git branch"),
  mysql_branch_names: branchNames,
  pg_branch_names: branchNames,
  mongodb_branch_names: branchNames,
  branch_db_names: branchNames,
  session_ci_info: json(
    Schema.Struct({
      provider: OptionalText,
      environment: OptionalText,
      pipeline: OptionalText,
      triggeredBy: OptionalText
    }),
    "a JSON object with provider, environment, pipeline and triggeredBy as text"
  ),
  up_session_info: json(
    Schema.Struct({ autoQueueSplitting: Schema.optionalKey(Schema.NullOr(Schema.Boolean)) }),
    "a JSON object with perhaps autoQueueSplitting as true or false"
  ),
  is_default_cluster: flag("true or false"),
  sqs_output_queues: renames,
  rmq_output_queues: renames,
  multi_cluster: flag("true or false"),
  output_tmp_resources: json(
    Schema.Array(
      Schema.Struct({
        queueId: Text,
        topic: Schema.optionalKey(TextMap),
        subscription: Schema.optionalKey(TextMap),
        channel: Schema.optionalKey(TextMap),
        taskQueue: Schema.optionalKey(TextMap),
        // Of SQS and RabbitMQ. Client 3.250.0 does not know it.
        queue: Schema.optionalKey(TextMap)
      })
    ),
    "a JSON list of objects with queueId and maps of names"
  ),
  key: text("the session key"),
  header_filter: text("a regex")
} as const

export type ConnectParameterName = keyof typeof connectParameters

/** The decoded values of the parameters, by name. */
export type ConnectParameterValues = {
  readonly [Name in ConnectParameterName]: (typeof connectParameters)[Name]["schema"]["Type"]
}

const isName = (name: string): name is ConnectParameterName => Object.hasOwn(connectParameters, name)

/** All names, in the client's order. */
export const parameterNames: ReadonlyArray<ConnectParameterName> = Object.keys(connectParameters).filter(isName)
