/**
 * Port subscriptions of the strict client, and their results, which are matched by port number only (wire.md §6.6,
 * §6.9).
 */

import type { ClientMessage } from "../../src/domain/protocol/client-message.ts"
import type { StealType } from "../../src/domain/protocol/http-filter-messages.ts"
import type { BlockedAction, ResponseError } from "../../src/domain/protocol/response-error.ts"
import type { ResultOf } from "../../src/domain/protocol/shape.ts"
import { gate } from "../../src/domain/protocol/version.ts"
import type { Channel, ClientRequest } from "./client-input.ts"
import { event, fatal, mapWith, mapWithout, notDone, send, speaks, type Turn, update } from "./client-state.ts"

const stealPort = (type: StealType): number => (type._tag === "All" ? type.value : type.port)

type Subscribing = Extract<ClientRequest, { readonly _tag: "Steal" | "Mirror" }>

/**
 * The message of a subscription. Mirroring with a filter falls back to mirroring everything where the version is too
 * old (wire.md §5.2).
 */
const messageOf = (turn: Turn, request: Subscribing): ClientMessage => {
  if (request._tag === "Steal") return { _tag: "TcpSteal", value: { _tag: "PortSubscribe", value: request.type } }
  const { port, filter } = request
  return filter === undefined || !speaks(turn.state, gate.mirrorHttpFilter)
    ? { _tag: "Tcp", value: { _tag: "PortSubscribe", value: port } }
    : { _tag: "Tcp", value: { _tag: "PortSubscribeFilteredHttp", port, filter } }
}

export const subscribe = (turn: Turn, request: Subscribing): void => {
  const channel: Channel = request._tag === "Steal" ? "TcpSteal" : "Tcp"
  const port = request._tag === "Steal" ? stealPort(request.type) : request.port
  const known = turn.state.subscriptions.get(port)
  const { subscriptions } = turn.state
  // There is one subscription per port and process tree; further listeners are served locally.
  if (known?.confirmed) return event(turn, { _tag: "Subscribed", port, calls: 1, result: { _tag: "Ok" } })
  if (known !== undefined)
    return update(turn, { subscriptions: mapWith(subscriptions, port, { ...known, calls: known.calls + 1 }) })
  update(turn, { subscriptions: mapWith(subscriptions, port, { channel, confirmed: false, calls: 1, request }) })
  // On a new socket subscriptions wait for the version answer, and then all of them are sent (wire.md §5.5).
  if (turn.state.version !== undefined) send(turn, "incoming", messageOf(turn, request))
}

/** Called when the last listener of the port is closed. */
export const unsubscribe = (turn: Turn, request: Extract<ClientRequest, { readonly _tag: "Unsubscribe" }>): void => {
  const known = turn.state.subscriptions.get(request.port)
  if (known === undefined) return notDone(turn, request, "the port is not subscribed")
  update(turn, { subscriptions: mapWithout(turn.state.subscriptions, request.port) })
  send(turn, "incoming", { _tag: known.channel, value: { _tag: "PortUnsubscribe", value: request.port } })
}

/** After a reconnect and its version answer all subscriptions are sent again. */
export const resubscribe = (turn: Turn): void => {
  for (const [port, known] of turn.state.subscriptions) {
    update(turn, { subscriptions: mapWith(turn.state.subscriptions, port, { ...known, confirmed: false }) })
    send(turn, "incoming", messageOf(turn, known.request))
  }
}

const settle = (turn: Turn, port: number, error: ResponseError | undefined): void => {
  const known = turn.state.subscriptions.get(port)
  if (known === undefined || known.confirmed) {
    return event(turn, { _tag: "Ignored", what: "surplusResult", message: "TcpSteal" })
  }
  const { subscriptions } = turn.state
  update(turn, {
    subscriptions:
      error === undefined
        ? mapWith(subscriptions, port, { ...known, confirmed: true, calls: 0 })
        : mapWithout(subscriptions, port)
  })
  const result = error === undefined ? ({ _tag: "Ok" } as const) : ({ _tag: "Err", error } as const)
  event(turn, { _tag: "Subscribed", port, calls: known.calls, result })
}

const blockedPort = (action: BlockedAction): number | undefined => {
  switch (action._tag) {
    case "Steal":
      return stealPort(action.value)
    case "Mirror":
      return action.value
    case "OutgoingTcp":
    case "OutgoingUdp":
      return undefined
  }
}

/** Takes a `SubscribeResult`; to the intproxy the channel of the result makes no difference. */
export const subscribeResult = (turn: Turn, result: ResultOf<number, ResponseError>): void => {
  if (result._tag === "Ok") return settle(turn, result.value, undefined)
  const { error } = result
  switch (error._tag) {
    case "PortAlreadyStolen":
      return settle(turn, error.value, error)
    case "Forbidden":
    case "ForbiddenWithReason": {
      const port = blockedPort(error.blockedAction)
      if (port === undefined) return event(turn, { _tag: "Ignored", what: "wrongAction", message: "TcpSteal" })
      if (turn.state.subscriptions.get(port)?.confirmed) {
        return fatal(turn, "wire.md §6.9 Forbidden", `port ${port} is forbidden although it is confirmed`)
      }
      return settle(turn, port, error)
    }
    default:
      return fatal(turn, "wire.md §6.9 any other Err", `a subscription failed with ${error._tag}`)
  }
}

/** Dump only counts results: any error, and any result after all ports were confirmed, ends it (wire.md §6.4). */
export const dumpResult = (turn: Turn, result: ResultOf<number, ResponseError>): void => {
  if (result._tag === "Err") return fatal(turn, "wire.md §6.4", `a subscription failed with ${result.error._tag}`)
  const pending = turn.state.subscriptions.entries().find(([, known]) => !known.confirmed)
  if (pending === undefined) return fatal(turn, "wire.md §6.4", `a surplus result for port ${result.value}`)
  // Only the number of results counts, not the port that a result names.
  settle(turn, turn.state.subscriptions.get(result.value)?.confirmed === false ? result.value : pending[0], undefined)
}
