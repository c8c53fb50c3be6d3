/** Stealing and mirroring of HTTP/2 (with prior knowledge), as part of `incoming-suite.ts`. */

import { constants, sensitiveHeaders } from "node:http2"
import { afterEach, describe, expect, it } from "vitest"
import type { AgentClient } from "../agent-client.ts"
import { Http2Peer } from "../http2-peer.ts"
import { targetPort } from "../loopback-target.ts"
import type { IncomingWorld } from "./incoming-world.ts"
import {
  body,
  chunked,
  chunkedBody,
  chunkedStart,
  confirmed,
  frame,
  header,
  mirrorAll,
  mirrorFiltered,
  over,
  readRequest,
  response,
  start,
  steal,
  stealAll,
  stealFiltered
} from "./suite-messages.ts"

interface Http2World {
  readonly world: () => IncomingWorld
  readonly newClient: (version?: string, logs?: boolean) => Promise<AgentClient>
}

export const http2Cases = ({ newClient, world }: Http2World): void => {
  describe("HTTP/2", () => {
    const peers: Array<Http2Peer> = []
    afterEach(() => {
      for (const peer of peers.splice(0)) peer.close()
    })
    const newPeer = (): Http2Peer => {
      const peer = new Http2Peer(world().entry)
      peers.push(peer)
      return peer
    }

    it("hands over every request of an unfiltered port, its pseudo headers as method and absolute target", async () => {
      const client = await newClient("1.29.0")
      expect(await client.ask(stealAll)).toEqual(confirmed("TcpSteal"))
      const peer = newPeer()
      const asked = peer.get("/a?b=c", { ":authority": "shop.example:81", "x-dup": ["1", "2"], "x-u": "1" })
      expect(await client.take(1)).toEqual([
        start(0n, {
          request: {
            method: "GET",
            uri: "http://shop.example:81/a?b=c",
            version: "HTTP/2.0",
            headers: [
              ["x-dup", "1"],
              ["x-dup", "2"],
              ["x-u", "1"]
            ],
            body: { frames: [], isLast: true }
          },
          metadata: {
            _tag: "V1",
            source: { ip: world().peerIp, port: expect.any(Number) },
            destination: { ip: world().podIp, port: targetPort }
          },
          transport: { _tag: "Tcp" }
        })
      ])
      client.send(response(0n, "mine", 201, { "x-mine": "yes", connection: "close" }))
      const { headers, ...rest } = await asked
      expect(rest).toMatchObject({ body: "mine", code: 0, headersOnly: false })
      expect(headers).toEqual({
        ":status": 201,
        [sensitiveHeaders]: [],
        "cache-control": "no-cache, no-store, must-revalidate",
        date: expect.any(String),
        "x-mine": "yes"
      })
      expect(await client.take(1)).toEqual([over(0n)])
    })

    it("has the target in origin form where the peer names no authority, and its `host` as a header", async () => {
      const client = await newClient("1.29.0")
      await client.ask(stealAll)
      const asked = newPeer().get("/x", { host: "shop.example" })
      expect(await client.take(1)).toMatchObject([
        start(0n, { request: { uri: "/x", headers: [["host", "shop.example"]] } })
      ])
      client.send(response(0n, "mine"))
      expect((await asked).body).toBe("mine")
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
      const peer = newPeer()
      expect(await peer.get("/api/x", { "x-user": "bob" })).toMatchObject({
        body: "application GET /api/x ",
        headers: { "x-served-by": "application", "cache-control": "no-cache, no-store, must-revalidate" }
      })
      const stolen = peer.get("/api/x", { "x-user": "ann" })
      expect(await client.take(1)).toMatchObject([start(0n)])
      client.send(response(0n, "ann's"))
      expect((await stolen).body).toBe("ann's")
      expect((await peer.get("/other", { "x-user": "ann" })).body).toBe("application GET /other ")
      const removed = peer.begin({ ":method": "DELETE", ":path": "/api/x", "x-user": "ann" }).answered
      expect((await removed).body).toBe("application DELETE /api/x ")
    })

    it("carries several requests of one connection at once, and answers in any order", async () => {
      const client = await newClient("1.29.0")
      await client.ask(stealFiltered(header("x-steal: yes")))
      const peer = newPeer()
      const get = (path: string) => peer.get(path, { "x-steal": "yes" })
      const first = get("/1")
      expect(await client.take(1)).toMatchObject([start(0n)])
      const second = get("/2")
      expect(await client.take(1)).toMatchObject([start(1n)])
      expect((await peer.get("/3")).body).toBe("application GET /3 ")
      client.send(response(1n, "two"))
      expect((await second).body).toBe("two")
      client.send(response(0n, "one"))
      expect((await first).body).toBe("one")
    })

    it("streams bodies with their trailers, both ways", async () => {
      const client = await newClient("1.29.0")
      await client.ask(stealAll)
      const asked = newPeer().post({ ":path": "/up", te: "trailers" }, ["a".repeat(100_000)], { "x-sum": "42" })
      const { text, trailers } = await readRequest(client)
      expect(text).toBe("a".repeat(100_000))
      expect(trailers).toEqual([["x-sum", "42"]])
      client.send(
        chunkedStart(0n),
        chunkedBody(0n, [frame("two ")], false),
        chunkedBody(0n, [frame("three"), { _tag: "Trailers", value: [["grpc-status", Buffer.from("0")]] }], true)
      )
      expect(await asked).toMatchObject({ body: "one two three", trailers: { "grpc-status": "0" }, code: 0 })
      expect(await client.take(1)).toEqual([over(0n)])
    })

    it("carries large bodies of many requests at once", async () => {
      const client = await newClient("1.29.0")
      await client.ask(stealFiltered(header("x-steal: yes")))
      const peer = newPeer()
      const large = "x".repeat(500_000)
      const passed = Array.from({ length: 5 }, (_, i) => peer.post({ ":path": `/${i}` }, [large]))
      const stolen = peer.post({ ":path": "/", "x-steal": "yes" }, [large])
      expect((await readRequest(client)).text === large).toBe(true)
      client.send(response(0n, large))
      expect((await stolen).body === large).toBe(true)
      for (const [i, answer] of (await Promise.all(passed)).entries()) {
        expect(answer.body === `application POST /${i} ${large}`).toBe(true)
      }
    })

    it("gives no body to a peer that asks for the head alone", async () => {
      const client = await newClient("1.29.0")
      await client.ask(stealFiltered(header("x-steal")))
      const peer = newPeer()
      const head = (headers: object) => peer.begin({ ":method": "HEAD", ":path": "/", ...headers }).answered
      const asked = head({ "x-steal": "1" })
      await client.take(1)
      client.send(response(0n, ""))
      expect(await asked).toMatchObject({ headers: { ":status": 200 }, body: "", code: 0 })
      expect(await head({})).toMatchObject({ headers: { "x-served-by": "application" }, body: "", code: 0 })
    })

    it("below 1.19.4 requests on an unfiltered port go to the application", async () => {
      const client = await newClient("1.19.3")
      await client.ask(stealAll)
      expect((await newPeer().get("/")).body).toBe("application GET / ")
      expect(await client.settle()).toEqual([])
    })

    it("gives an answer without a body as headers alone", async () => {
      const client = await newClient("1.29.0")
      await client.ask(stealAll)
      const asked = newPeer().get("/")
      await client.take(1)
      const internalResponse = {
        status: 200,
        version: "HTTP/2.0",
        headers: [["grpc-status", Buffer.from("5")] as const],
        body: []
      }
      client.send(
        steal({
          _tag: "HttpResponseFramed",
          value: { port: targetPort, connectionId: 0n, requestId: 0, internalResponse }
        })
      )
      expect(await asked).toMatchObject({ headers: { "grpc-status": "5" }, headersOnly: true, code: 0 })
    })

    it("passes bodies and trailers to the application and back", async () => {
      const client = await newClient("1.29.0")
      await client.ask(stealFiltered(header("x-steal")))
      const large = "x".repeat(1_000_000)
      const peer = newPeer()
      expect(await peer.post({ ":path": "/p" }, [large, "end"], { "x-sum": "42" })).toMatchObject({
        body: `application POST /p ${large}end`,
        trailers: { "x-sum": "42" },
        code: 0
      })
      expect((await peer.post({ ":path": "/p" }, ["again"])).body).toBe("application POST /p again")
    })

    it("passes resets of the application on", async () => {
      const client = await newClient("1.29.0")
      await client.ask(stealFiltered(header("x-steal")))
      const peer = newPeer()
      const code = constants.NGHTTP2_ENHANCE_YOUR_CALM
      expect(await peer.get("/", { "x-code": code })).toMatchObject({
        headers: { ":status": 502 },
        body: expect.stringMatching(/^mirrord-agent v3\.250\.0: /)
      })
      expect(await peer.get("/half", { "x-code": code })).toMatchObject({ code })
      expect((await peer.get("/next")).body).toBe("application GET /next ")
    })

    it("lets the peer reset one request and go on with others", async () => {
      const client = await newClient("1.29.0")
      await client.ask(stealAll)
      const peer = newPeer()
      // A body with trailers to come does not end when Node closes its stream.
      const given = { endStream: false, waitForTrailers: true }
      const { answered, stream } = peer.begin({ ":method": "POST", ":path": "/1" }, given)
      stream.once("wantTrailers", () => undefined)
      expect(await client.take(1)).toMatchObject([start(0n, { request: { body: { isLast: false } } })])
      stream.close(constants.NGHTTP2_CANCEL)
      await answered
      expect(await client.take(1)).toEqual([over(0n)])
      const asked = peer.get("/2")
      expect(await client.take(1)).toMatchObject([start(1n)])
      client.send(response(0n, "late"), response(1n, "mine"))
      expect((await asked).body).toBe("mine")
    })

    it("answers 502 for a request that its client does not want, and for a client that leaves", async () => {
      const client = await newClient("1.29.0")
      await client.ask(stealAll)
      const peer = newPeer()
      const dropped = { headers: { ":status": 502 }, body: "mirrord-agent v3.250.0: the request was dropped\n" }
      const asked = peer.get("/")
      await client.take(1)
      client.send(steal({ _tag: "ConnectionUnsubscribe", value: 0n }))
      const { headers, ...rest } = await asked
      expect({ headers, ...rest }).toMatchObject(dropped)
      expect(Object.keys(headers).toSorted()).toEqual([":status", "content-length", "date"])
      const second = peer.get("/")
      await client.take(1)
      client.close()
      expect(await second).toMatchObject(dropped)
    })

    it("ends an answer that its client cannot finish", async () => {
      const client = await newClient("1.29.0")
      await client.ask(stealAll)
      const asked = newPeer().get("/")
      await client.take(1)
      client.send(chunkedStart(0n), chunked({ _tag: "Error", value: { connectionId: 0n, requestId: 0 } }))
      expect(await asked).toMatchObject({ headers: { ":status": 200 }, body: "one ", code: 0 })
    })

    it("finds by the body what a filter wants", async () => {
      const client = await newClient("1.29.0")
      await client.ask(stealFiltered(body("$.user", "^ann$")))
      const peer = newPeer()
      expect((await peer.post({ ":path": "/" }, ['{"user":"bob"}'])).body).toBe('application POST / {"user":"bob"}')
      const asked = peer.post({ ":path": "/" }, ['{"user":', '"ann"}'])
      expect(await readRequest(client)).toMatchObject({ text: '{"user":"ann"}' })
      client.send(response(0n, "ann's"))
      expect((await asked).body).toBe("ann's")
    })

    it("mirrors requests while the application answers", async () => {
      const client = await newClient("1.29.0")
      expect(await client.ask(mirrorAll)).toEqual(confirmed("Tcp"))
      const peer = newPeer()
      expect((await peer.post({ ":path": "/m" }, ["data"])).body).toBe("application POST /m data")
      expect(await readRequest(client)).toMatchObject({ method: "POST", uri: uri("/m"), text: "data" })
      expect(await client.take(1)).toEqual([over(0n, "Tcp")])
      await client.ask(mirrorFiltered({ _tag: "Path", value: "^/only$" }))
      await peer.get("/other")
      await peer.get("/only")
      expect(await client.take(2)).toMatchObject([
        { _tag: "Tcp", value: { value: { _tag: "StartV2", value: { request: { uri: uri("/only") } } } } },
        over(1n, "Tcp")
      ])
    })
    const uri = (path: string): string => `http://127.0.0.1:${world().entry}${path}`

    it("1.3.0 gets a request framed", async () => {
      const client = await newClient("1.3.0")
      await client.ask(stealFiltered(header("x-steal")))
      const asked = newPeer().get("/x", { "x-steal": "1" })
      expect(await client.take(1)).toMatchObject([
        {
          value: {
            _tag: "HttpRequestFramed",
            value: { internalRequest: { method: "GET", uri: uri("/x"), version: "HTTP/2.0" } }
          }
        }
      ])
      client.send(response(0n, "ok"))
      expect((await asked).body).toBe("ok")
    })

    it("answers 502 when the application cannot be reached", async () => {
      const client = await newClient("1.29.0")
      await client.ask(stealFiltered(header("x-steal")))
      await world().stopApplication()
      expect(await newPeer().get("/")).toMatchObject({
        headers: { ":status": 502 },
        body: expect.stringMatching(/^mirrord-agent v3\.250\.0: [^]*Connection refused \(os error 111\)/)
      })
    })
  })
}
