/**
 * Stealing and mirroring over real sockets, from the peer's request to the client's messages and back. Every agent must
 * pass: the reference agent (`agent-incoming.test.ts`) and mirrord's own (`test/node/agent-incoming.test.ts`).
 */

import * as http from "node:http"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { at } from "../../../../src/domain/json.ts"
import type { HttpFilter } from "../../../../src/domain/protocol/http-filter-messages.ts"
import { until } from "../../../support/until.ts"
import { AgentClient } from "../agent-client.ts"
import type { RunningAgent } from "../agent-harness.ts"
import { fetchFrom, rawPeer } from "../http-peer.ts"
import { targetPort } from "../loopback-target.ts"
import type { IncomingWorld } from "./incoming-world.ts"
import {
  chunked,
  chunkedBody,
  chunkedStart,
  confirmed,
  data,
  frame,
  header,
  mirrorAll,
  mirrorFiltered,
  over,
  readRequest,
  received,
  response,
  start,
  steal,
  stealAll,
  stealFiltered
} from "./suite-messages.ts"

const alone = [
  "tells the client when the peer is gone",
  "1.3.0 gets the whole request with its body, framed",
  "without a version the whole request with its body comes in one piece"
] as const

/** Tests that an agent does not pass, each with the reason. */
export type Differences = Readonly<Partial<Record<(typeof alone)[number], string>>>

/** `startWorld` is called for each test. */
export const incomingSuite = (startWorld: () => Promise<IncomingWorld>, differences: Differences = {}): void => {
  const unlessDifferent = (name: (typeof alone)[number], run: () => Promise<void>): void => {
    for (const test of differences[name] === undefined ? [name] : []) it(test, run)
  }
  let world: IncomingWorld
  let agent: RunningAgent
  const clients: Array<AgentClient> = []

  beforeEach(async () => {
    world = await startWorld()
    agent = await world.startAgent()
  })

  afterEach(async () => {
    for (const client of clients.splice(0)) client.close()
    await agent.stop()
    await world.close()
  })

  const newClient = async (version?: string, logs = false): Promise<AgentClient> => {
    const client = new AgentClient(agent.port)
    clients.push(client)
    if (version !== undefined) await client.ask({ _tag: "SwitchProtocolVersion", value: version })
    if (logs) client.send({ _tag: "ReadyForLogs" })
    return client
  }

  /** The redirect follows the agent's answers: they may be here before its rules have changed. */
  const isRedirected = (wanted: boolean): Promise<true> =>
    until(`the port is ${wanted ? "" : "not "}redirected`, async () =>
      (await world.redirected()) === wanted ? true : undefined
    )

  describe("stealing HTTP", () => {
    it("hands over every request of an unfiltered port, each under its own number", async () => {
      const client = await newClient("1.29.0")
      expect(await client.ask(stealAll)).toEqual(confirmed("TcpSteal"))
      const keepAlive = new http.Agent({ keepAlive: true, maxSockets: 1 })
      const first = fetchFrom(world.entry, { path: "/a?b=c", headers: { "X-Dup": "1" }, agent: keepAlive })
      const seen = await client.next()
      expect(seen).toMatchObject(
        start(0n, {
          request: { method: "GET", uri: "/a?b=c", version: "HTTP/1.1", body: { frames: [], isLast: true } },
          metadata: { _tag: "V1", source: { ip: world.peerIp }, destination: { ip: world.podIp, port: targetPort } },
          transport: { _tag: "Tcp" }
        })
      )
      client.send(response(0n, "mine", 201, { "x-mine": "yes" }))
      expect(await first).toMatchObject({
        status: 201,
        body: "mine",
        headers: { "x-mine": "yes", date: expect.any(String) }
      })
      expect(await client.take(1)).toEqual([over(0n)])
      const second = fetchFrom(world.entry, { path: "/second", agent: keepAlive })
      expect(await client.take(1)).toMatchObject([start(1n, { request: { uri: "/second" } })])
      client.send(response(1n, "again"))
      expect(await second).toMatchObject({ body: "again" })
      keepAlive.destroy()
    })

    it("asks caches to forget", async () => {
      const client = await newClient("1.29.0")
      await client.ask(stealFiltered(header("^x-user: ann$")))
      expect((await fetchFrom(world.entry)).headers["cache-control"]).toBe("no-cache, no-store, must-revalidate")
    })

    it("hands over what a filter matches and gives the rest to the application, on one connection", async () => {
      const client = await newClient("1.29.0")
      await client.ask(
        stealFiltered({
          _tag: "Composite",
          all: true,
          filters: [
            header("^X-User: ANN$"),
            { _tag: "Path", value: "^/api/" },
            { _tag: "Method", value: { _tag: "Get" } }
          ]
        })
      )
      const keepAlive = new http.Agent({ keepAlive: true, maxSockets: 1 })
      const get = (path: string, user: string, method = "GET") =>
        fetchFrom(world.entry, { path, method, headers: { "x-user": user }, agent: keepAlive })
      expect(await get("/api/x", "bob")).toMatchObject({
        body: "application GET /api/x ",
        headers: { "x-served-by": "application" }
      })
      const stolen = get("/api/x", "ann")
      expect(await client.take(1)).toMatchObject([start(0n)])
      client.send(response(0n, "ann's"))
      expect((await stolen).body).toBe("ann's")
      expect((await get("/other", "ann")).body).toBe("application GET /other ")
      expect((await get("/api/x", "ann", "DELETE")).body).toBe("application DELETE /api/x ")
      keepAlive.destroy()
    })

    it("streams a body with its trailers", async () => {
      const client = await newClient("1.29.0")
      await client.ask(stealAll)
      const asked = fetchFrom(world.entry, {
        method: "POST",
        headers: { "transfer-encoding": "chunked", trailer: "x-sum" },
        body: ["a".repeat(20_000)],
        trailers: { "x-sum": "42" }
      })
      const { text, trailers } = await readRequest(client)
      expect(text).toBe("a".repeat(20_000))
      expect(trailers).toEqual([["x-sum", "42"]])
      client.send(response(0n, ""))
      expect((await asked).status).toBe(200)
    })

    it("streams an answer with its trailers", async () => {
      const client = await newClient("1.29.0")
      await client.ask(stealAll)
      const asked = fetchFrom(world.entry, { headers: { te: "trailers" } })
      await client.next()
      client.send(
        chunkedStart(0n, [["trailer", "x-sum"]]),
        chunkedBody(0n, [frame("two ")], false),
        chunkedBody(0n, [frame("three"), { _tag: "Trailers", value: [["x-sum", Buffer.from("7")]] }], true)
      )
      expect(await asked).toMatchObject({ status: 200, body: "one two three", trailers: { "x-sum": "7" } })
      expect(await client.take(1)).toEqual([over(0n)])
    })

    it("takes the oldest form of an answer", async () => {
      const client = await newClient("1.29.0")
      await client.ask(stealAll)
      const asked = fetchFrom(world.entry)
      await client.next()
      const internalResponse = { status: 502, version: "HTTP/1.1", headers: [], body: Buffer.from("local failure") }
      client.send(
        steal({ _tag: "HttpResponse", value: { port: targetPort, connectionId: 0n, requestId: 0, internalResponse } })
      )
      expect(await asked).toMatchObject({ status: 502, body: "local failure" })
    })

    it("ignores answers to other requests", async () => {
      const client = await newClient("1.29.0")
      await client.ask(stealAll)
      const asked = fetchFrom(world.entry)
      await client.next()
      const internalResponse = { status: 500, version: "HTTP/1.1", headers: [], body: [] }
      client.send(
        steal({
          _tag: "HttpResponseFramed",
          value: { port: targetPort, connectionId: 0n, requestId: 1, internalResponse }
        })
      )
      client.send(response(9n, "nobody asked"), response(0n, "right"))
      expect((await asked).body).toBe("right")
    })

    it("answers 502 for a client that leaves, and gives the port back at once", async () => {
      const client = await newClient("1.29.0")
      await client.ask(stealAll)
      const asked = fetchFrom(world.entry)
      await client.next()
      client.socket.end()
      const answer = await asked
      expect(answer).toMatchObject({ status: 502, body: "mirrord-agent v3.250.0: the request was dropped\n" })
      expect(Object.keys(answer.headers).toSorted()).toEqual(["connection", "content-length", "date"])
      await isRedirected(false)
      expect((await fetchFrom(world.entry)).body).toBe("application GET / ")
    })

    it("answers 502 for a request that its client does not want", async () => {
      const client = await newClient("1.29.0")
      await client.ask(stealAll)
      const asked = fetchFrom(world.entry)
      await client.next()
      client.send(steal({ _tag: "ConnectionUnsubscribe", value: 0n }))
      expect((await asked).status).toBe(502)
      expect(await client.settle()).toEqual([])
    })

    it("ends an answer that its client cannot finish", async () => {
      const client = await newClient("1.29.0")
      await client.ask(stealAll)
      const asked = fetchFrom(world.entry)
      await client.next()
      client.send(chunkedStart(0n), chunked({ _tag: "Error", value: { connectionId: 0n, requestId: 0 } }))
      expect(await asked).toMatchObject({ status: 200, body: "one " })
      expect(await client.settle()).toEqual([])
    })

    it("ends an answer whose client leaves", async () => {
      const client = await newClient("1.29.0")
      await client.ask(stealAll)
      const asked = fetchFrom(world.entry)
      await client.next()
      client.send(chunkedStart(0n))
      client.socket.end()
      expect(await asked).toMatchObject({ status: 200, body: "one " })
    })

    unlessDifferent("tells the client when the peer is gone", async () => {
      const client = await newClient("1.29.0")
      await client.ask(stealAll)
      const peer = rawPeer(world.entry)
      peer.socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
      expect(await client.take(1)).toMatchObject([start(0n)])
      peer.socket.destroy()
      expect(await client.take(1)).toEqual([over(0n)])
    })

    it("carries large bodies both ways, with the application and with a client", async () => {
      const large = "x".repeat(3_000_000)
      const client = await newClient("1.29.0")
      await client.ask(stealFiltered(header("x-steal: yes")))
      expect((await fetchFrom(world.entry, { method: "PUT", body: [large] })).body).toBe(`application PUT / ${large}`)
      const asked = fetchFrom(world.entry, { method: "PUT", headers: { "x-steal": "yes" }, body: [large] })
      expect((await readRequest(client)).text === large).toBe(true)
      client.send(response(0n, large))
      expect((await asked).body).toBe(large)
    })

    it("lets one filtered client have a request that two want, and tells the other", async () => {
      const [one, two] = [await newClient("1.29.0", true), await newClient("1.29.0", true)]
      await one.ask(stealFiltered(header("x-a")))
      await two.ask(stealFiltered(header("x-b")))
      const asked = fetchFrom(world.entry, { headers: { "x-a": "1", "x-b": "1" } })
      const got = [await one.take(1), await two.take(1)].flat()
      // It may be either of the two.
      expect(got).toContainEqual(expect.objectContaining({ _tag: "LogMessage" }))
      const thief = got.findIndex((message) => at(message, "_tag") === "TcpSteal")
      expect(got[thief]).toMatchObject(start(0n))
      for (const client of [[one], [two]][thief] ?? []) client.send(response(0n, "mine"))
      expect((await asked).body).toBe("mine")
    })

    it("evicts silently", async () => {
      const [one, two] = [await newClient("1.29.0"), await newClient("1.29.0")]
      await one.ask(stealAll)
      expect(await two.ask(stealAll)).toEqual(confirmed("TcpSteal"))
      const asked = fetchFrom(world.entry)
      expect(await two.take(1)).toMatchObject([start(0n)])
      two.send(response(0n, "two"))
      expect((await asked).body).toBe("two")
      expect(await one.settle()).toEqual([])
      one.send(steal({ _tag: "PortUnsubscribe", value: targetPort }))
      await one.settle()
      await isRedirected(true)
    })
  })

  it("filters skip headers whose values have more than ASCII can print", async () => {
    const client = await newClient("1.29.0")
    await client.ask(stealFiltered(header("^x-user")))
    const socket = rawPeer(world.entry)
    socket.socket.write(Buffer.from("GET / HTTP/1.1\r\nX-User: caf\xe9\r\nHost: x\r\n\r\n", "latin1"))
    await socket.hears("application GET / ")
  })

  describe("filters that cannot be", () => {
    const bad: ReadonlyArray<HttpFilter> = [header("("), { _tag: "Path", value: "(" }]

    it.each(bad)("a steal with %j is refused with Close, and the connection stays", async (filter) => {
      const client = await newClient("1.29.0")
      expect(await client.ask(stealFiltered(filter))).toMatchObject({ _tag: "Close" })
      expect(await client.settle()).toEqual([])
      await isRedirected(false)
    })

    it.each(bad)("a mirror with %j ends the connection", async (filter) => {
      const client = await newClient("1.29.0")
      expect(await client.ask(mirrorFiltered(filter))).toMatchObject({ _tag: "Close" })
      expect(await client.next()).toBeUndefined()
    })
  })

  describe("versions", () => {
    const filtered = stealFiltered(header("x-steal"))
    const post = () => fetchFrom(world.entry, { method: "POST", headers: { "x-steal": "1" }, body: ["in", "put"] })
    const head = { method: "POST", uri: "/", version: "HTTP/1.1" }
    const answer = async (client: AgentClient, asked: ReturnType<typeof post>): Promise<void> => {
      client.send(response(0n, "ok"))
      expect((await asked).body).toBe("ok")
    }

    it("1.7.0 gets StartV1 and Body", async () => {
      const client = await newClient("1.7.0")
      await client.ask(filtered)
      const asked = post()
      expect(await client.take(1)).toMatchObject([
        {
          value: {
            value: {
              _tag: "StartV1",
              value: { internalRequest: head, connectionId: 0n, requestId: 0, port: targetPort }
            }
          }
        }
      ])
      expect(await client.take(1)).toMatchObject([{ value: { value: { _tag: "Body" } } }])
      await answer(client, asked)
    })

    it("1.3.0 gets a request without a body framed, too", async () => {
      const client = await newClient("1.3.0")
      await client.ask(filtered)
      const asked = fetchFrom(world.entry, { headers: { "x-steal": "1" } })
      expect(await client.next()).toMatchObject({
        value: { _tag: "HttpRequestFramed", value: { internalRequest: { method: "GET" }, connectionId: 0n } }
      })
      await answer(client, asked)
    })

    unlessDifferent("1.3.0 gets the whole request with its body, framed", async () => {
      const client = await newClient("1.3.0")
      await client.ask(filtered)
      const asked = post()
      const message = await client.next()
      expect(message).toMatchObject({
        value: { _tag: "HttpRequestFramed", value: { internalRequest: head, connectionId: 0n } }
      })
      await answer(client, asked)
    })

    unlessDifferent("without a version the whole request with its body comes in one piece", async () => {
      const client = await newClient()
      await client.ask(
        steal({ _tag: "PortSubscribe", value: { _tag: "FilteredHttp", port: targetPort, filter: "x-steal" } })
      )
      const asked = post()
      expect(await client.take(1)).toMatchObject([
        {
          _tag: "TcpSteal",
          value: { _tag: "HttpRequest", value: { internalRequest: { ...head, body: "input" }, port: targetPort } }
        }
      ])
      await answer(client, asked)
    })

    it("below 1.19.4 requests on an unfiltered port go to the application, with a word in the log", async () => {
      const client = await newClient("1.19.3", true)
      await client.ask(stealAll)
      expect((await fetchFrom(world.entry)).body).toBe("application GET / ")
      expect(await client.settle()).toMatchObject([{ _tag: "LogMessage", value: { level: { _tag: "Error" } } }])
    })

    it("below 1.19.4 connections come as NewConnectionV1", async () => {
      const client = await newClient("1.19.3")
      await client.ask(stealAll)
      rawPeer(world.entry).socket.end("\0binary")
      expect(await client.take(1)).toMatchObject([
        {
          _tag: "TcpSteal",
          value: {
            _tag: "NewConnectionV1",
            value: { connectionId: 0n, destinationPort: targetPort, localAddress: world.podIp }
          }
        }
      ])
    })

    it("below 1.19.4 requests are not mirrored, with a word in the log", async () => {
      const client = await newClient("1.19.3", true)
      await client.ask(mirrorAll)
      await fetchFrom(world.entry)
      expect(await client.settle()).toMatchObject([{ _tag: "LogMessage", value: { level: { _tag: "Error" } } }])
    })
  })

  describe("other than HTTP", () => {
    const opened = (connectionId: bigint, _tag = "TcpSteal") => ({
      _tag,
      value: {
        _tag: "NewConnectionV2",
        value: {
          connection: {
            connectionId,
            remoteAddress: world.peerIp,
            destinationPort: targetPort,
            localAddress: world.podIp
          },
          transport: { _tag: "Tcp" }
        }
      }
    })

    it("steals a connection: data, half-close and close", async () => {
      const client = await newClient("1.29.0")
      await client.ask(stealAll)
      const peer = rawPeer(world.entry)
      peer.socket.write("\x16hello")
      expect(await client.take(2)).toMatchObject([opened(0n), received(0n, "\x16hello")])
      client.send(data(0n, "back"))
      await peer.hears("back")
      peer.socket.end("more")
      expect(await client.take(2)).toEqual([received(0n, "more"), received(0n, "")])
      expect(await client.settle()).toEqual([])
      client.send(data(0n, "rest"), data(0n, ""))
      await peer.ends()
      expect(peer.text()).toBe("backrest")
      expect(await client.take(1)).toEqual([over(0n)])
    })

    it("reports a silent peer after the detection time-out", async () => {
      await agent.stop()
      agent = await world.startAgent({ httpDetectionTimeoutSecs: 1 })
      const client = await newClient("1.29.0")
      await client.ask(stealAll)
      const peer = rawPeer(world.entry)
      expect(await client.take(1)).toMatchObject([opened(0n)])
      client.send(data(0n, "220 welcome"))
      await peer.hears("220 welcome")
      client.send(steal({ _tag: "ConnectionUnsubscribe", value: 0n }))
      await peer.ends()
      expect(await client.settle()).toEqual([])
    })

    it("ends a stolen connection of a client that leaves", async () => {
      const client = await newClient("1.29.0")
      await client.ask(stealAll)
      const peer = rawPeer(world.entry)
      peer.socket.write("\0")
      await client.take(2)
      client.close()
      await peer.ends()
    })

    it("gives it to the application on a filtered port", async () => {
      const client = await newClient("1.29.0")
      await client.ask(stealFiltered(header("x")))
      const peer = rawPeer(world.entry)
      peer.socket.write("\x16\x03\x01 not HTTP\r\n\r\n")
      await peer.hears("application: not HTTP")
      expect(await client.settle()).toEqual([])
    })

    it("mirrors a connection while the application answers", async () => {
      const client = await newClient("1.29.0")
      await client.ask(mirrorAll)
      const peer = rawPeer(world.entry)
      peer.socket.write("\x16not HTTP\r\n\r\n")
      await peer.hears("application: not HTTP")
      expect(await client.take(2)).toMatchObject([opened(0n, "Tcp"), received(0n, "\x16not HTTP\r\n\r\n", "Tcp")])
      peer.socket.end()
      expect(await client.take(2)).toEqual([received(0n, "", "Tcp"), over(0n, "Tcp")])
    })
  })

  describe("mirroring HTTP", () => {
    it("copies requests while the application answers", async () => {
      const client = await newClient("1.29.0")
      expect(await client.ask(mirrorAll)).toEqual(confirmed("Tcp"))
      const answer = await fetchFrom(world.entry, { method: "POST", path: "/m", body: ["data"] })
      expect(answer.body).toBe("application POST /m data")
      expect(await readRequest(client)).toMatchObject({ method: "POST", uri: "/m", text: "data" })
      expect(await client.take(1)).toEqual([over(0n, "Tcp")])
    })

    it("copies only what a filter matches, and stolen requests too", async () => {
      const [mirror, thief] = [await newClient("1.29.0"), await newClient("1.29.0")]
      const filter: HttpFilter = { _tag: "Path", value: "^/a" }
      await mirror.ask(mirrorFiltered(filter))
      await thief.ask(stealAll)
      const asked = [fetchFrom(world.entry, { path: "/a" })]
      expect(await thief.take(1)).toMatchObject([start(0n)])
      asked.push(fetchFrom(world.entry, { path: "/b" }))
      expect(await thief.take(1)).toMatchObject([start(1n)])
      thief.send(response(0n, ""), response(1n, ""))
      await Promise.all(asked)
      expect(await mirror.take(2)).toMatchObject([
        { _tag: "Tcp", value: { value: { _tag: "StartV2", value: { request: { uri: "/a" } } } } },
        over(0n, "Tcp")
      ])
      expect(await mirror.settle()).toEqual([])
    })

    it("stops a copy that the client does not want", async () => {
      const client = await newClient("1.29.0")
      await client.ask(mirrorAll)
      const peer = rawPeer(world.entry)
      peer.socket.write("\0one")
      await client.take(2)
      client.send({ _tag: "Tcp", value: { _tag: "ConnectionUnsubscribe", value: 0n } })
      await client.settle()
      peer.socket.end("two")
      await peer.ends()
      expect(await client.settle()).toEqual([])
    })

    it("ends with the subscription", async () => {
      const client = await newClient("1.29.0")
      await client.ask(mirrorAll)
      client.send({ _tag: "Tcp", value: { _tag: "PortUnsubscribe", value: targetPort } })
      await client.settle()
      await isRedirected(false)
    })
  })

  describe("upgrades", () => {
    const handshake = "GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\nX-Steal: 1\r\n\r\n"

    it("turns a stolen request into a raw connection", async () => {
      const client = await newClient("1.29.0")
      await client.ask(stealFiltered(header("x-steal")))
      const peer = rawPeer(world.entry)
      peer.socket.write(handshake)
      expect(await client.take(1)).toMatchObject([start(0n, { request: { uri: "/ws", body: { isLast: true } } })])
      client.send(data(0n, "too early"), response(0n, "", 101, { connection: "upgrade", upgrade: "echo" }))
      await peer.hears("\r\n\r\n")
      expect(peer.text()).toMatch(/^HTTP\/1.1 101 [^]*\r\nupgrade: echo\r\n/i)
      peer.socket.write("frames")
      expect(await client.take(1)).toEqual([received(0n, "frames")])
      client.send(data(0n, "answers"))
      await peer.hears("answers")
      expect(peer.text()).not.toContain("too early")
      peer.socket.end()
      expect(await client.take(1)).toEqual([received(0n, "")])
      client.send(data(0n, ""))
      expect(await client.take(1)).toEqual([over(0n)])
    })

    it("can be declined", async () => {
      const client = await newClient("1.29.0")
      await client.ask(stealFiltered(header("x-steal")))
      const peer = rawPeer(world.entry)
      peer.socket.write(handshake)
      await client.next()
      client.send(response(0n, "declined", 403))
      await peer.hears("declined")
      expect(peer.text()).toMatch(/^HTTP\/1.1 403 Forbidden\r\n/)
      expect(await client.take(1)).toEqual([over(0n)])
    })

    it("reaches the application when nobody steals it", async () => {
      const client = await newClient("1.29.0")
      await client.ask(stealFiltered(header("x-other")))
      const peer = rawPeer(world.entry)
      peer.socket.write(handshake)
      await peer.hears("\r\n\r\n")
      expect(peer.text()).toMatch(/^HTTP\/1.1 101 [^]*\r\nupgrade: echo\r\n/i)
      peer.socket.write("echoed")
      await peer.hears("echoed")
      peer.socket.end()
      await peer.ends()
    })

    it("reaches the application for a client older than 1.5.0", async () => {
      const client = await newClient("1.4.0")
      await client.ask(stealFiltered(header("x-steal")))
      const peer = rawPeer(world.entry)
      peer.socket.write(handshake)
      await peer.hears("101 Switching Protocols")
      peer.socket.destroy()
    })

    it("gets a 502 from a client that leaves before it answers", async () => {
      const client = await newClient("1.29.0")
      await client.ask(stealFiltered(header("x-steal")))
      const peer = rawPeer(world.entry)
      peer.socket.write(handshake)
      await client.next()
      client.close()
      await peer.hears("the request was dropped")
      expect(peer.text()).toMatch(/^HTTP\/1.1 502/)
    })
  })

  it("answers 502 when the application cannot be reached", async () => {
    const client = await newClient("1.29.0")
    await client.ask(stealFiltered(header("x-steal")))
    await world.stopApplication()
    const answer = await fetchFrom(world.entry)
    expect(answer.status).toBe(502)
    expect(answer.body).toMatch(/^mirrord-agent v3\.250\.0: [^]*Connection refused \(os error 111\)/)
  })
}
