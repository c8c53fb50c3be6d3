/**
 * Orders of the leader about queues that replicas share, and the reports of their owners: texts of one ConfigMap for
 * each queue of a workload. The pump of a queue is the loop that forwards its messages.
 *
 * Not here: which replica owns a queue (domain/sharding), and forwarding (app/queues).
 */

import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { shardLeaseLabels } from "../sharding/shard-leases.ts"
import type { ForwardingTable } from "./observed-split.ts"
import { queueFailureReasons, sessionEnds } from "./queue-failure-reason.ts"
import { SplitPlace } from "./split-place.ts"
import { Source } from "./stored-split.ts"

/** Label on the ConfigMaps, and their entries. */
export const pumpLabel = "operator.metalbear.co/queue-pump"
export const orderEntry = "order"
export const reportEntry = "report"

/** The name of the ConfigMap and of the Lease of a queue. `identity`: {@link SplitSource.identity}. */
export const pumpName = (identity: string, sha256Hex: (text: string) => string): string =>
  `mirrord-operator-queue-${sha256Hex(identity).slice(0, 32)}`

/** Annotation on both that names the queue for people. */
const queueAnnotation = "operator.metalbear.co/queue"

/** Further metadata of the Lease of a queue. `queue`: its URL; `undefined` while it is not known. */
export const pumpLeaseMetadata = (queue: string | undefined) => ({
  labels: shardLeaseLabels("queue"),
  ...(queue !== undefined && { annotations: { [queueAnnotation]: queue } })
})

const Session = { id: Schema.BigIntFromString, startedAt: Schema.Number, mode: Schema.Literals(["steal", "mirror"]) }

const Table = Schema.Struct({
  source: Source,
  main: Schema.String,
  routes: Schema.Array(
    Schema.Struct({ ...Session, uid: Schema.String, ids: Schema.Array(Schema.String), queue: Schema.String })
  )
})

const Destination = Schema.Struct({
  url: Schema.String,
  isFifo: Schema.Boolean,
  maximumMessageSize: Schema.Number,
  sessionKey: Schema.optional(Schema.String)
})

const Pumping = Schema.Struct({
  source: Schema.Struct({
    url: Schema.String,
    isFifo: Schema.Boolean,
    sns: Schema.Boolean,
    jqLimit: Schema.Number,
    /** `undefined` stands for no. */
    s3Event: Schema.optional(Schema.Boolean)
  }),
  main: Destination,
  /** Once for each filter. */
  sessions: Schema.Array(
    Schema.Struct({
      ...Session,
      attributes: Schema.Record(Schema.String, Schema.String),
      program: Schema.optional(Schema.String),
      queue: Destination,
      k8sUser: Schema.String,
      localUser: Schema.String
    })
  )
})

const Order = Schema.Struct({
  /** Grows with each order about the queue. */
  number: Schema.Int,
  /** The workload whose split the order is for. */
  place: SplitPlace,
  table: Table,
  /** All that the table's pump needs; without it there is to be no pump. */
  pumping: Schema.optional(Pumping),
  /** Queues to which pumps by earlier orders may still send. */
  left: Schema.Array(Schema.String)
})
export type PumpOrder = typeof Order.Type

const Report = Schema.Struct({
  /** The order by which batches begin. */
  number: Schema.Int,
  /** Queues of earlier orders to which a batch under way may still send. */
  stillSendsTo: Schema.Array(Schema.String),
  /** The sessions of the order that get nothing more. */
  ended: Schema.Array(
    Schema.Struct({
      session: Schema.BigIntFromString,
      queue: Schema.String,
      end: Schema.Literals(sessionEnds),
      detail: Schema.String
    })
  ),
  /** Why the pump has ended by itself. */
  failed: Schema.optional(
    Schema.Struct({
      operation: Schema.String,
      queue: Schema.String,
      reason: Schema.Literals(queueFailureReasons),
      detail: Schema.String
    })
  )
})
export type PumpReport = typeof Report.Type

const OrderText = Schema.fromJsonString(Order)
const ReportText = Schema.fromJsonString(Report)

export const orderText = Schema.encodeSync(OrderText)
export const reportText = Schema.encodeSync(ReportText)

const readOrderText = Schema.decodeUnknownOption(OrderText)
const readReportText = Schema.decodeUnknownOption(ReportText)

/** `undefined` for a text that is no order, as of another release. */
export const readOrder = (text: unknown): PumpOrder | undefined => Option.getOrUndefined(readOrderText(text))

/** `undefined` for a text that is no report, and while there is none. */
export const readReport = (text: unknown): PumpReport | undefined => Option.getOrUndefined(readReportText(text))

const queuesOf = ({ main, routes }: Pick<ForwardingTable, "main" | "routes">): ReadonlyArray<string> => [
  main,
  ...routes.map(({ queue }) => queue)
]

/** Whether the queue's owner goes by an order. */
export const isTaken = ({ number }: PumpOrder, report: PumpReport | undefined): boolean => report?.number === number

/** Queues beside those of the order's table to which a pump may send now. */
export const mayStillSendTo = (order: PumpOrder, report: PumpReport | undefined): ReadonlyArray<string> =>
  report !== undefined && isTaken(order, report) ? report.stillSendsTo : order.left

/** The order after another one. `pumping`: `undefined` ends the pump. */
export const nextOrder = (
  before: PumpOrder,
  report: PumpReport | undefined,
  { pumping, table }: Pick<PumpOrder, "pumping" | "table">
): PumpOrder => {
  const next = new Set(queuesOf(table))
  const earlier = new Set([...mayStillSendTo(before, report), ...queuesOf(before.table)])
  return {
    number: before.number + 1,
    place: before.place,
    table,
    pumping,
    left: [...earlier].filter((queue) => !next.has(queue))
  }
}
