/**
 * The counts of the relay, as plain numbers: a frame must not cost more than an addition. Shown as metrics beside those
 * that metrics.ts counts.
 */

import { Context } from "effect"
import type { Sample } from "../../domain/metrics/catalogue.ts"
import { type DropReason, dropReasons } from "../../domain/relay/state.ts"
import type { Tally } from "../../ports/frame-channel.ts"

const noMessages = (): Tally => ({ messages: 0, bytes: 0 })

export class RelayCounts {
  /** Messages of all connections, by their sender. */
  readonly received = { client: noMessages(), member: noMessages() }
  /** Reads since the last one that was timed (relay/added-latency.ts), by the sender of their messages. */
  readonly untimed = { client: 0, member: 0 }
  readonly dropped = Object.fromEntries(dropReasons.map((reason) => [reason, 0])) as Record<DropReason, number>
  /** Connections to members, by the router's word for these. */
  readonly links = { cluster: { opened: 0, lost: 0 }, agent: { opened: 0, lost: 0 } }

  readonly samples = (): ReadonlyArray<Sample> => [
    ...Object.entries(this.received).flatMap(([from, { bytes, messages }]): ReadonlyArray<Sample> => [
      { name: "braid_messages_total", labels: { from }, value: messages },
      { name: "braid_message_bytes_total", labels: { from }, value: bytes }
    ]),
    ...Object.entries(this.dropped).map(([reason, value]): Sample => ({
      name: "braid_dropped_messages_total",
      labels: { reason },
      value
    })),
    ...Object.entries(this.links).flatMap(([to, { lost, opened }]): ReadonlyArray<Sample> => [
      { name: "braid_links_opened_total", labels: { to }, value: opened },
      { name: "braid_links_lost_total", labels: { to }, value: lost }
    ])
  ]
}

/** The counts of this process, unless others are provided. */
export const CurrentRelayCounts = Context.Reference("braid/app/CurrentRelayCounts", {
  defaultValue: () => new RelayCounts()
})
