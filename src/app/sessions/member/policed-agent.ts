/**
 * Stands between a connection and one of its agents where policies hold at the agent's pod alone, and answers forbidden
 * subscriptions in the agent's place. The router then leaves this agent out, or refuses a subscription that is new.
 *
 * Not here: which policies these are, and what they forbid (domain/policies).
 */

import { Policing } from "../../../domain/policies/policing.ts"
import type { PolicyRules } from "../../../domain/policies/policy-rules.ts"
import { clientMessage } from "../../../domain/protocol/client-message.ts"
import { daemonMessage } from "../../../domain/protocol/daemon-message.ts"
import { stealPort } from "../../../domain/protocol/named-port.ts"
import { peekClient } from "../../../domain/protocol/peek.ts"
import type { FrameChannel, FrameHandlers } from "../../../ports/frame-channel.ts"
import { passedOn } from "../../kernel/guarded-channel.ts"

/** Asks an agent to end the subscription that a message makes or replaces; `undefined` for other messages. */
const endOfSubscription = (bytes: Uint8Array): Uint8Array | undefined => {
  const decoded = clientMessage.decode(bytes)
  if (decoded._tag !== "Decoded") return undefined
  const { value: message } = decoded
  const end = (_tag: "Tcp" | "TcpSteal", port: number): Uint8Array =>
    clientMessage.encode({ _tag, value: { _tag: "PortUnsubscribe", value: port } })
  if (message._tag === "TcpSteal" && message.value._tag === "PortSubscribe") {
    return end("TcpSteal", stealPort(message.value.value))
  }
  if (message._tag !== "Tcp") return undefined
  if (message.value._tag === "PortSubscribe") return end("Tcp", message.value.value)
  return message.value._tag === "PortSubscribeFilteredHttp" ? end("Tcp", message.value.port) : undefined
}

/** The connection to an agent, held to the policies of its pod. */
export const policedAgent = (channel: FrameChannel, policies: ReadonlyArray<PolicyRules>): FrameChannel => {
  const policing = Policing.of(policies)
  if (policing === undefined) return channel
  /** Answers from before the router listened. */
  const early: Array<Uint8Array> = []
  /** The ends of subscriptions that the agent may have, as text. */
  const begun = new Set<string>()
  let handlers: FrameHandlers | undefined
  const say = (bytes: Uint8Array): void => {
    if (handlers === undefined) early.push(bytes)
    else handlers.message(bytes)
  }
  const send = (bytes: Uint8Array): void => {
    if (!policing.rows.has(peekClient(bytes))) return channel.send(bytes)
    const found = policing.asked(bytes, (error) => error)
    const end = endOfSubscription(bytes)
    if (found._tag !== "Answered") {
      if (end !== undefined) begun.add(end.join())
      return channel.send(bytes)
    }
    // After a refusal the router believes that the agent has no subscription to the port.
    if (end !== undefined && begun.delete(end.join())) channel.send(end)
    for (const answer of found.answers) say(answer)
    if (found.warning === undefined) return
    say(daemonMessage.encode({ _tag: "LogMessage", value: { message: found.warning, level: { _tag: "Warn" } } }))
  }
  return {
    ...passedOn(channel),
    send,
    open: (given) => {
      channel.open(given)
      handlers = given
      for (const answer of early.splice(0)) say(answer)
    }
  }
}
