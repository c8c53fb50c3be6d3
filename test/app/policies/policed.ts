import { Effect } from "effect"
import { type ClientMessage, clientMessage } from "../../../src/domain/protocol/client-message.ts"
import { type DaemonMessage, daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import { mirrordClusterPolicies, mirrordPolicies } from "../../../src/domain/resources/policies/mirrord-policies.ts"
import type { FrameChannel } from "../../../src/ports/frame-channel.ts"
import { pass } from "../../support/connect-request.ts"
import type { MemoryCluster } from "../../support/memory-world.ts"

/** A policy of a namespace, or of the whole cluster. */
export const allow = (cluster: MemoryCluster, name: string, spec: object, namespace?: string): void => {
  cluster.api.write(
    namespace === undefined ? mirrordClusterPolicies : mirrordPolicies,
    name,
    { spec: { block: [], ...spec } },
    namespace
  )
}

/** A client that went through its handshake, and the messages that it got since. */
export const client = Effect.fnUntraced(function* (channel: FrameChannel) {
  const got: Array<DaemonMessage> = []
  let ended: string | undefined
  channel.open({
    message: (bytes) => {
      const decoded = daemonMessage.decode(bytes)
      if (decoded._tag === "Decoded") got.push(decoded.value)
    },
    ended: (reason) => {
      ended = reason
    },
    drained: () => {},
    ignored: () => {}
  })
  const say = (message: ClientMessage) =>
    Effect.andThen(
      Effect.sync(() => channel.send(clientMessage.encode(message))),
      pass("1 second")
    )
  yield* say({ _tag: "SwitchProtocolVersion", value: "1.29.0" })
  yield* say({ _tag: "ReadyForLogs" })
  return { got, say, ended: () => ended }
})

export const steal: ClientMessage = {
  _tag: "TcpSteal",
  value: { _tag: "PortSubscribe", value: { _tag: "All", value: 80 } }
}
export const refusalOf = (got: ReadonlyArray<DaemonMessage>) => {
  for (const message of got) {
    if (message._tag !== "TcpSteal" || message.value._tag !== "SubscribeResult") continue
    const { value: result } = message.value
    if (result._tag === "Err" && result.error._tag === "ForbiddenWithReason") return result.error
  }
  return undefined
}

export const logs = (got: ReadonlyArray<DaemonMessage>): ReadonlyArray<string> =>
  got.flatMap((message) => (message._tag === "LogMessage" ? [message.value.message] : []))
