/** Tunnels and redemptions that WebSockets carry, through an ingress that ends TLS and a proxy of the environment. */

import http from "node:http"
import https from "node:https"
import { connect, type Server, type Socket } from "node:net"
import { Effect, Redacted } from "effect"
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest"
import { makeServingCertificate } from "../../../src/adapters/x509/serving-certificate.ts"
import { pinOf } from "../../../src/adapters/x509/tunnel-certificates.ts"
import type { DialFailed, TunnelIdentity } from "../../../src/ports/tunnel.ts"
import { listenLocally } from "../../support/listen-locally.ts"
import { dialler, echo, outpostIdentity, startCell, type TestCell, tunnelLife } from "../../support/tunnels.ts"
import { until } from "../../support/until.ts"

let cell: TestCell
let identity: TunnelIdentity
beforeAll(async () => {
  cell = await startCell()
  identity = await outpostIdentity(cell.authority)
})
afterAll(() => cell.close())

const sockets = new Set<Socket>()
const servers = new Set<Server>()
afterEach(() => {
  vi.unstubAllEnvs()
  for (const socket of sockets) socket.destroy()
  for (const server of servers) server.close()
})

const listening = async (server: Server): Promise<string> => {
  servers.add(server.on("connection", (socket: Socket) => sockets.add(socket.on("error", () => undefined))))
  return `localhost:${await listenLocally(server)}`
}

const portOf = (address: string): number => Number(address.split(":").at(-1))

/** An ingress: ends TLS by a certificate that nothing trusts, and leads upgrades on. */
const ingress = async (): Promise<string> => {
  const { certificatePem: cert, keyPem } = await makeServingCertificate(["ingress"], tunnelLife)
  const server = https.createServer({ cert, key: Redacted.value(keyPem) })
  server.on("upgrade", ({ headers, method, url }, socket) => {
    const onwards = connect(portOf(cell.webSocketAddress), "127.0.0.1", () => {
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`)
      onwards.write(`${[`${method} ${url} HTTP/1.1`, ...lines].join("\r\n")}\r\n\r\n`)
      onwards.pipe(socket).pipe(onwards)
    })
    onwards.on("close", () => socket.destroy())
    sockets.add(onwards.on("error", () => undefined))
  })
  return listening(server)
}

const failure = (address: string): Promise<DialFailed> =>
  Effect.runPromise(Effect.flip(Effect.scoped(dialler.dial({ address, identity, serve: echo }))))

describe("a WebSocket", () => {
  it.each([
    ["in clear", async () => `ws://${cell.webSocketAddress}/tunnels`],
    ["through an ingress that ends TLS, below a path", async () => `wss://${await ingress()}/of/braid/tunnels`]
  ])("carries a tunnel %s", async (_what, make) => {
    const before = cell.tunnels.length
    await cell.dial({ identity, address: await make() })
    const tunnel = await cell.tunnel(before)
    expect(tunnel.member.name).toBe("cluster-b")
    const lane = tunnel.openLane()
    const bytes = Buffer.alloc(3_000_000, "a lane's bytes ")
    lane.end(bytes)
    const got = new Array<Buffer>()
    for await (const chunk of lane) got.push(Buffer.from(chunk))
    expect(Buffer.concat(got).equals(bytes)).toBe(true)
    tunnel.destroy("it is over")
    await until("no connection is left", () => ([...sockets].every(({ destroyed }) => destroyed) ? true : undefined))
  })

  it("carries a redemption, whose authority is checked inside of it", async () => {
    const sequence = { epoch: "one", number: 1 }
    cell.redeem = () => Effect.succeed({ certificatePem: "C", authoritiesPem: "A", sequence })
    const token = { token: Redacted.make("t"), requestPem: "R", address: `wss://${await ingress()}/bootstrap` }
    const redeem = (pin: string) => Effect.runPromise(Effect.result(dialler.redeem({ ...token, pin })))
    expect(await redeem(pinOf(cell.authority.certificatePem))).toMatchObject({ success: { certificatePem: "C" } })
    expect(await redeem("00")).toMatchObject({ failure: { reason: "Untrusted" } })
  })

  it("goes through the proxy of the environment", async () => {
    const asked = new Array<string | undefined>()
    const proxy = http.createServer().on("connect", ({ url }, socket: Socket) => {
      asked.push(url)
      const onwards = connect(portOf(cell.webSocketAddress), "127.0.0.1")
      sockets.add(onwards.on("error", () => undefined))
      socket.write("HTTP/1.1 200 OK\r\n\r\n")
      onwards.pipe(socket).pipe(onwards)
    })
    vi.stubEnv("HTTP_PROXY", `http://${await listening(proxy)}`)
    await cell.dial({ identity, address: "ws://cell.invalid/tunnels" })
    expect(asked).toEqual(["cell.invalid:80"])
  })

  it.each([
    ["another path", async () => `ws://${cell.webSocketAddress}/elsewhere`, /it answers 404 to a WebSocket; let/],
    ["no server", async () => "ws://127.0.0.1:1/tunnels", /ECONNREFUSED/],
    ["the port of tunnels itself", async () => `ws://${cell.address}/tunnels`, /hang up|ECONNRESET|Parse/],
    [
      "a server that takes none",
      async () => `ws://${await listening(http.createServer((_, response) => response.end()))}/tunnels`,
      /it answers 200/
    ]
  ])("does not lead to %s, and the error says so", async (_what, make, message) => {
    expect(await failure(await make())).toMatchObject({
      reason: "Unreachable",
      message: expect.stringMatching(message)
    })
  })

  it("is all that the port takes, except for the question whether it is well", async () => {
    const status = async (path: string) => (await fetch(`http://${cell.webSocketAddress}${path}`)).status
    expect([await status("/"), await status("/tunnels")]).toEqual([200, 426])
  })
})
