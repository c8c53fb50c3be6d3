/**
 * One client connection of a simulated agent: its state, its counters, its answers in time and order. The part that all
 * clients of the agent share is in `sim-agent.ts`; connections of the reference agent over real sockets are in
 * `lab/agent`.
 */

import { clientMessage, type ClientMessage } from "../../../src/domain/protocol/client-message.ts"
import { daemonMessage, type DaemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import type { LayerTcp, LayerTcpSteal } from "../../../src/domain/protocol/incoming-messages.ts"
import { peekClient } from "../../../src/domain/protocol/peek.ts"
import { atLeast, minVersion, protocolVersion, unannouncedVersion } from "../../../src/domain/protocol/version.ts"
import type { FrameChannel } from "../../../src/ports/frame-channel.ts"
import type { AgentOutput } from "../../agent/agent-output.ts"
import { visibleEnvironment } from "../../agent/environment.ts"
import { IncomingClient } from "../../agent/incoming/incoming-client.ts"
import { canMirrorRequests, type RequestForm, stolenRequestForm } from "../../agent/incoming/incoming-messages.ts"
import { AgentOutgoing } from "../../agent/outgoing/agent-outgoing.ts"
import { tooNew } from "../../agent/too-new.ts"
import type { SimProcess } from "../kernel/sim-process.ts"
import { dialEcho, lookUp, SimAgentFiles } from "./sim-agent-pod.ts"

/** The agent, as a client's connection sees it. */
export interface ClientSurroundings {
  readonly cluster: string
  readonly version: string
  readonly process: SimProcess
  readonly delay: () => number
  /** The longest such time. It is not drawn, so an operator's pings shift no other draws. */
  readonly maxDelay: () => number
  readonly env: ReadonlyMap<string, string>
  readonly targetless: boolean
  readonly mirror: (client: SimAgentClient, message: LayerTcp) => void
  readonly steal: (client: SimAgentClient, message: LayerTcpSteal) => void
  /** The client and all it had are gone; the agent still has to tell `incoming`. */
  readonly left: (client: SimAgentClient) => void
}

/** The same words as `AgentClientConnection` in lab/agent. */
const noMirroring =
  "component responsible for mirroring incoming traffic is not running, which might be due to Kubernetes node kernel " +
  "version <4.20. Check agent logs for errors and please report a bug if kernel version >=4.20"
const noStealing = "incoming traffic stealing is not available in the targetless mode"

/** Bytes that the socket takes before the agent waits for it. */
const highWater = 64 * 1024

const pong = daemonMessage.encode({ _tag: "Pong" })

interface Thought {
  ready: boolean
  readonly run: () => void
}

/** One source of answers: each answer takes its own time, and none overtakes another (wire.md §7.5). */
class Lane {
  readonly #client: SimAgentClient
  readonly #process: SimProcess
  readonly #delay: () => number
  readonly #thoughts: Array<Thought> = []

  constructor(client: SimAgentClient, process: SimProcess, delay: () => number) {
    this.#client = client
    this.#process = process
    this.#delay = delay
  }

  readonly think = (run: () => void, delay = this.#delay()): void => {
    const thought: Thought = { ready: false, run }
    this.#thoughts.push(thought)
    this.#process.after(delay, () => {
      thought.ready = true
      this.#say()
    })
  }

  #say(): void {
    while (this.#thoughts[0]?.ready === true) {
      const thought = this.#thoughts.shift()
      if (!this.#client.over) thought?.run()
    }
  }
}

/**
 * One client connection of a simulated agent; its state ends with the connection. Nothing is said before the client
 * speaks. The channel's callbacks must run as the agent's process; answers are timers of that process.
 */
export class SimAgentClient implements AgentOutput {
  readonly id: number
  readonly incoming: IncomingClient
  readonly #channel: FrameChannel
  readonly #agent: ClientSurroundings
  readonly #files: SimAgentFiles
  readonly #tcp: AgentOutgoing
  readonly #inline: Lane
  readonly #mirror: Lane
  readonly #steal: Lane
  readonly #dns: Lane
  /** Whether the agent can decode all messages that the codec can. */
  readonly #current: boolean
  readonly #waiting: Array<() => void> = []
  #holds = 0
  #full = false
  #wantsLogs = false
  #version = unannouncedVersion
  #isAnnounced = false
  #forms: Array<RequestForm | "None"> = []
  #mirrors = false
  /** The agent does not read from this client any more. */
  #deaf = false
  #over = false

  constructor(id: number, channel: FrameChannel, agent: ClientSurroundings) {
    this.id = id
    this.#channel = channel
    this.#agent = agent
    this.#current = atLeast(agent.version, protocolVersion)
    this.incoming = new IncomingClient(id, this)
    this.#files = new SimAgentFiles(agent.cluster)
    const lane = (): Lane => new Lane(this, agent.process, agent.delay)
    const tcp = lane()
    this.#inline = lane()
    this.#mirror = lane()
    this.#steal = lane()
    this.#dns = lane()
    const after = (ms: number, run: () => void) => agent.process.after(ms, run)
    // Connects with a uid are answered in the order in which they complete, and each takes a time of its own.
    const connecting = (run: () => void): void => void agent.process.after(agent.delay(), run)
    this.#tcp = new AgentOutgoing("TcpOutgoing", this, dialEcho(agent.cluster, connecting, tcp.think), { after })
  }

  /** Starts to read. */
  open(): void {
    this.#channel.open({
      message: (bytes) => this.#hear(bytes),
      ended: () => this.#leave(),
      drained: () => this.#drained(),
      // On a raw socket every byte is a part of a message.
      ignored: () => this.close()
    })
  }

  get over(): boolean {
    return this.#over
  }

  /** Ends the connection after all earlier messages have been sent. */
  close(): void {
    if (this.#over) return
    this.#channel.close()
    this.#leave()
  }

  #leave(): void {
    if (this.#over) return
    this.#over = true
    this.#waiting.length = 0
    this.#tcp.close()
    this.#agent.left(this)
  }

  send(message: DaemonMessage): boolean {
    return this.#write(daemonMessage.encode(message))
  }

  #write(bytes: Uint8Array): boolean {
    if (this.#over) return true
    this.#channel.send(bytes)
    if (!this.#full && this.#channel.queuedBytes() > highWater) {
      this.#full = true
      this.#channel.pause()
    }
    return !this.#full
  }

  #drained(): void {
    if (!this.#full || this.#over) return
    this.#full = false
    this.#resume()
    for (const resume of this.#waiting.splice(0)) resume()
  }

  log(level: "Warn" | "Error", message: string): void {
    if (this.#wantsLogs) this.send({ _tag: "LogMessage", value: { message, level: { _tag: level } } })
  }

  drained(resume: () => void): void {
    if (!this.#over) this.#waiting.push(resume)
  }

  version(): string {
    return this.#version
  }

  hold(): () => void {
    this.#holds++
    this.#channel.pause()
    return () => {
      this.#holds--
      this.#resume()
    }
  }

  #resume(): void {
    if (!this.#full && this.#holds === 0 && !this.#over) this.#channel.resume()
  }

  /** How a stolen request is sent to the client; `undefined`: the request must be passed through. */
  requestForm(filtered: boolean, upgrade: boolean): RequestForm | undefined {
    const key = (filtered ? 2 : 0) + (upgrade ? 1 : 0)
    const form = (this.#forms[key] ??= stolenRequestForm(this.#version, filtered, upgrade) ?? "None")
    return form === "None" ? undefined : form
  }

  get takesMirroredRequests(): boolean {
    return this.#mirrors
  }

  readonly #pong = (): void => void this.#write(pong)

  #hear(bytes: Uint8Array): void {
    if (this.#deaf || this.#over) return
    // The message that comes most often needs no decoding.
    if (bytes.length === 1 && peekClient(bytes) === "Ping") {
      // No version was said on the connection by which an operator keeps an agent.
      const delay = this.#isAnnounced ? undefined : this.#agent.maxDelay()
      return this.#inline.think(this.#pong, delay)
    }
    const decoded = clientMessage.decode(bytes)
    if (decoded._tag !== "Decoded" || decoded.used !== bytes.length) return this.#goDeaf()
    if (!this.#current && tooNew(bytes, decoded.value, this.#agent.version)) return this.#goDeaf()
    this.#handle(decoded.value)
  }

  /** Messages that were read before are still answered. */
  #goDeaf(): void {
    this.#deaf = true
    this.#inline.think(() => this.close())
  }

  #answer(message: DaemonMessage): void {
    this.#inline.think(() => void this.send(message))
  }

  #endWith(reason: string): void {
    this.send({ _tag: "Close", value: reason })
    this.close()
  }

  #handle(message: ClientMessage): void {
    const { targetless } = this.#agent
    switch (message._tag) {
      case "Close":
        return this.#goDeaf()
      case "Tcp":
        if (targetless) return this.#answer({ _tag: "Close", value: noMirroring })
        return this.#mirror.think(() => this.#agent.mirror(this, message.value))
      case "TcpSteal":
        if (targetless) return this.#answer({ _tag: "Close", value: noStealing })
        return this.#steal.think(() => this.#agent.steal(this, message.value))
      case "TcpOutgoing":
        return this.#tcp.handle(message.value)
      case "FileRequest":
        return this.#inline.think(() => this.#file(message.value))
      case "ReadyForLogs":
        this.#wantsLogs = true
        return
      case "OperatorPong":
      case "ShareLink":
        return
      default:
        return this.#question(message)
    }
  }

  #file(request: Extract<ClientMessage, { readonly _tag: "FileRequest" }>["value"]): void {
    const answer = this.#files.handle(request)
    if (answer?._tag === "Answer") this.send({ _tag: "File", value: answer.response })
    if (answer?._tag === "EndConnection") this.#endWith(answer.reason)
  }

  /** Messages with one answer each, as far as programs of stories send them. */
  #question(message: ClientMessage): void {
    const { cluster } = this.#agent
    switch (message._tag) {
      case "GetEnvVarsRequest": {
        const { envVarsFilter, envVarsSelect } = message.value
        const value = visibleEnvironment(this.#agent.env, envVarsFilter, envVarsSelect)
        return this.#answer({ _tag: "GetEnvVarsResponse", value: { _tag: "Ok", value } })
      }
      case "Ping":
        return this.#inline.think(this.#pong)
      case "GetAddrInfoRequest":
        return this.#dns.think(() => void this.send(lookUp(cluster, message.value.node, "Any")))
      case "GetAddrInfoRequestV2":
        return this.#dns.think(() => void this.send(lookUp(cluster, message.value.node, message.value.family._tag)))
      case "SwitchProtocolVersion": {
        // The version that the client said decides, as far as this agent knows the forms (wire.md §5.3).
        const agreed = minVersion(this.#agent.version, message.value)
        this.#version = agreed
        this.#isAnnounced = true
        this.#forms = []
        this.#mirrors = canMirrorRequests(agreed)
        return this.#answer({ _tag: "SwitchProtocolVersionResponse", value: agreed })
      }
      default:
        throw new Error(`no program of a story sends a ${message._tag}, so simulated agents do not answer it`)
    }
  }
}
