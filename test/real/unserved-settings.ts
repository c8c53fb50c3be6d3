/** Settings of mirrord's client that ask for something that this operator does not serve, and what their user hears. */

import { gzipSync } from "node:zlib"

/** The queues that the client can split, with their names in sentences, and the filters that it takes for them. */
const queues = {
  SQS: ["SQS", "message_filter", "jq_filter"],
  Kafka: ["Kafka", "message_filter", "jq_filter"],
  RMQ: ["RabbitMQ", "message_filter"],
  GCPPubSub: ["Google Pub/Sub", "message_filter", "jq_filter"],
  AzureServiceBus: ["Azure Service Bus", "message_filter", "jq_filter"],
  RedisPubSub: ["Redis Pub/Sub", "message_filter", "jq_filter"],
  Temporal: ["Temporal", "message_filter", "jq_filter"],
  BullMQ: ["BullMQ", "message_filter", "jq_filter"]
} as const

const filters = { message_filter: { user: "^ann$" }, jq_filter: '.user == "ann"' } as const

interface Unserved {
  readonly what: string
  /** The part of mirrord.json. */
  readonly config: object
  readonly sentence: string
}

/** A field of a protobuf message that is a text or a message. */
const field = (number: number, content: string | Buffer): Buffer =>
  Buffer.concat([Buffer.from([(number << 3) | 2, content.length]), Buffer.from(content)])

/** A `FileDescriptorSet` with the message `shop.Order`, which has no fields. */
const descriptors = field(
  1,
  Buffer.concat([field(1, "order.proto"), field(2, "shop"), field(4, field(1, "Order")), field(12, "proto3")])
)

const queueConfig = (queue_type: string, more: object): object => ({
  feature: { split_queues: { orders: { queue_type, ...more } } }
})

export const unservedQueues: ReadonlyArray<Unserved> = Object.entries(queues).flatMap(
  ([queue_type, [name, ...kinds]]) => {
    const rowOf = (kind: string, more: object, asked = `for ${name} `): Unserved => {
      const what = `${queue_type} ${kind}`
      return { what, config: queueConfig(queue_type, more), sentence: `does not serve queue splitting ${asked}` }
    }
    const unfiltered = { queue_mode: "mirror" }
    return [
      ...kinds.map((kind) => rowOf(kind, { [kind]: filters[kind] })),
      ...(queue_type === "Kafka"
        ? [
            rowOf("of protobuf messages", {
              jq_filter: filters.jq_filter,
              payload_protobuf: {
                message_type: "shop.Order",
                descriptor_base64: gzipSync(descriptors).toString("base64")
              }
            }),
            // The client asks for a copy then, and the request for it says the type.
            rowOf("without a filter", unfiltered)
          ]
        : []),
      // For RabbitMQ the client itself wants a filter.
      ...(queue_type === "RMQ" || queue_type === "Kafka"
        ? []
        : [rowOf("without a filter", unfiltered, "(connect parameter queue_modes)")])
    ]
  }
)

const notEnabled = (name: string): string => `Feature \`${name} branching\` is not enabled on the mirrord operator`
/** The client asks for no feature first, so the rights of developers are what stops it. */
const forbidden = "mirrord operator rejected database branching"

const url = { url: { type: "env", variable: "DB_HOST" } }

/** Every database of the client: the sentence. */
const databases = {
  pg: notEnabled("PostgreSQL"),
  mysql: notEnabled("MySQL"),
  mariadb: notEnabled("MariaDB"),
  mongodb: notEnabled("MongoDB"),
  cockroachdb: notEnabled("CockroachDB"),
  generic: "is not enabled on the mirrord operator",
  mssql: forbidden,
  redis: forbidden,
  dynamodb: forbidden,
  spanner: forbidden,
  clickhouse: forbidden
} as const

const generic = { image: "postgres:16", port: 5432, connection: { params: { host: "DB_HOST", port: "DB_PORT" } } }

export const unservedBranches: ReadonlyArray<Unserved> = Object.entries(databases).map(([type, sentence]) => ({
  what: type,
  config: { feature: { db_branches: [{ type, ...(type === "generic" ? generic : { connection: url }) }] } },
  sentence
}))
