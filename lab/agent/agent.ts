/**
 * The reference agent: braid's stand-in for mirrord's agent, not mirrord's own program. It accepts clients and ends
 * when they are gone; each client is served by an `AgentClientConnection`. The agent of virtual time is
 * `lab/simulation/world/sim-agent.ts`.
 */

import * as net from "node:net"
import type { Duplex } from "node:stream"
import { Duration, Effect, Option, Queue, type Scope } from "effect"
import { protocolVersion } from "../../src/domain/protocol/version.ts"
import type { Endpoint } from "../cluster/network/endpoint.ts"
import type { AgentTarget } from "../cluster/node/agent-target.ts"
import { AgentClientConnection, type AgentSurroundings } from "./agent-client-connection.ts"
import { systemAfter } from "./agent-output.ts"
import { AgentIncoming } from "./incoming/agent-incoming.ts"
import { secureOperator, type TrustedOperator } from "./operator-tls.ts"

/** The release of mirrord whose agent the reference agent stands in for. */
export const agentVersion = "3.250.0"

/** Opens the agent's port until the scope closes. */
export type AgentListener = (
  onConnection: (socket: Duplex) => void
) => Effect.Effect<void, { readonly message: string }, Scope.Scope>

export interface AgentOptions {
  readonly target: AgentTarget
  /**
   * Where clients connect: a listener of the caller's, or an address of this machine. Without `host` it is every
   * address; port 0 is any free port, which `onListening` reports.
   */
  readonly listen: { readonly host?: string; readonly port: number } | AgentListener
  /** How long to wait for the first client. */
  readonly communicationTimeoutSecs: number
  /** How long to stay after the last client has left. */
  readonly idleTtlSecs: number
  /** Product version to print, and to name in 502 answers. */
  readonly version?: string
  /** The protocol version that the agent plays; the newest unless given. */
  readonly protocolVersion?: string | undefined
  /** Whether the agent has no target, and so no incoming traffic: such messages are answered with `Close`. */
  readonly targetless?: boolean
  readonly httpDetectionTimeoutSecs?: number
  /** The only operator that may connect, with TLS; without it any client may, in clear text. */
  readonly operator?: TrustedOperator | undefined
  /** The real endpoint of a cluster's address; by default the address itself. */
  readonly reach?: (endpoint: Endpoint) => Endpoint
  readonly log: (line: string) => void
  /** Called with the bound port once clients may connect. */
  readonly onListening?: (port: number) => void
}

const listenOn =
  (at: { readonly host?: string; readonly port: number }, onListening: (port: number) => void): AgentListener =>
  (onConnection) =>
    Effect.acquireRelease(
      Effect.callback<net.Server, Error>((resume) => {
        const server = net.createServer({ allowHalfOpen: true, noDelay: true }, onConnection)
        const onError = (error: Error): void => resume(Effect.fail(error))
        server.once("error", onError)
        server.listen({ ...at, backlog: 1024 }, () => {
          server.off("error", onError)
          // A connection that cannot be accepted is its caller's loss.
          server.on("error", () => undefined)
          const address = server.address()
          onListening(address !== null && typeof address === "object" ? address.port : at.port)
          resume(Effect.succeed(server))
        })
      }),
      (server) => Effect.sync(() => server.close())
    ).pipe(Effect.asVoid)

const surroundingsOf = (options: AgentOptions, version: string): AgentSurroundings => {
  const { httpDetectionTimeoutSecs = 2, log, reach = (endpoint) => endpoint, target } = options
  return {
    target,
    protocolVersion: options.protocolVersion ?? protocolVersion,
    incoming:
      options.targetless === true
        ? undefined
        : new AgentIncoming({
            target,
            agentVersion: version,
            after: systemAfter,
            httpDetectionTimeoutMs: httpDetectionTimeoutSecs * 1000
          }),
    dial: { root: target.root, podIp: target.podIp, reach },
    after: systemAfter,
    log
  }
}

/** The clients of an agent, counted. */
interface Clients {
  /** How many have ever come. */
  readonly accepted: () => number
  readonly connected: () => number
  readonly accept: (socket: Duplex) => void
  /** Waits for a state of the counters. */
  readonly until: (reached: () => boolean) => Effect.Effect<void>
  /** Cuts the connections that are left. */
  readonly cut: () => void
}

const makeClients = (options: AgentOptions, surroundings: AgentSurroundings): Effect.Effect<Clients> =>
  Effect.map(Queue.unbounded<void>(), (changes) => {
    const { log, operator } = options
    const sockets = new Set<Duplex>()
    let accepted = 0
    const accept = (socket: Duplex): void => {
      const id = accepted++
      sockets.add(socket)
      const left = (): void => {
        sockets.delete(socket)
        Queue.offerUnsafe(changes, undefined)
      }
      const serve = (connection: Duplex): void => void new AgentClientConnection(id, connection, surroundings, left)
      if (operator === undefined) serve(socket)
      else
        secureOperator(socket, operator, {
          secured: serve,
          failed: (reason) => {
            log(`client ${id} disconnected with error: ${reason}`)
            left()
          }
        })
      Queue.offerUnsafe(changes, undefined)
    }
    return {
      accepted: () => accepted,
      connected: () => sockets.size,
      accept,
      until: (reached) =>
        Effect.gen(function* () {
          while (!reached()) yield* Queue.take(changes)
        }),
      cut: () => {
        for (const socket of sockets) socket.destroy()
      }
    }
  })

/**
 * Runs the agent: serves any number of clients until the last has left, then waits `idleTtlSecs` for another (agent.md
 * §3.4). The port is bound before the line `agent ready - version …` is logged.
 *
 * The result is the exit code: 0 when all clients are gone, 1 if none came in time or the port cannot be opened.
 * Interruption is SIGTERM. When the scope closes, remaining connections are cut and redirects removed.
 */
export const runAgent = (options: AgentOptions): Effect.Effect<number, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { communicationTimeoutSecs, idleTtlSecs, listen, log, version = agentVersion } = options
    const clients = yield* makeClients(options, surroundingsOf(options, version))
    yield* Effect.addFinalizer(() => Effect.sync(clients.cut))
    const listener = typeof listen === "function" ? listen : listenOn(listen, options.onListening ?? (() => undefined))
    const failed = yield* listener(clients.accept).pipe(
      Effect.as(undefined),
      Effect.catch((error) => Effect.succeed(error.message))
    )
    if (failed !== undefined) {
      log(`the agent cannot listen: ${failed}`)
      return 1
    }
    log(`agent ready - version ${version}`)
    const isFirst = clients.until(() => clients.accepted() > 0)
    const first = yield* Effect.timeoutOption(isFirst, Duration.seconds(communicationTimeoutSecs))
    if (Option.isNone(first)) {
      log(`no client connected within ${communicationTimeoutSecs} s`)
      return 1
    }
    while (true) {
      yield* clients.until(() => clients.connected() === 0)
      const isAnother = clients.until(() => clients.connected() > 0)
      if (Option.isNone(yield* Effect.timeoutOption(isAnother, Duration.seconds(idleTtlSecs)))) return 0
    }
  })
