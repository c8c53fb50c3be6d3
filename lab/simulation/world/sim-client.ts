/**
 * A developer's machine: the strict client of lab/client (not mirrord's own) with the real reconnect schedule, and
 * behind it a local program that answers every stolen request.
 */

import type { FrameChannel } from "../../../src/ports/frame-channel.ts"
import type { ClientInput, ClientKind, ClientRequest } from "../../client/client-input.ts"
import type { ClientEvent, ClientOutput, RequestKey } from "../../client/client-output.ts"
import type { ClientState } from "../../client/client-state.ts"
import { makeClient, step } from "../../client/client.ts"
import type { Cancel, Kernel } from "../kernel/kernel.ts"
import { SimProcess } from "../kernel/sim-process.ts"
import { type BranchWish, obtainBranches, phaseOfBranch, wishedVariable } from "./branch-order.ts"
import { type CopyWish, obtainCopy, type ReadyCopy } from "./copy-request.ts"
import { userCertificate } from "./credentials.ts"
import type { Place } from "./network.ts"
import type { OperatorHost } from "./operator-host.ts"
import { programAnswer } from "./program-answer.ts"
import type { ApiServer } from "./sim-api-server.ts"
import type { WorldEvent } from "./world-event.ts"

/** The command that the user started. `exec` is two connections: the command line's, then the internal proxy's. */
export type ClientShape = "exec" | "port-forward" | "dump"

export interface SimClientOptions {
  readonly kernel: Kernel
  readonly emit: (event: WorldEvent) => void
  readonly name: string
  readonly user: string
  readonly shape: ClientShape
  readonly sessionId: bigint
  readonly namespace: string
  /** The target as in connect URLs, such as `deployment.myapp`. */
  readonly target: string
  /** The operator that the user's kubeconfig leads to. */
  readonly operator: OperatorHost
  /** The API server beside it. */
  readonly server: ApiServer
  /** Whether that is a primary's, whose sessions are over many clusters. */
  readonly isAtPrimary: boolean
  /** Whether its cluster runs no workloads. */
  readonly isManagementOnly: boolean
  /** The session is to run on a copy. */
  readonly copy: CopyWish | undefined
  /** The branches that the session is to use. */
  readonly branches: BranchWish | undefined
  /** The next number of a connection, unique in the world. */
  readonly nextConnection: () => number
  /** Time between two pings of the internal proxy, ms. */
  readonly pingInterval: number
  readonly version: string
}

type Untimed = ClientInput extends infer I ? (I extends { readonly now: number } ? Omit<I, "now"> : never) : never

/** The real client repeats a connect that is answered with these codes, 15 times (operator-api.md §2.4). */
const repeatedCodes = new Set([429, 503, 504])
const maxRepeats = 15
/** Bytes of one write of a flood. */
const floodChunk = 16 * 1024
/** Time before the first repetition, ms; doubles with each repetition. */
const firstRepeat = 5

/** By shape: the kind of client that connects first. */
const firstKinds = { exec: "cli", dump: "dump", "port-forward": "reversePortForward" } as const

export class SimClient {
  readonly name: string
  readonly place: Place
  readonly process: SimProcess
  readonly #options: SimClientOptions
  #sessionId: bigint
  #copy: ReadyCopy | undefined
  #branches: ReadonlyArray<string> = []
  #state: ClientState
  #channel: FrameChannel | undefined
  #connection = 0
  #wake: Cancel = () => {}
  #ended: { readonly rule: string | undefined; readonly message: string } | undefined
  #abandon: () => void = () => {}
  #repeats = 0
  /** Requests of the program before the internal proxy was there. */
  readonly #early: Array<ClientRequest> = []
  readonly logs: Array<string> = []
  /** Answers that the program got so far, such as `env of a`; newest last. */
  readonly answers: Array<string> = []
  /** By uid of a connect: bytes to write as soon as the connection is open. */
  readonly #floods = new Map<bigint, number>()
  #uids = 0n

  constructor(options: SimClientOptions) {
    this.#options = options
    this.name = options.name
    this.#sessionId = options.sessionId
    this.place = `laptop-${options.name}`
    this.process = new SimProcess(options.kernel, this.place, (line) =>
      options.emit({ _tag: "Log", process: this.place, line })
    )
    this.#state = makeClient(this.#clientOptions(firstKinds[options.shape]))
    this.process.after(0, () => this.#start(true))
  }

  /** Of a session on a copy: known for certain as soon as the copy is ready. */
  get sessionId(): bigint {
    return this.#sessionId
  }

  /** The cluster whose operator the client talks to. */
  get home(): Place {
    return this.#options.operator.place
  }

  /** Name of the copy that the session runs on, once it is ready. */
  get copy(): string | undefined {
    return this.#copy?.name
  }

  /** Names of the branches that the session uses, once they are ready. */
  get branches(): ReadonlyArray<string> {
    return this.#branches
  }

  /** The branches that the session is to use. */
  get branchWish(): BranchWish | undefined {
    return this.#options.branches
  }

  /** Whether the session is one of a single cluster. */
  get isOfOneCluster(): boolean {
    return !this.#options.isAtPrimary
  }

  /** The copy that the session runs on, or is to run on. */
  get wish(): CopyWish | undefined {
    return this.#options.copy
  }

  get state(): ClientState {
    return this.#state
  }

  /** How the client ended, if it did. */
  get ended(): { readonly rule: string | undefined; readonly message: string } | undefined {
    return this.#ended
  }

  /** Whether the client is connected and past its handshake. */
  get isServing(): boolean {
    return (
      this.#ended === undefined &&
      this.#channel !== undefined &&
      this.#state.phase === "main" &&
      this.#state.options.kind !== "cli"
    )
  }

  do(request: ClientRequest): void {
    if (this.#ended !== undefined) return
    if (this.#state.options.kind === "cli" || this.#state.phase === "idle") this.#early.push(request)
    else this.#feed({ _tag: "Do", request })
  }

  /** The program reads a file from its beginning. */
  readFile(path: string): void {
    const openOptions = { read: true, write: false, append: false, truncate: false, create: false, createNew: false }
    this.do({ _tag: "File", request: { _tag: "Open", value: { path, openOptions } } })
  }

  /** The program opens an outgoing connection, and writes so many bytes as soon as it is open. */
  connectTo(address: { readonly ip: string; readonly port: number }, bytes = 0): void {
    const uid = ++this.#uids
    if (bytes > 0) this.#floods.set(uid, bytes)
    this.do({ _tag: "Connect", transport: "Tcp", uid, remoteAddress: { _tag: "Ip", value: address } })
  }

  /** Kills the client as by SIGKILL or a loss of power; the machine's kernel still closes the socket. */
  kill(): void {
    if (this.#ended !== undefined) return
    this.#end(undefined, "killed")
    this.process.kill()
  }

  /** The user ends the command. */
  leave(): void {
    if (this.#ended !== undefined) return
    this.#end(undefined, "left")
    this.#channel?.close()
    this.#abandon()
    this.process.after(100, () => this.process.kill())
  }

  #clientOptions(kind: ClientKind) {
    const { pingInterval, version } = this.#options
    return { kind, version, pingInterval, reconnect: true }
  }

  #end(rule: string | undefined, message: string): void {
    if (this.#ended !== undefined) return
    this.#ended = { rule, message }
    this.#wake()
    this.#options.emit({ _tag: "ClientEnded", client: this.name, rule, message })
  }

  #begin(): void {
    this.#feed({ _tag: "Start" })
    if (this.#state.options.kind === "cli") return
    const { branches } = this.#options
    // The internal proxy asks again for the variables that lead to branches, to forward ports to them.
    if (branches !== undefined) {
      const select = new Set<string>([wishedVariable(branches)])
      this.#early.unshift({ _tag: "FetchEnv", selection: { filter: new Set<string>(), select } })
    }
    for (const request of this.#early.splice(0)) this.#feed({ _tag: "Do", request })
  }

  /** Gets the copy if there is to be one, and connects. */
  #start(mayReuse: boolean): void {
    const { branches, copy: wish, emit, name, namespace, operator, user } = this.#options
    if (branches !== undefined) return this.#orderBranches(branches)
    if (wish === undefined) return this.#connectFirst(() => this.#begin())
    if (this.#ended !== undefined) return
    emit({ _tag: "ClientAsks", client: name })
    obtainCopy(
      {
        from: this,
        operator,
        user,
        namespace,
        wish,
        mayReuse,
        isOver: () => this.#ended !== undefined,
        told: ({ metadata, status: { phase } }) =>
          emit({ _tag: "CopyTold", client: name, cluster: operator.place, copy: metadata.name, phase })
      },
      {
        ready: (copy) => {
          this.#copy = copy
          this.#sessionId = copy.sessionId ?? this.#sessionId
          this.#connectFirst(() => this.#begin())
        },
        refused: ({ code, message, reason }) => {
          emit({ _tag: "ClientRefused", client: name, code, reason, message })
          this.#end("operator-api.md §7.5", `${code ?? "no answer"} ${reason}: ${message}`)
        }
      }
    )
  }

  /** Gets the branches, and connects. */
  #orderBranches(wish: BranchWish): void {
    const { emit, isManagementOnly, name, namespace, server } = this.#options
    if (this.#ended !== undefined) return
    emit({ _tag: "BranchesAsked", client: name })
    let told = ""
    obtainBranches(
      {
        from: this,
        server,
        isManagementOnly,
        namespace,
        wish,
        isOver: () => this.#ended !== undefined,
        told: (branch) => {
          const event = { branch: branch.metadata.name, phase: phaseOfBranch(branch) }
          if (told === JSON.stringify(event)) return
          told = JSON.stringify(event)
          emit({ _tag: "BranchTold", client: name, cluster: server.place, ...event })
        }
      },
      {
        ready: (names) => {
          this.#branches = names
          this.#connectFirst(() => this.#begin())
        },
        refused: ({ code, message, reason }) =>
          this.#end("the order of a branch", `${code ?? "no answer"} ${reason}: ${message}`)
      }
    )
  }

  /** The first connect of a client: without it there is no session, so its refusal is the end. */
  #connectFirst(opened: () => void): void {
    this.#options.emit({ _tag: "ClientAsks", client: this.name })
    this.#connect({
      opened,
      refused: (code, reason, message) => {
        // A copy that was there before has ended meanwhile: in a single cluster the client makes a new one, once.
        if (code === 404 && this.#copy?.isReused === true && this.isOfOneCluster) return this.#start(false)
        this.#end("operator-api.md §7.5", `${code ?? "no answer"} ${reason}: ${message}`)
      }
    })
  }

  get #branchQuery(): string {
    const { branches } = this.#options
    if (branches === undefined || this.#branches.length === 0) return ""
    return `&${branches.engine}_branch_names=${encodeURIComponent(JSON.stringify(this.#branches))}`
  }

  #connect(outcome: {
    readonly opened: () => void
    readonly refused: (code: number | undefined, reason: string, message: string) => void
  }): void {
    const { emit, name, namespace, operator, target, user } = this.#options
    const { sessionId } = this
    if (this.#ended !== undefined) return
    this.#abandon = operator.connect(
      this,
      {
        caller: { user, groups: ["developers"], extra: {} },
        checked: "proxy",
        namespace,
        target: this.copy ?? target,
        ...(this.copy === undefined ? {} : { isCopy: true }),
        sessionId: sessionId.toString(),
        certificate: userCertificate(user),
        clientVersion: "3.250.0",
        clientName: user,
        clientHostname: this.place,
        query: `connect=true&on_concurrent_steal=abort&key=simulated${this.#branchQuery}`
      },
      {
        opened: (channel) => {
          if (this.#ended !== undefined) return channel.close()
          this.#repeats = 0
          this.#channel = channel
          const connection = this.#options.nextConnection()
          this.#connection = connection
          emit({ _tag: "ClientConnected", client: name, connection, sessionId })
          outcome.opened()
          channel.open({
            message: (bytes) => {
              if (this.#channel !== channel) return
              emit({ _tag: "ClientHeard", client: name, connection, bytes })
              this.#feed({ _tag: "Frame", kind: "binary", bytes })
            },
            ended: (reason) => {
              if (this.#channel !== channel) return
              this.#lost(reason)
              this.#feed({ _tag: "Closed", reason })
            },
            drained: () => {},
            ignored: () => {}
          })
        },
        refused: (code, reason, message) => {
          emit({ _tag: "ClientRefused", client: name, code, reason, message })
          if (code === undefined || !repeatedCodes.has(code) || this.#repeats >= maxRepeats) {
            this.#repeats = 0
            outcome.refused(code, reason, message)
          } else this.process.after(firstRepeat * 2 ** this.#repeats++, () => this.#connect(outcome))
        }
      }
    )
  }

  #lost(reason: string): void {
    if (this.#channel === undefined) return
    this.#channel = undefined
    this.#options.emit({ _tag: "ClientLost", client: this.name, connection: this.#connection, reason })
  }

  #feed(input: Untimed): void {
    if (this.#ended !== undefined) return
    // The client's clock never goes back.
    const [next, outputs] = step(this.#state, { ...input, now: this.#options.kernel.now } as ClientInput)
    this.#state = next
    for (const output of outputs) this.#perform(output)
  }

  #perform(output: ClientOutput): void {
    switch (output._tag) {
      case "Send":
        if (this.#channel === undefined) return
        this.#options.emit({ _tag: "ClientSaid", client: this.name, connection: this.#connection, bytes: output.bytes })
        return this.#channel.send(output.bytes)
      case "Event":
        this.#options.emit({ _tag: "ClientEvent", client: this.name, event: output.event })
        return this.#heard(output.event)
      case "Fatal":
        this.#channel?.close()
        this.#lost(output.message)
        return this.#end(output.rule, output.message)
      case "Reconnect":
        this.#channel?.close()
        this.#lost("reconnects")
        return void this.process.after(output.after, () =>
          this.#connect({
            opened: () => this.#feed({ _tag: "Reconnected" }),
            refused: (code, reason) => this.#feed({ _tag: "Closed", reason, ...(code === undefined ? {} : { code }) })
          })
        )
      case "WakeAt":
        this.#wake()
        this.#wake = this.process.after(output.at - this.#options.kernel.now, () => this.#feed({ _tag: "Tick" }))
        return
    }
  }

  #heard(event: ClientEvent): void {
    switch (event._tag) {
      case "Log":
        this.logs.push(event.message)
        return
      case "Finished":
        this.process.after(0, () => this.#handOver())
        return
      case "HttpRequest":
        if (event.isLast) this.#respond(event, event.uri)
        else this.#uris.set(keyOf(event), event.uri)
        return
      case "HttpBody": {
        if (!event.isLast) return
        const uri = this.#uris.get(keyOf(event))
        this.#uris.delete(keyOf(event))
        if (uri !== undefined) this.#respond(event, uri)
        return
      }
      case "Env":
      case "FileAnswered":
      case "Resolved":
      case "Connected":
      case "OutgoingData":
        return this.#answered(event)
      case "HttpAborted":
        this.#uris.delete(keyOf(event))
        return
      case "Lost":
        this.#uris.clear()
        return
      default:
        return
    }
  }

  #answered(event: ClientEvent): void {
    const text = programAnswer(event)
    if (text !== undefined) this.answers.push(text)
    if (event._tag === "FileAnswered" && event.response._tag === "Open" && event.response.value._tag === "Ok") {
      const { fd } = event.response.value.value
      this.do({ _tag: "File", request: { _tag: "Read", value: { remoteFd: fd, bufferSize: 4_096n } } })
      this.do({ _tag: "File", request: { _tag: "Close", value: { fd } } })
    }
    if (event._tag !== "Connected") return
    const { result, transport, uid } = event
    const bytes = this.#floods.get(uid) ?? 0
    this.#floods.delete(uid)
    if (result._tag !== "Ok") return
    const { connectionId } = result.value
    for (let left = bytes; left > 0; left -= floodChunk) {
      this.do({ _tag: "Write", transport, connectionId, bytes: new Uint8Array(Math.min(left, floodChunk)) })
    }
  }

  /** By request: the URI of requests whose body is still coming. */
  readonly #uris = new Map<string, string>()

  #respond(key: RequestKey, uri: string): void {
    if (key.channel !== "TcpSteal") return
    const { connectionId, requestId } = key
    const body = new TextEncoder().encode(`from ${this.name}: ${uri}`)
    this.process.after(1, () =>
      this.#feed({
        _tag: "Do",
        request: {
          _tag: "Respond",
          connectionId,
          requestId,
          status: 200,
          headers: [],
          frames: [{ _tag: "Data", value: body }],
          isLast: true
        }
      })
    )
  }

  /** The command line has what it wanted, and the internal proxy takes over on a connection of its own. */
  #handOver(): void {
    this.#channel?.close()
    this.#lost("the command line is done")
    if (this.#ended !== undefined) return
    this.#state = makeClient(this.#clientOptions("intproxy"))
    this.#connectFirst(() => this.#begin())
  }
}

const keyOf = ({ channel, connectionId, requestId }: RequestKey): string => `${channel} ${connectionId} ${requestId}`
