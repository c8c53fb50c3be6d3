/** Stealing and mirroring on ports that serve TLS. Every agent must pass, as in `incoming-suite.ts`. */

import { once } from "node:events"
import * as http from "node:http"
import type { Socket } from "node:net"
import * as tls from "node:tls"
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import type { StealTls } from "../../../../lab/agent/incoming/steal-tls.ts"
import { until } from "../../../support/until.ts"
import { selfSigned } from "../../cluster/node/self-signed.ts"
import { AgentClient } from "../agent-client.ts"
import type { RunningAgent } from "../agent-harness.ts"
import { fetchFrom, rawPeer } from "../http-peer.ts"
import { Http2Peer } from "../http2-peer.ts"
import { targetPort } from "../loopback-target.ts"
import type { IncomingWorld, ServerCertificate, StartWorld } from "./incoming-world.ts"
import { data, header, mirrorAll, over, received, response, start, stealAll, stealFiltered } from "./suite-messages.ts"

const name = "shop.example"

/** `startWorld` is called for each test. */
export const tlsSuite = (startWorld: StartWorld): void => {
  describe("TLS of stolen traffic", () => {
    let application: ServerCertificate
    let shown: ServerCertificate
    let other: ServerCertificate
    let world: IncomingWorld
    let agent: RunningAgent | undefined
    const clients: Array<AgentClient> = []
    const sockets: Array<Socket> = []

    beforeAll(async () => {
      ;[application, shown, other] = [await selfSigned(), await selfSigned(), await selfSigned()]
    })
    beforeEach(async () => {
      world = await startWorld(application)
    })
    afterEach(async () => {
      for (const client of clients.splice(0)) client.close()
      for (const socket of sockets.splice(0)) socket.destroy()
      await agent?.stop()
      agent = undefined
      await world.close()
    })

    const authentication = () => ({
      certPem: world.write("shown.crt", shown.cert),
      keyPem: world.write("shown.key", shown.key)
    })

    /** A client of an agent with these settings for the target's port. */
    const begin = async (
      server: Partial<StealTls["agentAsServer"]> = {},
      client: StealTls["agentAsClient"] = { verification: { acceptAnyCert: true } }
    ): Promise<AgentClient> => {
      const alpnProtocols = ["h2", "http/1.1", "other"]
      const agentAsServer = { authentication: authentication(), alpnProtocols, ...server }
      agent = await world.startAgent({ stealTls: [{ port: targetPort, agentAsServer, agentAsClient: client }] })
      const begun = new AgentClient(agent.port)
      clients.push(begun)
      await begun.ask({ _tag: "SwitchProtocolVersion", value: "1.29.0" })
      return begun
    }

    /** A peer that insists on the certificate that the agent shows. */
    const dial = async (given: tls.ConnectionOptions = {}): Promise<tls.TLSSocket> => {
      const socket = tls.connect({
        host: "127.0.0.1",
        port: world.entry,
        ca: shown.cert,
        servername: name,
        checkServerIdentity: () => undefined,
        ...given
      })
      sockets.push(socket)
      socket.on("error", () => undefined)
      await new Promise<void>((resolve) => socket.once("secureConnect", resolve).once("close", () => resolve()))
      return socket
    }

    const get = async (headers: Readonly<Record<string, string>>, given: tls.ConnectionOptions = {}) => {
      const socket = await dial(given)
      const keepAlive = Object.assign(new http.Agent({ keepAlive: true }), { createConnection: () => socket })
      return fetchFrom(world.entry, { path: "/p", headers: { host: name, ...headers }, agent: keepAlive })
    }

    /** How a connection of {@link dial} came. */
    const cameWith = (alpnProtocol: string | null, serverName: string | null = name) => ({
      transport: { _tag: "Tls", alpnProtocol, serverName }
    })

    it.each([["http/1.1"], [undefined]])("filters requests of HTTP/1.1 (protocol %s)", async (protocol) => {
      const client = await begin()
      await client.ask(stealFiltered(header("^x-steal: yes$")))
      const given = protocol === undefined ? {} : { ALPNProtocols: [protocol] }
      const stolen = get({ "x-steal": "yes" }, given)
      expect(await client.take(1)).toMatchObject([
        start(0n, { request: { uri: "/p", version: "HTTP/1.1" }, ...cameWith(protocol ?? null) })
      ])
      client.send(response(0n, "mine"))
      expect((await stolen).body).toBe("mine")
      expect(await get({}, given)).toMatchObject({
        body: "application GET /p ",
        headers: { "x-tls": `${name} ${protocol ?? false}` }
      })
    })

    it("filters requests of HTTP/2", async () => {
      const client = await begin()
      await client.ask(stealFiltered(header("^x-steal: yes$")))
      const peer = new Http2Peer(0, { name, socket: await dial({ ALPNProtocols: ["h2"] }) })
      const stolen = peer.get("/p", { ":authority": name, "x-steal": "yes" })
      expect(await client.take(1)).toMatchObject([
        start(0n, { request: { uri: `https://${name}/p`, version: "HTTP/2.0" }, ...cameWith("h2") })
      ])
      client.send(response(0n, "mine"))
      expect((await stolen).body).toBe("mine")
      expect(await peer.post({ ":path": "/p" }, ["in", "put"], { "x-sum": "42" })).toMatchObject({
        body: "application POST /p input",
        headers: { "x-tls": `${name} h2` },
        trailers: { "x-sum": "42" }
      })
      peer.close()
    })

    it("steals what is not HTTP in clear text", async () => {
      const client = await begin()
      await client.ask(stealAll)
      const socket = await dial({ ALPNProtocols: ["other"] })
      socket.write("\0hello")
      expect(await client.take(2)).toMatchObject([
        { value: { _tag: "NewConnectionV2", value: cameWith("other") } },
        received(0n, "\0hello")
      ])
      client.send(data(0n, "back"))
      expect(String((await once(socket, "data"))[0])).toBe("back")
      socket.end()
      expect(await client.take(1)).toEqual([received(0n, "")])
    })

    it("gives what is not HTTP to the application on a filtered port, and mirrors it", async () => {
      const client = await begin()
      await client.ask(stealFiltered(header("x-steal")))
      await client.ask(mirrorAll)
      const socket = await dial({ servername: "", ALPNProtocols: [] })
      socket.write("\x16not HTTP\r\n\r\n")
      expect(String((await once(socket, "data"))[0])).toBe("application: not HTTP")
      expect(await client.take(2)).toMatchObject([
        { _tag: "Tcp", value: { _tag: "NewConnectionV2", value: cameWith(null, null) } },
        received(0n, "\x16not HTTP\r\n\r\n", "Tcp")
      ])
    })

    it("mirrors requests", async () => {
      const client = await begin()
      await client.ask(mirrorAll)
      expect((await get({})).body).toBe("application GET /p ")
      expect(await client.take(2)).toMatchObject([
        { _tag: "Tcp", value: { value: { _tag: "StartV2", value: cameWith(null) } } },
        over(0n, "Tcp")
      ])
    })

    it("refuses a peer that speaks no TLS, or no protocol that the port has, and serves the next", async () => {
      const client = await begin({ alpnProtocols: ["http/1.1"] })
      await client.ask(stealAll)
      const peer = rawPeer(world.entry)
      peer.socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
      await peer.ends()
      expect((await dial({ ALPNProtocols: ["h2"] })).destroyed).toBe(true)
      const asked = get({})
      expect(await client.take(1)).toMatchObject([start(0n)])
      client.send(response(0n, "mine"))
      expect((await asked).body).toBe("mine")
    })

    it("passes nothing on to an application whose certificate it does not trust", async () => {
      const client = await begin({}, { verification: { trustRoots: [world.write("other.crt", other.cert)] } })
      await client.ask(stealFiltered(header("x-steal")))
      expect(await get({})).toMatchObject({ status: 502, body: expect.stringMatching(/^mirrord-agent v3\.250\.0: /) })
    })

    it("asks peers for a certificate that it trusts, if it is told to", async () => {
      const trustRoots = [world.write("other.crt", other.cert)]
      const client = await begin({ alpnProtocols: [], verification: { trustRoots } })
      await client.ask(stealAll)
      for (const given of [{}, { cert: shown.cert, key: shown.key }]) {
        const socket = await dial(given)
        socket.resume()
        await until("the peer is refused", () => socket.closed || undefined)
      }
      const asked = get({}, { cert: other.cert, key: other.key })
      expect(await client.take(1)).toMatchObject([start(0n)])
      client.send(response(0n, "mine"))
      expect((await asked).body).toBe("mine")
    })

    it("takes any certificate, or none, if it is told to", async () => {
      const client = await begin({ verification: { acceptAnyCert: true, allowAnonymous: true } })
      await client.ask(stealAll)
      for (const [i, given] of [{}, { cert: other.cert, key: other.key }].entries()) {
        const asked = get({}, given)
        expect(await client.take(1)).toMatchObject([start(BigInt(i))])
        client.send(response(BigInt(i), "mine"))
        expect((await asked).body).toBe("mine")
        await client.take(1)
      }
    })

    it("refuses peers while a file is missing, and reads it when it is there", async () => {
      const certPem = world.write("later.crt", "")
      const client = await begin({ authentication: { certPem, keyPem: world.write("shown.key", shown.key) } })
      await client.ask(stealAll)
      expect((await dial()).destroyed).toBe(true)
      world.write("later.crt", shown.cert)
      const asked = get({})
      expect(await client.take(1)).toMatchObject([start(0n)])
      client.send(response(0n, "mine"))
      expect((await asked).body).toBe("mine")
    })
  })
}
