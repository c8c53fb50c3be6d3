/**
 * Outgoing connections of one client of the reference agent: ids, order of answers, limits. The sockets are made in
 * `dial.ts`; the simulated agent uses the same class with echoing peers.
 */

import type { SocketAddress } from "../../../src/domain/protocol/network-messages.ts"
import type { LayerTcpOutgoing } from "../../../src/domain/protocol/outgoing-messages.ts"
import { type After, type AgentOutput, err, ok } from "../agent-output.ts"
import { agentError } from "../io-errors.ts"
import { describeError } from "../node-errors.ts"
import type { Dial, Dialled, Peer } from "./peer.ts"

/** Time-outs and limits of agent.md §4.3. */
export interface OutgoingLimits {
  readonly connectTimeoutMs: number
  readonly writeTimeoutMs: number
  /** Bytes that may wait for slow peers before the client's messages are no longer read. */
  readonly bufferedBytes: number
}

const outgoingLimits: OutgoingLimits = {
  connectTimeoutMs: 5000,
  writeTimeoutMs: 30_000,
  bufferedBytes: 512 * 1024
}

interface Connection {
  readonly peer: Peer
  /** Whether the client has half-closed. If the peer ends after that, the client is told by the `Close` alone. */
  ended: boolean
  paused: boolean
}

/**
 * The outgoing connections of one protocol and client (wire.md §7.2, §7.3). Ids count from 0; legacy connects run one
 * after the other; connects with a uid are answered in the order in which they complete.
 */
export class AgentOutgoing {
  readonly #channel: "TcpOutgoing" | "UdpOutgoing"
  readonly #output: AgentOutput
  readonly #dial: Dial
  readonly #after: After
  readonly #limits: OutgoingLimits
  readonly #connections = new Map<bigint, Connection>()
  readonly #dialling = new Set<() => void>()
  readonly #legacy: Array<SocketAddress> = []
  #legacyBusy = false
  #next = 0n
  #buffered = 0
  #release: (() => void) | undefined
  #closed = false

  constructor(
    channel: "TcpOutgoing" | "UdpOutgoing",
    output: AgentOutput,
    dial: Dial,
    { after, limits = outgoingLimits }: { readonly after: After; readonly limits?: OutgoingLimits }
  ) {
    this.#channel = channel
    this.#output = output
    this.#dial = dial
    this.#after = after
    this.#limits = limits
  }

  /** Handles a message; TCP and UDP messages have the same form. */
  handle(message: LayerTcpOutgoing): void {
    switch (message._tag) {
      case "Connect":
        this.#legacy.push(message.value.remoteAddress)
        return this.#nextLegacy()
      case "ConnectV2": {
        const { uid, remoteAddress } = message.value
        return this.#connect(remoteAddress, (dialled) => {
          const { result: connect, start } = this.#admit(dialled)
          this.#output.send({ _tag: this.#channel, value: { _tag: "ConnectV2", value: { uid, connect } } })
          start()
        })
      }
      case "Write":
        return this.#write(message.value.connectionId, message.value.bytes)
      case "Close": {
        const connection = this.#connections.get(message.value.connectionId)
        this.#connections.delete(message.value.connectionId)
        return connection?.peer.close()
      }
    }
  }

  /** The client is gone. */
  close(): void {
    this.#closed = true
    for (const cancel of this.#dialling) cancel()
    for (const { peer } of this.#connections.values()) peer.destroy()
    this.#connections.clear()
    this.#legacy.length = 0
  }

  #nextLegacy(): void {
    if (this.#legacyBusy) return
    const address = this.#legacy.shift()
    if (address === undefined) return
    this.#legacyBusy = true
    this.#connect(address, (dialled) => {
      const connect = this.#admit(dialled)
      this.#output.send({ _tag: this.#channel, value: { _tag: "Connect", value: connect.result } })
      connect.start()
      this.#legacyBusy = false
      this.#nextLegacy()
    })
  }

  #connect(address: SocketAddress, result: (dialled: Dialled) => void): void {
    let settled = false
    // A dial may give its result before it returns.
    let stopClock: () => void = () => undefined
    let cancel: () => void = () => undefined
    const settle = (dialled: Dialled): void => {
      if (settled || this.#closed) {
        if (dialled._tag === "Open") dialled.peer.destroy()
        return
      }
      settled = true
      stopClock()
      this.#dialling.delete(cancel)
      result(dialled)
    }
    const attempt = this.#dial(address, (dialled) => settle(dialled))
    if (settled) return
    stopClock = this.#after(this.#limits.connectTimeoutMs, () => {
      attempt.cancel()
      settle({ _tag: "Failed", error: agentError("TimedOut") })
    })
    cancel = () => {
      stopClock()
      attempt.cancel()
    }
    this.#dialling.add(cancel)
  }

  /**
   * Gives a new connection its id. The caller must call `start` after the answer is sent, so that no data comes before
   * it.
   */
  #admit(dialled: Dialled) {
    if (dialled._tag === "Failed") return { result: err(dialled.error), start: () => undefined }
    const { peer } = dialled
    const connectionId = this.#next++
    const connection: Connection = { peer, ended: false, paused: false }
    this.#connections.set(connectionId, connection)
    const { remoteAddress, localAddress } = peer
    return {
      result: ok({ connectionId, remoteAddress, localAddress }),
      start: () => this.#start(connectionId, connection)
    }
  }

  #start(connectionId: bigint, connection: Connection): void {
    const isOpen = (): boolean => this.#connections.get(connectionId) === connection
    const read = (bytes: Uint8Array): void => {
      if (!isOpen()) return
      const value = ok({ connectionId, bytes })
      const keepsUp = this.#output.send({ _tag: this.#channel, value: { _tag: "Read", value } })
      if (keepsUp || connection.paused) return
      connection.paused = true
      connection.peer.pause()
      this.#output.drained(() => {
        connection.paused = false
        connection.peer.resume()
      })
    }
    connection.peer.start({
      data: (bytes) => {
        // An empty payload would say that the peer has ended.
        if (bytes.length > 0) read(bytes)
      },
      end: () => {
        if (!connection.ended) read(new Uint8Array(0))
      },
      close: (error) => {
        if (!isOpen()) return
        this.#connections.delete(connectionId)
        if (error !== undefined) {
          this.#output.log("Warn", `outgoing connection ${connectionId} failed: ${describeError(error)}`)
        }
        this.#output.send({ _tag: this.#channel, value: { _tag: "Close", value: connectionId } })
      }
    })
  }

  #write(connectionId: bigint, bytes: Uint8Array): void {
    const connection = this.#connections.get(connectionId)
    // Writes may be under way when a connection ends, so they are no mistake.
    if (connection === undefined || connection.ended) return
    if (bytes.length === 0) {
      connection.ended = true
      return connection.peer.end()
    }
    this.#buffered += bytes.length
    if (this.#buffered > this.#limits.bufferedBytes) this.#release ??= this.#output.hold()
    const stopClock = this.#after(this.#limits.writeTimeoutMs, () =>
      connection.peer.destroy(Object.assign(new Error("write timed out"), { errno: -110 }))
    )
    connection.peer.write(bytes, () => {
      stopClock()
      this.#buffered -= bytes.length
      if (this.#buffered > this.#limits.bufferedBytes) return
      this.#release?.()
      this.#release = undefined
    })
  }
}
