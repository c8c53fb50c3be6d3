/**
 * S4 (failures.md §1.4, §4.24). Answers are counted by kind of request. Their order is checked at its source: the
 * stateful answers that a client hears are, byte for byte, the beginning of what the default agent said.
 */

import { clientMessage } from "../../../src/domain/protocol/client-message.ts"
import { answerOf } from "../../client/file-requests.ts"
import type { SimClient } from "../world/sim-client.ts"
import type { Invariant } from "./invariant.ts"
import { statefulTraffic } from "./stateful-traffic.ts"
import { waitsForEver } from "./waits-for-ever.ts"

/** Kinds of requests whose answers are matched by their order alone. */
type Kind = "ping" | "version switch" | "file request" | "environment" | "lookup" | "port subscription"

/** Kind of request that a message answers, by its first byte. */
const answers: Readonly<Partial<Record<number, Kind>>> = {
  6: "file request",
  7: "ping",
  8: "environment",
  9: "lookup",
  11: "version switch"
}

const requestKind = (bytes: Uint8Array): Kind | undefined => {
  switch (bytes[0]) {
    case 1:
      // PortSubscribe and PortSubscribeFilteredHttp.
      return bytes[1] === 0 || bytes[1] === 3 ? "port subscription" : undefined
    case 2:
      return bytes[1] === 0 ? "port subscription" : undefined
    case 5: {
      const decoded = clientMessage.decode(bytes)
      const isAnswered =
        decoded._tag === "Decoded" &&
        decoded.value._tag === "FileRequest" &&
        answerOf(decoded.value.value) !== undefined
      return isAnswered ? "file request" : undefined
    }
    case 6:
      return "environment"
    case 7:
      return "ping"
    case 8:
    case 13:
      return "lookup"
    case 10:
      return "version switch"
    default:
      return undefined
  }
}

/** A SubscribeResult has the fourth tag in both channels. */
const answerKind = (bytes: Uint8Array): Kind | undefined =>
  bytes[0] === 1 || bytes[0] === 2 ? (bytes[1] === 3 ? "port subscription" : undefined) : answers[bytes[0] ?? 255]

/** How long a request may wait for its answer where nothing is broken, ms. */
const patience = 30_000

interface Count {
  readonly client: string
  readonly owed: Map<Kind, { count: number; since: number }>
  open: boolean
}

const isStuck = (client: SimClient | undefined): boolean => client !== undefined && waitsForEver(client)

export const oneAnswerInOrder: Invariant = {
  id: "S4",
  sentence: "A client gets one answer for each request, in the order of its requests.",
  begin: (world) => {
    const traffic = statefulTraffic(world)
    const counts = new Map<number, Count>()
    return {
      on: (event) => {
        const passed = traffic.take(event)
        switch (event._tag) {
          case "ClientConnected":
            counts.set(event.connection, { client: event.client, owed: new Map(), open: true })
            return undefined
          case "ClientLost": {
            const count = counts.get(event.connection)
            if (count !== undefined) count.open = false
            return undefined
          }
          case "ClientEnded":
            for (const count of counts.values()) if (count.client === event.client) count.open = false
            return undefined
          case "ClientSaid": {
            const kind = requestKind(event.bytes)
            const count = counts.get(event.connection)
            if (kind === undefined || count === undefined) return undefined
            const owed = count.owed.get(kind)
            if (owed === undefined) count.owed.set(kind, { count: 1, since: event.at })
            else {
              if (owed.count === 0) owed.since = event.at
              owed.count++
            }
            return undefined
          }
          case "ClientHeard": {
            if (passed?._tag === "ClientHeard") {
              const { client } = passed
              const servers = [...(traffic.servers.get(client.connection) ?? [])]
              if (!servers.some(({ said }) => client.heard.isStartOf(said))) {
                return (
                  `Answer ${client.heard.length} that ${client.client} hears is not what the default agent said as ` +
                  `its number ${client.heard.length}.`
                )
              }
            }
            const kind = answerKind(event.bytes)
            if (kind === undefined) return undefined
            const owed = counts.get(event.connection)?.owed.get(kind)
            if (owed === undefined || owed.count === 0) return `${event.client} hears a surplus answer to a ${kind}.`
            owed.count--
            owed.since = event.at
            return undefined
          }
          default:
            return undefined
        }
      },
      atRest: (moment) => {
        if (moment === "left") return []
        const due = world().now - patience
        return [...counts.values()].flatMap(({ client, open, owed }) =>
          open && !isStuck(world().clients.get(client))
            ? [...owed].flatMap(([kind, { count, since }]) =>
                count > 0 && since < due ? [`${client} still waits for ${count} answers to a ${kind}.`] : []
              )
            : []
        )
      }
    }
  }
}
