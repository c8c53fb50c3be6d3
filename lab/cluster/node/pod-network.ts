/**
 * The listening side of a pod's address. The kubelet owns the sockets, so a new connection can go to the application
 * or, while an agent redirects its port, to the agent: the work of iptables on a real node. Outgoing connections do not
 * pass here.
 */

import * as net from "node:net"
import { Duplex } from "node:stream"
import { Effect, type Scope } from "effect"
import type { Endpoint } from "../network/endpoint.ts"
import type { RedirectedConnection } from "./agent-target.ts"
import { ListenError } from "./container-program.ts"
import { loopbackAddresses, type PodAddresses } from "./pod-addresses.ts"

type OnConnection = (socket: Duplex, source: Endpoint) => void
type Accept = (connection: RedirectedConnection) => void

interface Application {
  readonly onConnection: OnConnection
  /** Its live connections. */
  readonly sockets: Set<net.Socket>
  /** A second entry to the application, for {@link RedirectedConnection.connectToApplication}. */
  readonly door: net.Server
}

interface Port {
  readonly server: net.Server
  /** Settles when the port is bound, or with the error. */
  readonly opened: Promise<Error | undefined>
  application: Application | undefined
  redirect: Accept | undefined
}

/** The addresses at which pods are really served, where they differ from the pods' own. All pods of a node share it. */
export class AddressBook {
  readonly #real = new Map<string, Endpoint>()
  readonly addresses: PodAddresses

  constructor(addresses: PodAddresses = loopbackAddresses) {
    this.addresses = addresses
  }

  /** @param endpoint with the address on which the pod listens */
  set(endpoint: Endpoint, real: Endpoint | undefined): void {
    const key = `${endpoint.ip}:${endpoint.port}`
    if (real === undefined) this.#real.delete(key)
    else this.#real.set(key, real)
  }

  /** The address to dial for `endpoint`. */
  readonly reach = (endpoint: Endpoint): Endpoint => {
    const real = { ip: this.addresses.real(endpoint.ip), port: endpoint.port }
    return this.#real.get(`${real.ip}:${real.port}`) ?? real
  }
}

const sourceOf = (socket: net.Socket): Endpoint => ({
  ip: socket.remoteAddress ?? "0.0.0.0",
  port: socket.remotePort ?? 0
})

const boundPort = (server: net.Server): number => {
  const address = server.address()
  return address !== null && typeof address === "object" ? address.port : 0
}

/** Binds the server; if the port needs a privilege that this user lacks, to any free port instead. */
const bind = (server: net.Server, ip: string, port: number): Promise<Error | undefined> =>
  new Promise((resolve) => {
    const attempt = (wanted: number): void => {
      const onListening = (): void => {
        server.off("error", onError)
        // Without a file descriptor the connection is lost; without this listener the process would end.
        server.on("error", () => undefined)
        resolve(undefined)
      }
      const onError = (error: NodeJS.ErrnoException): void => {
        server.off("listening", onListening)
        if (error.code === "EACCES" && wanted !== 0) attempt(0)
        else resolve(error)
      }
      server.once("listening", onListening)
      server.once("error", onError)
      server.listen({ host: ip, port: wanted, backlog: 1024 })
    }
    attempt(port)
  })

/** Fails as a dial to a closed port does. */
const refused = (endpoint: Endpoint): Duplex => {
  const socket = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() })
  const error = Object.assign(new Error(`connect ECONNREFUSED ${endpoint.ip}:${endpoint.port}`), {
    code: "ECONNREFUSED"
  })
  return socket.destroy(error)
}

/**
 * Existing connections stay where they are when a redirect begins or ends. If this user may not bind a port (below 1024
 * without privilege), another port is bound and entered in the {@link AddressBook}. Bytes flow through plain sockets
 * with nothing in between.
 */
export class PodNetwork {
  readonly ip: string
  readonly #book: AddressBook
  readonly #report: (message: string) => void
  readonly #ports = new Map<number, Port>()
  readonly #sockets = new Set<net.Socket>()
  #closed = false

  /** @param report receives the failure to open a redirected port, which no call can return */
  constructor(ip: string, book: AddressBook, report: (message: string) => void) {
    this.ip = ip
    this.#book = book
    this.#report = report
  }

  /** Opens a port of the application until the scope closes. */
  listen(port: number, onConnection: OnConnection): Effect.Effect<void, ListenError, Scope.Scope> {
    const fail = (reason: string) => new ListenError({ ip: this.ip, port, reason })
    return Effect.gen({ self: this }, function* () {
      if (!Number.isInteger(port) || port < 1 || port > 65_535)
        return yield* fail("a port is a whole number from 1 to 65535")
      if (this.#closed) return yield* fail("the pod has ended")
      const door = net.createServer({ allowHalfOpen: true, noDelay: true })
      const application: Application = { onConnection, sockets: new Set(), door }
      door.on("connection", (socket) => this.#give(application, socket))
      yield* Effect.addFinalizer(() => Effect.sync(() => this.#forget(port, application)))
      const doorError = yield* Effect.promise(() => bind(door, this.ip, 0))
      if (doorError !== undefined) return yield* fail(doorError.message)
      const entry = this.#ports.get(port) ?? this.#open(port)
      if (entry.application !== undefined) return yield* fail("the port is already in use in this pod")
      entry.application = application
      const error = yield* Effect.promise(() => entry.opened)
      if (error !== undefined) return yield* fail(error.message)
    })
  }

  /** See `AgentTarget.redirect`. Throws if the port has an owner: that is a mistake of the caller. */
  redirect(port: number, accept: Accept): () => void {
    if (this.#ports.get(port)?.redirect !== undefined)
      throw new Error(`port ${port} of ${this.ip} is already redirected`)
    if (this.#closed) return () => undefined
    const entry = this.#ports.get(port) ?? this.#open(port)
    entry.redirect = accept
    return () => {
      if (entry.redirect !== accept) return
      entry.redirect = undefined
      this.#closeIfIdle(port, entry)
    }
  }

  /** Closes all ports and connections: the pod is gone. */
  close(): void {
    this.#closed = true
    for (const [port, entry] of this.#ports) {
      entry.redirect = undefined
      if (entry.application !== undefined) this.#forget(port, entry.application)
      this.#closeIfIdle(port, entry)
    }
    for (const socket of this.#sockets) socket.destroy()
  }

  #open(port: number): Port {
    const server = net.createServer({ allowHalfOpen: true, noDelay: true })
    const opened = bind(server, this.ip, port).then((error) => {
      if (error === undefined) {
        const real = boundPort(server)
        if (real !== port && this.#ports.get(port) === entry) {
          this.#book.set({ ip: this.ip, port }, { ip: this.ip, port: real })
        }
        return undefined
      }
      if (this.#ports.get(port) === entry) this.#ports.delete(port)
      if (entry.redirect !== undefined) this.#report(`cannot redirect ${this.ip}:${port}: ${error.message}`)
      return error
    })
    const entry: Port = { server, opened, application: undefined, redirect: undefined }
    this.#ports.set(port, entry)
    server.on("connection", (socket) => this.#accept(port, entry, socket))
    return entry
  }

  #accept(port: number, entry: Port, socket: net.Socket): void {
    const accept = entry.redirect
    if (accept === undefined) {
      if (entry.application === undefined) socket.destroy()
      else this.#give(entry.application, socket)
      return
    }
    this.#track(socket)
    const destination = { ip: this.#book.addresses.publish(this.ip), port }
    accept({
      socket,
      source: sourceOf(socket),
      destination,
      connectToApplication: () => {
        // Looks up the application now: it may have ended or restarted since the connection was accepted.
        const application = this.#ports.get(port)?.application
        if (application === undefined) return refused(destination)
        const own = net.connect({
          host: this.ip,
          port: boundPort(application.door),
          allowHalfOpen: true,
          noDelay: true
        })
        this.#track(own)
        return own
      }
    })
  }

  #give(application: Application, socket: net.Socket): void {
    this.#track(socket)
    application.sockets.add(socket)
    socket.once("close", () => application.sockets.delete(socket))
    application.onConnection(socket, sourceOf(socket))
  }

  #track(socket: net.Socket): void {
    this.#sockets.add(socket)
    // Without this listener a reset would end the whole process. Programs learn of it from `close`.
    socket.on("error", () => undefined)
    socket.once("close", () => this.#sockets.delete(socket))
  }

  #forget(port: number, application: Application): void {
    application.door.close()
    for (const socket of application.sockets) socket.destroy()
    const entry = this.#ports.get(port)
    if (entry?.application !== application) return
    entry.application = undefined
    this.#closeIfIdle(port, entry)
  }

  #closeIfIdle(port: number, entry: Port): void {
    if (entry.application !== undefined || entry.redirect !== undefined) return
    if (this.#ports.get(port) === entry) this.#ports.delete(port)
    this.#book.set({ ip: this.ip, port }, undefined)
    if (entry.server.listening) entry.server.close()
    else void entry.opened.then(() => entry.server.close())
  }
}
