/**
 * S4 (failures.md §1.4, §4.24). Answers are counted by kind of request. Their order is checked at its source: the
 * stateful answers that a client hears are, byte for byte, the beginning of what the default agent said.
 */

import { clientMessage } from "../../../src/domain/protocol/client-message.ts"
import { clientTag, daemonTag, peekClient, peekDaemon } from "../../../src/domain/protocol/peek.ts"
import { answerOf } from "../../client/file-requests.ts"
import type { SimClient } from "../world/sim-client.ts"
import type { Invariant } from "./invariant.ts"
import { statefulTraffic } from "./stateful-traffic.ts"
import { waitsForEver } from "./waits-for-ever.ts"

/** Kinds of requests whose answers are matched by their order alone. */
type Kind = "ping" | "version switch" | "file request" | "environment" | "lookup" | "port subscription"

const requestKind = (bytes: Uint8Array): Kind | undefined => {
  switch (peekClient(bytes)) {
    case "Tcp.PortSubscribe":
    case "Tcp.PortSubscribeFilteredHttp":
    case "TcpSteal.PortSubscribe":
      return "port subscription"
    case "GetEnvVarsRequest":
      return "environment"
    case "Ping":
      return "ping"
    case "GetAddrInfoRequest":
    case "GetAddrInfoRequestV2":
      return "lookup"
    case "SwitchProtocolVersion":
      return "version switch"
    default:
      return isAnsweredFileRequest(bytes) ? "file request" : undefined
  }
}

const isAnsweredFileRequest = (bytes: Uint8Array): boolean => {
  if (clientTag(bytes) !== "FileRequest") return false
  const decoded = clientMessage.decode(bytes)
  return (
    decoded._tag === "Decoded" && decoded.value._tag === "FileRequest" && answerOf(decoded.value.value) !== undefined
  )
}

const answerKind = (bytes: Uint8Array): Kind | undefined => {
  switch (daemonTag(bytes)) {
    case "Tcp":
    case "TcpSteal":
      return peekDaemon(bytes)?.endsWith(".SubscribeResult") === true ? "port subscription" : undefined
    case "File":
      return "file request"
    case "Pong":
      return "ping"
    case "GetEnvVarsResponse":
      return "environment"
    case "GetAddrInfoResponse":
      return "lookup"
    case "SwitchProtocolVersionResponse":
      return "version switch"
    default:
      return undefined
  }
}

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
      each: (event) => {
        const passed = traffic.take(event)
        if (passed?._tag !== "ClientHeard") return undefined
        const { client, connection, heard } = passed.client
        return [...(traffic.servers.get(connection) ?? [])].some(({ said }) => heard.isStartOf(said))
          ? undefined
          : `Answer ${heard.length} that ${client} hears is not what the default agent said as its number ` +
              `${heard.length}.`
      },
      on: {
        ClientConnected: ({ client, connection }) =>
          void counts.set(connection, { client, owed: new Map(), open: true }),
        ClientLost: ({ connection }) => {
          const count = counts.get(connection)
          if (count !== undefined) count.open = false
        },
        ClientEnded: ({ client }) => {
          for (const count of counts.values()) if (count.client === client) count.open = false
        },
        ClientSaid: ({ at, bytes, connection }) => {
          const kind = requestKind(bytes)
          const owed = counts.get(connection)?.owed
          if (kind === undefined || owed === undefined) return
          const { count, since } = owed.get(kind) ?? { count: 0, since: at }
          owed.set(kind, { count: count + 1, since: count === 0 ? at : since })
        },
        ClientHeard: ({ at, bytes, client, connection }) => {
          const kind = answerKind(bytes)
          if (kind === undefined) return undefined
          const owed = counts.get(connection)?.owed.get(kind)
          if (owed === undefined || owed.count === 0) return `${client} hears a surplus answer to a ${kind}.`
          owed.count--
          owed.since = at
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
