import "reflect-metadata"
import { createPrivateKey } from "node:crypto"
import http from "node:http"
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2"
import { connect as connectTcp, createServer, type Server, type Socket } from "node:net"
import type { Duplex } from "node:stream"
import { createServer as createSecureServer } from "node:tls"
import { X509Certificate } from "@peculiar/x509"
import { Effect, Exit, Fiber, Redacted, Scope } from "effect"
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest"
import { makeServingCertificate } from "../../../src/adapters/x509/serving-certificate.ts"
import {
  importKeys,
  makeKeys,
  privateKeyPem,
  serverExtensions,
  signCertificate
} from "../../../src/adapters/x509/sign-certificate.ts"
import { type KeptCertificate, makeTunnelAuthority } from "../../../src/adapters/x509/tunnel-certificates.ts"
import type { DialFailed, DialOptions, LaneKind, TunnelIdentity } from "../../../src/ports/tunnel.ts"
import { listenLocally } from "../../support/listen-locally.ts"
import { socksProxy } from "../../support/socks-proxy.ts"
import {
  cellIdentity,
  dialler,
  echo,
  outpostIdentity,
  startCell,
  type TestCell,
  tunnelLife
} from "../../support/tunnels.ts"
import { untilTrue } from "../../support/until-true.ts"
import { until } from "../../support/until.ts"

let cell: TestCell
let identity: TunnelIdentity
beforeAll(async () => {
  cell = await startCell()
  identity = await outpostIdentity(cell.authority)
})
afterAll(() => cell.close())

const closers: Array<() => void> = []
afterEach(() => {
  vi.unstubAllEnvs()
  for (const close of closers.splice(0)) close()
})

const failure = (more: Partial<DialOptions>): Promise<DialFailed> =>
  Effect.runPromise(Effect.flip(Effect.scoped(dialler.dial({ address: cell.address, identity, serve: echo, ...more }))))

const listening = async (server: Server): Promise<string> => {
  const sockets = new Set<Socket>()
  server.on("connection", (socket: Socket) => sockets.add(socket.on("error", () => undefined)))
  closers.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `127.0.0.1:${await listenLocally(server)}`
}

/** Names that a server in the cell's place, or a proxy, was asked for. */
const asked = new Array<unknown>()
afterEach(() => void asked.splice(0))

/** A server in the cell's place that shows this certificate. */
const impostor = ({ certificatePem, keyPem }: Pick<TunnelIdentity, "certificatePem" | "keyPem">): Promise<string> =>
  listening(
    createSecureServer(
      {
        cert: certificatePem,
        key: Redacted.value(keyPem),
        ALPNProtocols: ["braid-tunnel/1"],
        SNICallback: (name, done) => {
          asked.push(name)
          done(null)
        }
      },
      (socket) => {
        socket.on("error", () => undefined)
        connectHttp2("http://x", { createConnection: () => socket }).on("error", () => undefined)
      }
    )
  )

/** A server's certificate of this authority, as no cell makes one. */
const serverOf = async ({ certificatePem, keyPem: authorityKey }: KeptCertificate) => {
  const keys = await makeKeys(true)
  const { subject: issuer } = new X509Certificate(certificatePem)
  const signer = await importKeys(createPrivateKey(Redacted.value(authorityKey)))
  const of = { subject: "CN=x", issuer, life: tunnelLife, publicKey: keys.publicKey, signer }
  const leaf = await signCertificate({ ...of, extensions: serverExtensions(["cell.invalid"]) })
  return { certificatePem: leaf, keyPem: await privateKeyPem(keys.privateKey) }
}

describe("an outpost that dials", () => {
  const later = { from: Date.now() + 3_600_000, until: Date.now() + 7_200_000 }
  const foreign =
    /answers with its own certificate.*: issuer "CN=braid (tunnel|serving) authority [0-9a-f]{8}", .+TLS insp/
  it.each([
    ["of a foreign authority, as of TLS inspection", () => makeServingCertificate(["x"], tunnelLife), foreign],
    ["of another primary", async () => cellIdentity(await makeTunnelAuthority(tunnelLife)), foreign],
    [
      "of a member",
      () => outpostIdentity(cell.authority),
      /issuer "CN=braid tunnel .+", (it was not made|INVALID_PURPOSE)/
    ],
    ["of a server that the primary signed", () => serverOf(cell.authority), /it has no single URI braid:cell;/],
    ["from the future", () => cellIdentity(cell.authority, later), /valid from .+ to .+ only; look at both clocks/]
  ])("trusts no certificate %s, and opens nothing", async (_what, make, message) => {
    const address = await impostor(await make())
    expect(await failure({ address })).toMatchObject({ reason: "Untrusted", message: expect.stringMatching(message) })
    // The name is for what stands before the cell and passes TLS through.
    await failure({ address: address.replace("127.0.0.1", "localhost") })
    expect(asked).toEqual(["localhost"])
  })

  it.each([
    ["nobody listens", async () => "127.0.0.1:1", /cannot be reached at 127.0.0.1:1: .*ECONNREFUSED/],
    ["its text is no address", async () => "nobody at home", /"nobody at home" is no host and port; write it as/],
    ["it has no port", async () => "[::1", /is no host and port/],
    [
      "another protocol is spoken",
      () => listening(http.createServer()),
      /cannot be reached at .+(WRONG_VERSION|wrong version)/i
    ],
    ["it hangs up", () => listening(createServer((socket) => void socket.destroy())), /cannot be reached at /]
  ])("fails when at the address %s", async (_what, make, message) => {
    expect(await failure({ address: await make() })).toMatchObject({
      reason: "Unreachable",
      message: expect.stringMatching(message)
    })
  })

  it("opens no lane that has another name, and no second control lane", async () => {
    const { certificatePem, keyPem } = await cellIdentity(cell.authority)
    const answers = new Array<unknown>()
    const sessions = new Array<ClientHttp2Session>()
    const server = createSecureServer(
      { cert: certificatePem, key: Redacted.value(keyPem), ALPNProtocols: ["braid-tunnel/1"] },
      (socket) => {
        const session = connectHttp2("http://x", { createConnection: () => socket }).on("error", () => undefined)
        sessions.push(session)
        const ask = (name: string, method = "CONNECT"): void => {
          const path = method === "CONNECT" ? {} : { ":path": "/", ":scheme": "http" }
          const stream = session.request({ ":method": method, ":authority": name, ...path }, { endStream: false })
          stream.on("error", () => undefined).on("response", (headers) => answers.push([name, headers[":status"]]))
        }
        for (const name of ["control", "control", "10.0.0.1:443", "api", "people"]) ask(name)
        ask("api", "GET")
      }
    )
    const served = vi.fn((lane: Duplex, _kind: LaneKind) => echo(lane))
    await cell.dial({ address: await listening(server), serve: served })
    await until("all answers", () => (answers.length === 6 ? true : undefined))
    expect(sessions[0]?.remoteSettings).toMatchObject({ maxConcurrentStreams: 1_000, initialWindowSize: 262_144 })
    // All lanes together may have more under way than Node's 64 KiB.
    expect(sessions[0]?.state.remoteWindowSize).toBeGreaterThan(4_000_000)
    expect(answers).toEqual([
      ["control", 200],
      ["control", 403],
      ["10.0.0.1:443", 403],
      ["api", 200],
      ["people", 200],
      ["api", 403]
    ])
    expect(served.mock.calls.map(([, kind]) => kind)).toEqual(["api", "people"])
  })

  it("given up while it dials leaves no connection behind", async () => {
    const sockets = new Array<Socket>()
    const address = await listening(createServer((socket) => void sockets.push(socket.resume())))
    const scope = Effect.runSync(Scope.make())
    const fiber = Effect.runFork(dialler.dial({ address, identity, serve: echo }).pipe(Scope.provide(scope)))
    const socket = await until("the connection", () => sockets[0])
    await Effect.runPromise(Fiber.interrupt(fiber))
    await until("it is closed", () => (socket.destroyed ? true : undefined))
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })
})

describe("an outpost behind a proxy", () => {
  const viaHttp = (status: string): Promise<string> =>
    listening(
      http.createServer().on("connect", (request, socket: Socket) => {
        asked.push({ target: request.url, credentials: request.headers["proxy-authorization"] })
        socket.write(`HTTP/1.1 ${status}\r\n\r\n`)
        if (!status.startsWith("200")) return void socket.end()
        const onwards = connectTcp(Number(cell.address.split(":")[1]), "127.0.0.1")
        closers.push(() => onwards.destroy())
        onwards.on("error", () => undefined).pipe(socket)
        return socket.pipe(onwards)
      })
    )
  const port = (): string => cell.address.split(":")[1] ?? ""

  it("dials through one for HTTP, by name, with its credentials", async () => {
    vi.stubEnv("HTTPS_PROXY", `http://me:s%20ecret@${await viaHttp("200 Connection established")}`)
    await cell.dial({ address: "cell.invalid:8443" })
    const credentials = `Basic ${Buffer.from("me:s ecret").toString("base64")}`
    expect(asked).toEqual([{ target: "cell.invalid:8443", credentials }])
  })

  it("dials through one for SOCKS", async () => {
    const targets = new Array<string | undefined>()
    vi.stubEnv(
      "HTTPS_PROXY",
      `socks5://${await listening(socksProxy(Number(port()), (target) => targets.push(target)))}`
    )
    await cell.dial({ address: "cell.invalid:8443" })
    expect(targets).toEqual(["cell.invalid:8443"])
  })

  it("leaves no connection to one for SOCKS that says nothing when the dial is given up", async () => {
    const sockets = new Array<Socket>()
    const silent = createServer((socket) => void sockets.push(socket.on("error", () => undefined).resume()))
    vi.stubEnv("HTTPS_PROXY", `socks5://${await listening(silent)}`)
    const dialling = Effect.runFork(
      Effect.scoped(dialler.dial({ address: "cell.invalid:8443", identity, serve: echo }))
    )
    const socket = await until("the proxy is dialled", () => sockets[0])
    await Effect.runPromise(Fiber.interrupt(dialling))
    await untilTrue("the connection is closed", () => socket.closed)
  })

  it("dials without one where NO_PROXY says so", async () => {
    vi.stubEnv("HTTPS_PROXY", "http://127.0.0.1:1")
    vi.stubEnv("NO_PROXY", "127.0.0.1")
    await cell.dial()
  })

  it.each([
    ["refuses", () => viaHttp("407 Proxy Authentication Required"), /it answers 407 Proxy .+ \(through the proxy 127/],
    ["is not there", async () => "127.0.0.1:1", /ECONNREFUSED.* \(through the proxy 127.0.0.1:1\)/],
    ["has no address", async () => "", /its URL cannot be read/],
    ["has a password with a %", async () => "%@127.0.0.1:1", /its URL cannot be read.* \(through the proxy 127/]
  ])("says so when the proxy %s, without its credentials", async (_what, make, message) => {
    vi.stubEnv("HTTPS_PROXY", `http://me:secret@${await make()}`)
    const error = await failure({ address: "cell.invalid:8443" })
    expect(error).toMatchObject({ reason: "Unreachable", message: expect.stringMatching(message) })
    expect(error.message).not.toContain("secret")
  })
})
