/**
 * TLS on redirected ports (agent.md §6.9): the agent is the server of peers and the client of the application, so that
 * everything between sees clear text. Which ports, and with which files of the target, its environment says.
 */

import { X509Certificate } from "node:crypto"
import * as fs from "node:fs"
import { isIP } from "node:net"
import type { Duplex } from "node:stream"
import * as tls from "node:tls"
import { Result } from "effect"
import * as Schema from "effect/Schema"
import type { IncomingTrafficTransportType } from "../../../src/domain/protocol/http-messages.ts"
import { TlsStealConfig } from "../../../src/domain/resources/policies/mirrord-tls-steal-configs.ts"
import type { RedirectedConnection } from "../../cluster/node/agent-target.ts"
import { resolveInRoot } from "../files/resolve-in-root.ts"
import { describeError } from "../node-errors.ts"

/** A redirected connection whose bytes are in clear text; `transport` tells whether they came so. */
export interface IncomingConnection extends RedirectedConnection {
  readonly transport: IncomingTrafficTransportType
}

/** TLS of one port. */
export type StealTls = TlsStealConfig["spec"]["ports"][number]

const decodePorts = Schema.decodeUnknownResult(TlsStealConfig.fields.spec.fields.ports)

/** Reads the agent's variable. The failure is a sentence. */
export const readStealTls = (value: string | undefined): Result.Result<ReadonlyArray<StealTls>, string> => {
  if (value === undefined) return Result.succeed([])
  const problem = (reason: string): string => `MIRRORD_AGENT_STEAL_TLS_CONFIG cannot be read: ${reason}`
  try {
    const decoded = decodePorts(JSON.parse(Buffer.from(value, "base64").toString()))
    return Result.mapError(decoded, ({ message }) => problem(message))
  } catch (error) {
    return Result.fail(problem(describeError(error)))
  }
}

const certificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g
const privateKey = /-----BEGIN (?:EC |RSA )?PRIVATE KEY-----[^-]+-----END (?:EC |RSA )?PRIVATE KEY-----/g

/** A chain and its key. */
const readAuthentication = (
  root: string,
  { certPem, keyPem }: { readonly certPem: string; readonly keyPem: string }
) => {
  const found = (path: string, pem: RegExp) =>
    fs.readFileSync(resolveInRoot(root, path, true).host, "latin1").match(pem) ?? []
  const [chain, keys] = [found(certPem, certificate), found(keyPem, privateKey)]
  if (chain.length === 0) throw new Error(`no certificate was found in PEM file ${certPem}`)
  if (keys.length !== 1) throw new Error(`${keys.length} private keys were found in PEM file ${keyPem}`)
  return { cert: chain.join("\n"), key: keys.join("") }
}

const isCertificate = (pem: string): boolean => {
  try {
    return new X509Certificate(pem).publicKey !== undefined
  } catch {
    return false
  }
}

/** The certificates of files, and of the files of folders; those that cannot be read do not count. */
const readRoots = (root: string, paths: ReadonlyArray<string> = []): Array<string> =>
  paths.flatMap((path) => {
    const { host } = resolveInRoot(root, path, true)
    const isFolder = fs.statSync(host, { throwIfNoEntry: false })?.isDirectory() === true
    return (isFolder ? fs.readdirSync(host).map((name) => `${host}/${name}`) : [host]).flatMap((file) => {
      try {
        return fs.readFileSync(file, "latin1").match(certificate)?.filter(isCertificate) ?? []
      } catch {
        return []
      }
    })
  })

const noGoodRoot = "no good trust root certificate was found"

const serverOptions = (root: string, { authentication, ...server }: StealTls["agentAsServer"]): tls.TlsOptions => {
  const verification = server.verification ?? undefined
  const ca = readRoots(root, verification?.trustRoots)
  const { acceptAnyCert = false, allowAnonymous = false } = verification ?? {}
  if (verification !== undefined && ca.length === 0 && !acceptAnyCert && !allowAnonymous) throw new Error(noGoodRoot)
  const protocols = server.alpnProtocols ?? []
  return {
    ...readAuthentication(root, authentication),
    ...(protocols.length === 0 ? {} : { ALPNProtocols: [...protocols] }),
    requestCert: verification !== undefined,
    rejectUnauthorized: false,
    ca
  }
}

const clientOptions = (root: string, client: StealTls["agentAsClient"]): tls.ConnectionOptions => {
  const { acceptAnyCert = false, trustRoots } = client.verification
  const ca = acceptAnyCert ? [] : readRoots(root, trustRoots)
  if (!acceptAnyCert && ca.length === 0) throw new Error(noGoodRoot)
  const authentication = client.authentication ?? undefined
  return {
    ...(authentication === undefined ? {} : readAuthentication(root, authentication)),
    rejectUnauthorized: !acceptAnyCert,
    ca
  }
}

/** Whether a peer may come with the certificate that it has shown, or with none. */
const isWelcome = (socket: tls.TLSSocket, { verification }: StealTls["agentAsServer"]): boolean => {
  if (verification === undefined || verification === null) return true
  const { acceptAnyCert = false, allowAnonymous = false } = verification
  const isAnonymous = socket.getPeerX509Certificate() === undefined
  return isAnonymous ? allowAnonymous : acceptAnyCert || socket.authorized
}

/** The end of a handshake. */
interface StolenHandshake {
  readonly secured: (connection: IncomingConnection) => void
  /** `reason`: a clause. The connection is cut already. */
  readonly failed: (reason: string) => void
}

/** The TLS of the ports of one target. Files are read at the first connection to a port. */
export class StealTlsPorts {
  readonly #root: string
  readonly #ports: ReadonlyMap<number, StealTls>
  readonly #read = new Map<number, { readonly server: tls.TlsOptions; readonly client: tls.ConnectionOptions }>()

  constructor(root: string, ports: ReadonlyArray<StealTls>) {
    this.#root = root
    this.#ports = new Map(ports.map((port) => [port.port, port]))
  }

  /** Takes the TLS off a connection, if its port has any. */
  accept(redirected: RedirectedConnection, { failed, secured }: StolenHandshake): void {
    const { destination, socket } = redirected
    const port = this.#ports.get(destination.port)
    if (port === undefined) return secured({ ...redirected, transport: { _tag: "Tcp" } })
    const fail = (error: unknown): void => {
      socket.destroy()
      failed(describeError(error))
    }
    try {
      const { client, server } = this.#optionsOf(port)
      const acceptor = tls.createServer(server, (peer) => {
        if (isWelcome(peer, port.agentAsServer)) return secured(clearText(redirected, peer, client))
        // Nobody listens to the connection yet.
        peer.on("error", () => undefined).destroy()
        fail(new Error("the peer shows no certificate that passes"))
      })
      acceptor.on("tlsClientError", fail)
      socket.on("error", () => undefined)
      acceptor.emit("connection", socket)
    } catch (error) {
      fail(error)
    }
  }

  #optionsOf(port: StealTls) {
    const known = this.#read.get(port.port)
    if (known !== undefined) return known
    const read = {
      server: serverOptions(this.#root, port.agentAsServer),
      client: clientOptions(this.#root, port.agentAsClient)
    }
    this.#read.set(port.port, read)
    return read
  }
}

/** The application is reached as the peer came: with its server name, or else by address, and with its protocol. */
const clearText = (
  redirected: RedirectedConnection,
  peer: tls.TLSSocket,
  client: tls.ConnectionOptions
): IncomingConnection => {
  const serverName = typeof peer.servername === "string" && peer.servername !== "" ? peer.servername : undefined
  const alpn = typeof peer.alpnProtocol === "string" && peer.alpnProtocol !== "" ? peer.alpnProtocol : undefined
  const connectToApplication = (): Duplex => {
    const socket = redirected.connectToApplication()
    const secure = tls.connect({
      ...client,
      socket,
      host: redirected.destination.ip,
      ...(serverName === undefined || isIP(serverName) !== 0 ? {} : { servername: serverName }),
      ...(alpn === undefined ? {} : { ALPNProtocols: [alpn] })
    })
    socket.on("error", (error) => secure.destroy(error))
    return secure
  }
  return {
    ...redirected,
    socket: peer,
    connectToApplication,
    transport: {
      _tag: "Tls",
      alpnProtocol: alpn === undefined ? null : Buffer.from(alpn),
      serverName: serverName ?? null
    }
  }
}
