/** Every connect parameter as a user's settings make it, and what has to be told about it. */

import type { ConnectParameterName } from "../../src/domain/sessions/connect-parameter-catalogue.ts"

/** Takes the messages of one user from a queue. */
export const split = '{"orders":{"user":"^ann$"}}'
const jq = '{"orders":".user == \\"ann\\""}'
const names = '["ann-branch"]'
const renames = '{"orders":"orders-tmp"}'

/** Each parameter of the client as a user's settings make it, and the feature whose absence must be told. */
export const parameterRows: Readonly<Record<ConnectParameterName, readonly [value: string, told: string | undefined]>> =
  {
    connect: ["true", undefined],
    on_concurrent_steal: ["override", undefined],
    profile: ["team/quiet", undefined],
    label_target: ['{"labels":{"app":"myapp"}}', undefined],
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
    queue_modes: ['{"orders":"mirror"}', "queue splitting"],
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
