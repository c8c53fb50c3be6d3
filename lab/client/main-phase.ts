/**
 * The reaction of a strict client past its handshake to each message: columns E to I of wire.md §6.2. The handshake is
 * in `client.ts`.
 */

import type { DaemonMessage } from "../../src/domain/protocol/daemon-message.ts"
import { gate } from "../../src/domain/protocol/version.ts"
import { event, fatal, send, speaks, type Turn, update } from "./client-state.ts"
import { fileAnswer } from "./file-requests.ts"
import { incomingTraffic } from "./incoming-traffic.ts"
import { envAnswer, lookupAnswer } from "./lookups.ts"
import { outgoingMessage } from "./outgoing-connections.ts"
import { pong } from "./ping-pong.ts"
import { dumpResult, resubscribe, subscribeResult } from "./port-subscriptions.ts"

type MainKind = "intproxy" | "portForward" | "reversePortForward" | "dump" | "extproxy"
const columns: Readonly<Record<MainKind, string>> = {
  intproxy: "E",
  portForward: "F",
  reversePortForward: "G",
  dump: "H",
  extproxy: "I"
}

/** The kinds of clients that take a message at all; all kinds take pongs, logs, operator pings and Close. */
const takenBy: Readonly<
  Record<Exclude<DaemonMessage["_tag"], "Pong" | "OperatorPing" | "LogMessage" | "Close">, ReadonlyArray<MainKind>>
> = {
  SwitchProtocolVersionResponse: ["intproxy"],
  GetEnvVarsResponse: ["intproxy"],
  Tcp: ["intproxy", "reversePortForward", "dump"],
  TcpSteal: ["intproxy", "reversePortForward"],
  TcpOutgoing: ["intproxy", "portForward"],
  UdpOutgoing: ["intproxy"],
  SeqpacketOutgoing: ["intproxy"],
  File: ["intproxy"],
  GetAddrInfoResponse: ["intproxy", "portForward"],
  PauseTarget: [],
  Vpn: [],
  ReverseDnsLookup: []
}

export const operatorPing = (turn: Turn, id: bigint): void => {
  event(turn, { _tag: "OperatorPing", id })
  send(turn, "main", { _tag: "OperatorPong", value: id })
}

/** Every version answer counts, the last one wins, and each is answered by `ReadyForLogs` (wire.md §5.4). */
const versioned = (turn: Turn, version: string): void => {
  const first = turn.state.version === undefined
  update(turn, { version, announces: version })
  event(turn, { _tag: "Versioned", version })
  if (speaks(turn.state, gate.readyForLogs)) send(turn, "main", { _tag: "ReadyForLogs" })
  if (first) resubscribe(turn)
}

export const mainMessage = (turn: Turn, kind: MainKind, message: DaemonMessage): void => {
  const column = columns[kind]
  switch (message._tag) {
    case "Pong":
      return pong(turn)
    case "OperatorPing":
      return operatorPing(turn, message.value)
    case "LogMessage": {
      const { level, message: text } = message.value
      if (kind === "extproxy" && level._tag === "Info") return fatal(turn, "wire.md §6.2 I", "an Info log line")
      return event(turn, { _tag: "Log", level: level._tag, message: text })
    }
    case "Close":
      return fatal(turn, `wire.md §6.2 ${column}`, `the session was closed: ${message.value}`)
    default:
      return takenBy[message._tag].includes(kind)
        ? answer(turn, kind, message)
        : fatal(turn, `wire.md §6.2 ${column}`, `unexpected message ${message._tag}`)
  }
}

/** Messages that only clients of some kinds take. */
const answer = (turn: Turn, kind: MainKind, message: DaemonMessage): void => {
  switch (message._tag) {
    case "SwitchProtocolVersionResponse":
      return versioned(turn, message.value)
    case "GetEnvVarsResponse":
      return envAnswer(turn, message)
    case "GetAddrInfoResponse":
      return lookupAnswer(turn, message)
    case "File":
      return fileAnswer(turn, message.value)
    case "TcpOutgoing":
    case "UdpOutgoing":
    case "SeqpacketOutgoing":
      return outgoingMessage(turn, message)
    case "Tcp":
    case "TcpSteal":
      if (message.value._tag !== "SubscribeResult") return incomingTraffic(turn, message._tag, message.value)
      return kind === "dump" ? dumpResult(turn, message.value.value) : subscribeResult(turn, message.value.value)
  }
}
