/**
 * One client of the reference agent on one TCP connection. The operator is such a client; the user's mirrord is behind
 * it. Each kind of request is served in a folder of its own: `files`, `incoming`, `outgoing`, `dns`.
 */

import type { Duplex } from "node:stream"
import { clientMessage, ClientMessage } from "../../src/domain/protocol/client-message.ts"
import { daemonMessage, type DaemonMessage } from "../../src/domain/protocol/daemon-message.ts"
import type { FileRequest } from "../../src/domain/protocol/file-messages.ts"
import { minVersion, unannouncedVersion } from "../../src/domain/protocol/version.ts"
import type { AgentTarget } from "../cluster/node/agent-target.ts"
import { type After, type AgentOutput, ok } from "./agent-output.ts"
import { AgentDns } from "./dns/agent-dns.ts"
import { visibleEnvironment } from "./environment.ts"
import { AgentFiles } from "./files/agent-files.ts"
import type { AgentIncoming, IncomingOutcome } from "./incoming/agent-incoming.ts"
import { AgentOutgoing } from "./outgoing/agent-outgoing.ts"
import { dialDatagram, type DialSettings, dialStream, handleSeqpacket } from "./outgoing/dial.ts"
import { StreamDecoder } from "./stream-decoder.ts"
import { tooNew } from "./too-new.ts"

/** The parts of an agent that all its clients share. */
export interface AgentSurroundings {
  readonly target: AgentTarget
  /** The version that the agent plays: it knows nothing newer. */
  readonly protocolVersion: string
  /** `undefined` in a targetless agent. */
  readonly incoming: AgentIncoming | undefined
  readonly dial: DialSettings
  readonly after: After
  readonly log: (line: string) => void
}

const noMirroring =
  "component responsible for mirroring incoming traffic is not running, which might be due to Kubernetes node kernel " +
  "version <4.20. Check agent logs for errors and please report a bug if kernel version >=4.20"
const noStealing = "incoming traffic stealing is not available in the targetless mode"

/** Messages that are no traffic and belong to no file. */
type Question = Exclude<
  ClientMessage,
  {
    readonly _tag: "Close" | "Tcp" | "TcpSteal" | "TcpOutgoing" | "UdpOutgoing" | "SeqpacketOutgoing" | "FileRequest"
  }
>
/** Questions that have their answer at once. */
type ImmediateQuestion = Extract<
  Question,
  { readonly _tag: "GetEnvVarsRequest" | "Ping" | "PauseTargetRequest" | "Vpn" | "SwitchProtocolVersion" }
>

/**
 * One client of an agent. Everything it has (files, connections, subscriptions, announced version) lives and ends with
 * the connection. Messages are handled one after the other; nothing is said before the client speaks (wire.md §7.1).
 *
 * Bytes that are no message, and unforeseen failures of their handling, end only this connection.
 */
export class AgentClientConnection {
  readonly #id: number
  readonly #socket: Duplex
  readonly #surroundings: AgentSurroundings
  readonly #decoder = new StreamDecoder(clientMessage, ClientMessage)
  readonly #files: AgentFiles
  readonly #dns: AgentDns
  readonly #tcp: AgentOutgoing
  readonly #udp: AgentOutgoing
  readonly #output: AgentOutput
  readonly #waiting: Array<() => void> = []
  #holds = 0
  #full = false
  #wantsLogs = false
  #version = unannouncedVersion
  #over = false

  /** @param closed called once, when the client and all it had are gone */
  constructor(id: number, socket: Duplex, surroundings: AgentSurroundings, closed: () => void) {
    this.#id = id
    this.#socket = socket
    this.#surroundings = surroundings
    const { target, incoming, dial, after } = surroundings
    this.#output = {
      send: (message) => this.#send(message),
      log: (level, message) => {
        if (this.#wantsLogs) this.#send({ _tag: "LogMessage", value: { message, level: { _tag: level } } })
      },
      drained: (resume) => {
        if (!this.#over) this.#waiting.push(resume)
      },
      version: () => this.#version,
      hold: () => this.#hold()
    }
    this.#files = new AgentFiles(target.root)
    this.#dns = new AgentDns(this.#output, target.resolve)
    this.#tcp = new AgentOutgoing("TcpOutgoing", this.#output, dialStream(dial), { after })
    this.#udp = new AgentOutgoing("UdpOutgoing", this.#output, dialDatagram(dial), { after })
    incoming?.join(id, this.#output)
    socket.on("data", (bytes: Uint8Array) => this.#feed(bytes))
    socket.on("drain", () => this.#drain())
    socket.on("error", () => undefined)
    // The protocol knows no half-close, so a client that stops sending has left.
    socket.once("end", () => this.close())
    socket.once("close", () => {
      this.close()
      closed()
    })
  }

  /** Ends the connection after all earlier messages have been sent. */
  close(): void {
    if (this.#over) return
    this.#over = true
    this.#waiting.length = 0
    this.#files.close()
    this.#tcp.close()
    this.#udp.close()
    this.#surroundings.incoming?.leave(this.#id)
    this.#socket.end(() => this.#socket.destroy())
  }

  #send(message: DaemonMessage): boolean {
    if (this.#over) return true
    let bytes: Uint8Array
    try {
      bytes = daemonMessage.encode(message)
    } catch (defect) {
      this.#fail(defect)
      return true
    }
    if (!this.#socket.write(bytes) && !this.#full) {
      this.#full = true
      this.#pause()
    }
    return !this.#full
  }

  #drain(): void {
    if (!this.#full) return
    this.#full = false
    this.#resume()
    for (const resume of this.#waiting.splice(0)) resume()
  }

  #hold(): () => void {
    this.#holds++
    this.#pause()
    return () => {
      this.#holds--
      this.#resume()
    }
  }

  #pause(): void {
    this.#socket.pause()
  }

  #resume(): void {
    if (!this.#full && this.#holds === 0) this.#socket.resume()
  }

  #feed(bytes: Uint8Array): void {
    const { messages, error } = this.#decoder.feed(bytes)
    try {
      for (const { bytes: message, value } of messages) {
        if (this.#over) return
        const { protocolVersion } = this.#surroundings
        if (tooNew(message, value, protocolVersion))
          return this.#disconnect(`${value._tag} of a version after ${protocolVersion}`)
        this.#handle(value)
      }
    } catch (defect) {
      return this.#fail(defect)
    }
    if (error !== undefined) {
      this.#disconnect(`${error.path} at byte ${error.offset}: ${error.message}`)
    }
  }

  /** The client has said something that the agent cannot decode. */
  #disconnect(reason: string): void {
    this.#surroundings.log(`client ${this.#id} disconnected with error: ${reason}`)
    this.close()
  }

  /** A mistake of this program ends only the connection that met it. */
  #fail(defect: unknown): void {
    const text = defect instanceof Error ? (defect.stack ?? defect.message) : String(defect)
    this.#surroundings.log(`client ${this.#id}: ${text}`)
    this.close()
  }

  #endWith(reason: string): void {
    this.#send({ _tag: "Close", value: reason })
    this.close()
  }

  #outcome(outcome: IncomingOutcome): void {
    if (outcome._tag === "Close") this.#send({ _tag: "Close", value: outcome.reason })
    else if (outcome._tag === "EndConnection") this.#endWith(outcome.reason)
  }

  #handle(message: ClientMessage): void {
    const { dial, incoming } = this.#surroundings
    switch (message._tag) {
      case "Close":
        return this.close()
      case "Tcp":
        return this.#outcome(incoming?.mirror(this.#id, message.value) ?? { _tag: "Close", reason: noMirroring })
      case "TcpSteal":
        return this.#outcome(incoming?.steal(this.#id, message.value) ?? { _tag: "Close", reason: noStealing })
      case "TcpOutgoing":
        return this.#tcp.handle(message.value)
      case "UdpOutgoing":
        return this.#udp.handle(message.value)
      case "SeqpacketOutgoing":
        return handleSeqpacket(dial.root, message.value, this.#output)
      case "FileRequest":
        return this.#file(message.value)
      default:
        return this.#question(message)
    }
  }

  #file(request: FileRequest): void {
    const answer = this.#files.handle(request)
    if (answer._tag === "Answer") this.#send({ _tag: "File", value: answer.response })
    else if (answer._tag === "EndConnection") this.#endWith(answer.reason)
  }

  #question(message: Question): void {
    switch (message._tag) {
      case "GetAddrInfoRequest":
        return this.#dns.lookup(message.value.node, "Any")
      case "GetAddrInfoRequestV2":
        return this.#dns.lookup(message.value.node, message.value.family._tag)
      case "ReverseDnsLookup":
        return this.#dns.reverse(message.value.ipAddress)
      case "ReadyForLogs":
        this.#wantsLogs = true
        return
      case "OperatorPong":
      case "ShareLink":
        return
      default:
        this.#send(this.#answer(message))
    }
  }

  #answer(message: ImmediateQuestion): DaemonMessage {
    const { protocolVersion, target } = this.#surroundings
    switch (message._tag) {
      case "GetEnvVarsRequest": {
        const { envVarsFilter, envVarsSelect } = message.value
        const visible = visibleEnvironment(target.env, envVarsFilter, envVarsSelect)
        return { _tag: "GetEnvVarsResponse", value: ok(visible) }
      }
      case "Ping":
        return { _tag: "Pong" }
      case "PauseTargetRequest":
        return { _tag: "Close", value: "Pause isn't supported anymore." }
      case "Vpn":
        return { _tag: "Close", value: "VPN is not supported" }
      case "SwitchProtocolVersion":
        // The version that the client said decides, as far as this agent knows the forms (wire.md §5.3).
        this.#version = minVersion(protocolVersion, message.value)
        return { _tag: "SwitchProtocolVersionResponse", value: this.#version }
    }
  }
}
