/**
 * Listens for TLS from strangers: refuses connections above a bound before they cost a handshake, and shows each the
 * certificate of the moment.
 *
 * Not here: what is said after the handshake (cell-listener.ts, redemptions.ts).
 */

import { constants } from "node:crypto"
import { createServer, type Server, type Socket } from "node:net"
import type { Server as SecureServer, TLSSocket } from "node:tls"
import { Effect, Redacted, type Scope } from "effect"
import { CellNotServed, type TunnelIdentity } from "../../ports/tunnel.ts"
import { type DialBounds, DialPlaces } from "./dial-places.ts"

/** How much may be asked of the ports by connections that have proved nothing. */
export interface ListenerBounds extends DialBounds {
  /** Longest time of a handshake, ms. */
  readonly handshake: number
  /** Longest time until a redemption is there, ms. */
  readonly redemption: number
}

export const defaultBounds: ListenerBounds = {
  atOnce: 20,
  waiting: 1_000,
  perSecond: 5,
  handshake: 10_000,
  redemption: 5_000
}

/** An address without the form in which IPv6 holds those of IPv4; empty for a connection that is gone. */
export const addressOf = (socket: Socket): string => (socket.remoteAddress ?? "").replace(/^::ffff:/u, "")

/** Shows new connections the identity of the moment. Without tickets, so that each connection proves itself. */
const showing = (secure: SecureServer, identity: () => TunnelIdentity): (() => void) => {
  let shown: ReadonlyArray<string> = []
  return () => {
    const { authoritiesPem, certificatePem, keyPem } = identity()
    const next = [certificatePem, Redacted.value(keyPem), authoritiesPem]
    if (next.every((text, at) => text === shown[at])) return
    const [cert, key, ca] = next
    const secureOptions = constants.SSL_OP_NO_TICKET
    secure.setSecureContext({ cert, key, ca, minVersion: "TLSv1.3", secureOptions })
    shown = next
  }
}

interface Guarded {
  readonly hosts: ReadonlyArray<string>
  readonly port: number
  readonly identity: () => TunnelIdentity
  readonly bounds: ListenerBounds
  /** Whether a connection has proved by its certificate whose it is. */
  readonly hasProved: (socket: TLSSocket) => boolean
}

const keyOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`

/** A connection that has proved nothing yet. */
interface Unproved {
  readonly socket: Socket
  readonly leave: (hasProved: boolean) => void
}

const guard = (
  secure: SecureServer,
  { bounds, hasProved, identity }: Omit<Guarded, "hosts" | "port">
): { readonly server: Server; readonly end: () => void } => {
  const places = new DialPlaces(bounds)
  const unproved = new Map<string, Unproved>()
  const show = showing(secure, identity)
  secure.on("secureConnection", (socket) => {
    if (hasProved(socket)) unproved.get(keyOf(socket))?.leave(true)
  })
  // Node leaves a connection open whose handshake took too long.
  secure.on("tlsClientError", (_error, socket) => socket.destroy())
  const begin = (socket: Socket): void => {
    if (socket.destroyed) return
    try {
      show()
      secure.emit("connection", socket)
    } catch {
      // OpenSSL cannot use the identity, whose keeper will have to change it.
      socket.destroy()
    }
  }
  // Not a byte is read from a connection that waits.
  const server = createServer({ noDelay: true, pauseOnConnect: true }, (socket) => {
    socket.on("error", () => undefined)
    const giveBack = places.take(addressOf(socket), performance.now(), () => begin(socket))
    if (giveBack === undefined) return void socket.destroy()
    const key = keyOf(socket)
    const leave = (proved: boolean): void => {
      giveBack(proved)
      unproved.delete(key)
    }
    unproved.set(key, { socket, leave })
    socket.once("close", () => leave(false))
  })
  const end = (): void => {
    server.close()
    for (const { socket } of unproved.values()) socket.destroy()
  }
  return { server, end }
}

/** Listens as long as the scope lives, and gives the port. Connections that have proved themselves go on after it. */
export const listenGuarded = (
  secure: SecureServer,
  { hosts, port, ...guarded }: Guarded
): Effect.Effect<number, CellNotServed, Scope.Scope> => {
  const { end, server } = guard(secure, guarded)
  return listenAt(server, { hosts, port }, end)
}

/** Listens at a port, on the first of the addresses that this machine has, and gives the port. */
export const listenAt = (
  server: Server,
  { hosts, port }: Pick<Guarded, "hosts" | "port">,
  end: () => void
): Effect.Effect<number, CellNotServed, Scope.Scope> => {
  const listening = Effect.callback<number, CellNotServed>((resume) => {
    const [first, ...others] = hosts
    // Also later: a server goes on without a connection that it could not accept.
    server.on("error", ({ code, message }: NodeJS.ErrnoException) => {
      const next = code === "EAFNOSUPPORT" || code === "EADDRNOTAVAIL" ? others.shift() : undefined
      if (next !== undefined) return void server.listen(port, next)
      const cure = "take another port, or end the program that has it"
      return resume(
        Effect.fail(new CellNotServed({ message: `port ${port} cannot be listened on (${message}): ${cure}` }))
      )
    })
    server.once("listening", () => {
      const address = server.address()
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : port))
    })
    server.listen(port, first)
  })
  return Effect.acquireRelease(listening, () => Effect.sync(end))
}
