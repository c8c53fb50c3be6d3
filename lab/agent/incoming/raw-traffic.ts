/**
 * Redirected traffic that is not HTTP, and traffic after an HTTP upgrade: copied to clients, stolen by one, or passed
 * through to the application.
 */

import type { Duplex } from "node:stream"
import type { RedirectedConnection } from "../../cluster/node/agent-target.ts"
import type { AgentOutput } from "../agent-output.ts"
import { describeError } from "../node-errors.ts"
import type { IncomingClient } from "./incoming-client.ts"
import { newConnection } from "./incoming-messages.ts"
import { MirrorCopy } from "./mirror-copy.ts"

/** Bytes that may wait for the peer of a stolen connection before the client is no longer read. */
const maxBuffered = 512 * 1024

const nothing = new Uint8Array(0)

/** Writes to a peer of the target. The client is not read while too much piles up. */
export const writeHolding = (stream: Duplex | NodeJS.WritableStream, bytes: Uint8Array, output: AgentOutput): void => {
  const keepsUp = stream.write(bytes)
  if (keepsUp || !("writableLength" in stream) || stream.writableLength < maxBuffered) return
  const release = output.hold()
  let released = false
  const free = (): void => {
    if (released) return
    released = true
    stream.off("drain", free)
    stream.off("close", free)
    release()
  }
  stream.once("drain", free)
  stream.once("close", free)
}

/** Joins two connections: bytes and half-closes pass both ways, and if one connection breaks the other is destroyed. */
export const join = (a: Duplex, b: Duplex): void => {
  for (const [from, to] of [
    [a, b],
    [b, a]
  ] as const) {
    from.on("error", () => to.destroy())
    from.once("close", () => {
      // After an orderly end the other side may still have bytes to send.
      if (!from.readableEnded) to.destroy()
    })
    from.pipe(to)
  }
}

/** Copies what the peer sends to all clients that mirror the port without a filter. */
export const copyTo = (clients: ReadonlyArray<IncomingClient>, connection: RedirectedConnection): void => {
  const { socket } = connection
  for (const client of clients) {
    const copy = new MirrorCopy(client)
    copy.send(newConnection(client.output.version(), copy.id, connection))
    socket.on("data", (bytes: Uint8Array) => copy.send({ _tag: "Data", value: { connectionId: copy.id, bytes } }))
    socket.once("end", () => copy.send({ _tag: "Data", value: { connectionId: copy.id, bytes: nothing } }))
    socket.once("close", () => copy.close())
  }
}

/**
 * Passes bytes between a socket and a client, under an id that the client already has: the traffic after an upgrade, or
 * a whole connection (with {@link stealConnection}). `Close` goes out when both sides have ended.
 */
export const exchange = (client: IncomingClient, connectionId: bigint, socket: Duplex) => {
  let broken: Error | undefined
  socket.on("error", (error) => {
    broken = error
  })
  socket.on("data", (bytes: Uint8Array) => {
    if (bytes.length === 0 || !client.isStolen(connectionId)) return
    if (client.sendStolen({ _tag: "Data", value: { connectionId, bytes } })) return
    socket.pause()
    client.output.drained(() => socket.resume())
  })
  socket.once("end", () => {
    if (client.isStolen(connectionId)) client.sendStolen({ _tag: "Data", value: { connectionId, bytes: nothing } })
  })
  socket.resume()
  socket.once("close", () => {
    if (broken !== undefined && client.isStolen(connectionId)) {
      client.output.log("Warn", `stolen connection ${connectionId} failed: ${describeError(broken)}`)
    }
    client.closeStolen(connectionId)
  })
  return {
    data: (bytes: Uint8Array): void => {
      if (socket.writableEnded || socket.destroyed) return
      if (bytes.length === 0) socket.end()
      else writeHolding(socket, bytes, client.output)
    },
    /** The peer gets a FIN at once; anything it still sends ends the connection (agent.md §4.5). */
    abandoned: (): void => {
      socket.end()
      socket.on("data", () => socket.destroy())
      socket.resume()
    }
  }
}

/** Hands a connection that is not HTTP to the client that steals its port whole. */
export const stealConnection = (client: IncomingClient, connection: RedirectedConnection): void => {
  let sink: ReturnType<typeof exchange> | undefined
  const connectionId = client.openStolen({
    data: (bytes) => sink?.data(bytes),
    response: () => undefined,
    abandoned: () => sink?.abandoned()
  })
  client.sendStolen(newConnection(client.output.version(), connectionId, connection))
  sink = exchange(client, connectionId, connection.socket)
}
