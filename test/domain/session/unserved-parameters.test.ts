import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { parameterNames, type ConnectParameterName } from "../../../src/domain/session/connect-parameter-catalogue.ts"
import { parseConnectQuery } from "../../../src/domain/session/connect-request.ts"
import { unservedFeatures } from "../../../src/domain/session/unserved-parameters.ts"

const refusals = (entries: ReadonlyArray<readonly [string, string]>): ReadonlyArray<string> => {
  const query = new URLSearchParams(entries.map(([name, value]): [string, string] => [name, value])).toString()
  return unservedFeatures(Result.getOrThrow(parseConnectQuery(query)).values)
}

const split = '{"orders":{"user":"^ann$"}}'
const jq = '{"orders":".user == \\"ann\\""}'
const names = '["ann-branch"]'
const renames = '{"orders":"orders-tmp"}'

/** Each parameter of the client as a user's settings make it, and the feature whose absence must be told. */
const table: Readonly<Record<ConnectParameterName, readonly [value: string, told: string | undefined]>> = {
  connect: ["true", undefined],
  on_concurrent_steal: ["override", undefined],
  profile: ["team/quiet", undefined],
  label_target: ['{"labels":{"app":"a"}}', undefined],
  kafka_splits: [split, "queue splitting for Kafka"],
  kafka_jq_filters: [jq, "queue splitting for Kafka"],
  kafka_protobuf_decoding: ['{"orders":{"descriptor_base64":"","message_type":"m"}}', "queue splitting for Kafka"],
  sqs_splits: [split, "queue splitting for SQS"],
  rmq_splits: [split, "queue splitting for RabbitMQ"],
  gcp_pubsub_splits: [split, "queue splitting for Google Pub/Sub"],
  sqs_jq_filters: [jq, "queue splitting for SQS"],
  gcp_pubsub_jq_filters: [jq, "queue splitting for Google Pub/Sub"],
  azure_service_bus_splits: [split, "queue splitting for Azure Service Bus"],
  azure_service_bus_jq_filters: [jq, "queue splitting for Azure Service Bus"],
  redis_pubsub_splits: [split, "queue splitting for Redis Pub/Sub"],
  temporal_splits: [split, "queue splitting for Temporal"],
  redis_pubsub_jq_filters: [jq, "queue splitting for Redis Pub/Sub"],
  temporal_jq_filters: [jq, "queue splitting for Temporal"],
  bullmq_splits: [split, "queue splitting for BullMQ"],
  bullmq_jq_filters: [jq, "queue splitting for BullMQ"],
  queue_modes: ['{"orders":"mirror"}', undefined],
  branch_name: ["main", undefined],
  mysql_branch_names: [names, "database branches"],
  pg_branch_names: [names, "database branches"],
  mongodb_branch_names: [names, "database branches"],
  branch_db_names: [names, "database branches"],
  session_ci_info: ['{"provider":"gh"}', undefined],
  up_session_info: ['{"autoQueueSplitting":true}', undefined],
  is_default_cluster: ["true", undefined],
  sqs_output_queues: [renames, "queue splitting for temporary queues of another operator"],
  rmq_output_queues: [renames, "queue splitting for temporary queues of another operator"],
  multi_cluster: ["true", undefined],
  output_tmp_resources: ['[{"queueId":"orders"}]', "queue splitting for temporary queues of another operator"],
  key: ["0a1b2", undefined],
  header_filter: ["x-user: ann", undefined]
}

describe("features that the operator does not serve", () => {
  it.each(parameterNames.map((name) => [name, ...table[name]] as const))("%s=%s: %s", (name, value, told) => {
    const found = refusals([[name, value]])
    expect(found).toHaveLength(told === undefined ? 0 : 1)
    if (told !== undefined) expect(found[0]).toContain(`does not serve ${told} (connect parameter ${name})`)
  })

  it("are told with what would happen, and where to turn them off", () => {
    expect(refusals([["rmq_splits", split]])).toEqual([
      "This operator does not serve queue splitting for RabbitMQ (connect parameter rmq_splits): without it the " +
        "program would read messages of everybody. Take it out of feature.split_queues."
    ])
  })

  it("are told once each, with all parameters that ask for them", () => {
    const found = refusals([
      ["pg_branch_names", names],
      ["sqs_jq_filters", jq],
      ["branch_db_names", names]
    ])
    expect(found).toHaveLength(2)
    expect(found.join(" ")).toContain("database branches (connect parameter pg_branch_names, branch_db_names)")
  })

  it("are not asked for by empty lists and maps", () => {
    const empty: ReadonlyArray<readonly [string, string]> = [
      ["sqs_splits", "{}"],
      ["pg_branch_names", "[]"],
      ["output_tmp_resources", "[]"]
    ]
    expect(refusals(empty)).toEqual([])
  })

  it("are left out in silence where `mirrord up` asks for any queue, and only there", () => {
    const any = '{"*":".a"}'
    const up = ["up_session_info", '{"autoQueueSplitting":true}'] as const
    expect(refusals([["sqs_jq_filters", any], up])).toEqual([])
    expect(refusals([["sqs_jq_filters", any]])).toHaveLength(1)
    expect(refusals([["sqs_jq_filters", '{"*":".a","orders":".b"}'], up])).toHaveLength(1)
  })

  it("do not depend on the order of the parameters", () => {
    const entries = Object.entries(table).map(([name, [value]]): [string, string] => [name, value])
    const all = refusals(entries)
    expect(all).toHaveLength(10)
    fc.assert(
      fc.property(fc.shuffledSubarray(entries, { minLength: entries.length }), (shuffled) => {
        expect(refusals(shuffled)).toEqual(all)
      })
    )
  })
})
