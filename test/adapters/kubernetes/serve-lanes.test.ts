import { once } from "node:events"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import http, { type IncomingMessage, type RequestOptions, type ServerResponse } from "node:http"
import https from "node:https"
import { connect, createServer, type Socket } from "node:net"
import { tmpdir } from "node:os"
import path from "node:path"
import type { Duplex } from "node:stream"
import { buffer, text } from "node:stream/consumers"
import { KubeConfig } from "@kubernetes/client-node"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { createAuthority } from "../../../lab/cluster/http/pki.ts"
import { type LaneServer, makeLaneServer } from "../../../src/adapters/kubernetes/serve-lanes.ts"
import { laneOptions } from "../../support/lane-options.ts"
import { listenLocally } from "../../support/listen-locally.ts"
import { untilTrue } from "../../support/until-true.ts"
import { until } from "../../support/until.ts"

const envoy = "system:serviceaccount:mirrord:mirrord-operator-envoy"
let directory: string
let tokenFile: string
let api: https.Server
let sockets: Set<Socket>
const transports = new Set<Socket>()
let answer: (request: IncomingMessage, response: ServerResponse) => void
let lanes: LaneServer
let config: KubeConfig
let doorPort: number
let caPem: string
const door = createServer({ allowHalfOpen: true }, (lane) => lanes.serve(lane.on("error", () => undefined)))

const configured = (server: string, caPem: string): KubeConfig => {
  const made = new KubeConfig()
  made.loadFromOptions({
    clusters: [{ name: "b", server, caData: Buffer.from(caPem).toString("base64") }],
    users: [{ name: "u", authProvider: { name: "tokenFile", config: { tokenFile } } }],
    contexts: [{ name: "b", cluster: "b", user: "u" }],
    currentContext: "b"
  })
  return made
}

beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "lanes-"))
  tokenFile = path.join(directory, "token")
  const authority = await createAuthority("ca", Date.now)
  caPem = authority.caPem
  const { certPem, keyPem } = await authority.issue({ commonName: "api", sans: [{ type: "ip", value: "127.0.0.1" }] })
  sockets = new Set()
  doorPort = await listenLocally(door)
  api = https.createServer(
    { cert: certPem, key: keyPem, allowHalfOpen: true, maxHeaderSize: 1_000_000 },
    (request, response) => {
      answer(request, response)
    }
  )
  api.on("connection", (transport: Socket) => void transports.add(transport))
  api.on("secureConnection", (socket: Socket) => {
    sockets.add(socket.on("error", () => undefined))
    socket.once("close", () => sockets.delete(socket))
  })
  config = configured(`https://127.0.0.1:${await listenLocally(api)}/prefix/`, authority.caPem)
})
afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  api.close()
  door.close()
  await rm(directory, { recursive: true })
})
beforeEach(async () => {
  await writeFile(tokenFile, "operators-token\n")
  api.removeAllListeners("upgrade")
  lanes = makeLaneServer(config, laneOptions(envoy, "braid/1.2.3 (outpost)"))
  return () => lanes.close()
})

/** A connection that each side may end by halves, as a lane. */
const openLane = (): Socket =>
  connect({ port: doorPort, host: "127.0.0.1", allowHalfOpen: true }).on("error", () => undefined)

/** Sends a request on a lane; its body is sent by the caller. */
const send = (options: RequestOptions, lane = openLane()): http.ClientRequest =>
  http.request({ createConnection: () => lane, path: "/", ...options }).on("error", () => undefined)

const answerTo = async (request: http.ClientRequest): Promise<IncomingMessage> =>
  (await once(request, "response"))[0] as IncomingMessage

/** All that the API server sees of a request. */
const seen = async (options: RequestOptions, body?: string) => {
  let found: IncomingMessage | undefined
  let came = ""
  answer = (request, response) => {
    found = request
    void text(request).then((all) => {
      came = all
      response.end()
    })
  }
  const request = send(options)
  request.end(body)
  const response = await answerTo(request)
  await text(response)
  if (found === undefined) throw new Error("the API server has seen nothing")
  return { ...found, headers: found.headers, distinct: found.headersDistinct, trailers: found.trailers, body: came }
}

describe("requests on a lane", () => {
  it("reach the API server as the envoy's, with the operator's token, whatever the primary claims to be", async () => {
    const request = await seen({
      path: "/api/v1/pods?watch=true&x=%2F..%2f//",
      headers: {
        ...{ authorization: "Bearer stolen", "Impersonate-User": "admin", "IMPERSONATE-GROUP": "system:masters" },
        ...{
          "x-remote-user": "admin",
          "proxy-authorization": "x",
          accept: "application/json",
          "user-agent": "braid/9"
        },
        ...{ connection: "x-mine", "x-mine": "1" }
      }
    })
    expect(request.url).toBe("/prefix/api/v1/pods?watch=true&x=%2F..%2f//")
    const { host, connection, ...headers } = request.distinct
    expect(host?.[0]).toMatch(/^127\.0\.0\.1:\d+$/)
    expect(connection).toEqual(["keep-alive"])
    expect(headers).toEqual({
      authorization: ["Bearer operators-token"],
      "impersonate-user": [envoy],
      accept: ["application/json"],
      "user-agent": ["braid/9"]
    })
  })

  it("carry the token of the moment, and the operator's name where the primary gives none", async () => {
    await seen({})
    await writeFile(tokenFile, "renewed")
    const { headers } = await seen({ headers: {} })
    expect(headers).toMatchObject({ authorization: "Bearer renewed", "user-agent": "braid/1.2.3 (outpost)" })
  })

  it.each([
    ["of a known length", "POST", { "content-length": "5" }, "hello"],
    ["in pieces", "PUT", { "transfer-encoding": "chunked" }, "hello"],
    ["in pieces, of a method that seldom has one", "DELETE", { "transfer-encoding": "chunked" }, "hello"],
    ["of no length", "GET", {}, undefined],
    ["that the API server is to await", "POST", { expect: "100-continue", "content-length": "5" }, "hello"]
  ] as const)("carry a body %s", async (_what, method, headers, body) => {
    const request = await seen({ method, headers }, body)
    expect([request.method, request.body]).toEqual([method, body ?? ""])
  })

  it("carry trailers both ways", async () => {
    answer = (request, response) => {
      response.writeHead(200, { trailer: "X-Sum" })
      void text(request).then(() => {
        response.addTrailers([["X-Sum", String(request.trailers["x-count"])]])
        response.end("body")
      })
    }
    const request = send({ method: "POST", headers: { "transfer-encoding": "chunked", trailer: "x-count" } })
    request.addTrailers({ "x-count": "7" })
    request.end("body")
    const response = await answerTo(request)
    expect(await text(response)).toBe("body")
    expect(response.trailers).toEqual({ "x-sum": "7" })
  })

  it("get the answer as it is, whatever it says, and the next one on the same lane", async () => {
    const lane = openLane()
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    Object.assign(agent, { createConnection: () => lane })
    for (const [status, message, body] of [
      [404, "Not Found", '{"kind":"Status"}'],
      [429, "Slow Down", ""],
      [204, "No Content", ""],
      [302, "Found", "elsewhere"],
      [200, "OK", "x".repeat(1_000_000)]
    ] as const) {
      answer = (_request, response) => {
        response.sendDate = false
        response.writeHead(status, message, ["Warning", "a", "Warning", "b", "Set-Cookie", "c"]).end(body)
      }
      const request = http.request({ agent, path: "/" })
      request.end()
      const response = await answerTo(request)
      expect([response.statusCode, response.statusMessage, await text(response)]).toEqual([status, message, body])
      expect(response.headersDistinct).toMatchObject({ warning: ["a", "b"], "set-cookie": ["c"] })
      expect(response.headers.date).toBeUndefined()
    }
    agent.destroy()
  })

  it("may have a head of half a megabyte", async () => {
    const long = "x".repeat(500_000)
    expect((await seen({ headers: { "x-long": long } })).headers["x-long"]).toBe(long)
  })

  it("see the beginning of an answer at once, and each part as it comes", async () => {
    let stream: ServerResponse | undefined
    answer = (_request, response) => {
      stream = response
      response.writeHead(200).flushHeaders()
    }
    const request = send({})
    request.end()
    const response = await answerTo(request)
    for (const event of ["one", "two"]) {
      stream?.write(event)
      expect(String((await once(response, "data"))[0])).toBe(event)
    }
    stream?.end()
  })

  it("given up by the primary are given up at the API server", async () => {
    let closed = 0
    answer = (_request, response) => {
      response.writeHead(200).flushHeaders()
      response.once("close", () => closed++)
    }
    for (let count = 0; count < 20; count++) {
      const lane = openLane()
      const request = send({}, lane)
      request.end()
      await answerTo(request)
      lane.destroy()
    }
    await untilTrue("all are closed", () => closed === 20)
  })

  it("given up before they have an answer are given up too", async () => {
    let at: ServerResponse | undefined
    answer = (_request, response) => void (at = response)
    const lane = openLane()
    send({}, lane).end()
    await until("the request", () => at)
    lane.destroy()
    await untilTrue("it is closed", () => at?.destroyed === true)
  })

  it.each([[{}], [{ connection: "upgrade", upgrade: "websocket" }]])(
    "given up while credentials are read are never sent: %j",
    async (headers) => {
      let asked = 0
      answer = () => void asked++
      api.on("upgrade", () => void asked++)
      await untilTrue("no connection of another test is left", () => sockets.size === 0)
      let begun = 0
      let read = (): void => undefined
      const slow = configured(config.getCurrentCluster()?.server ?? "", caPem)
      const apply = slow.applyToHTTPSOptions.bind(slow)
      slow.applyToHTTPSOptions = async (options) => {
        begun++
        await new Promise<void>((resolve) => void (read = resolve))
        await apply(options)
      }
      lanes = makeLaneServer(slow, laneOptions(envoy, "braid"))
      const lane = openLane()
      let served: Duplex | undefined
      door.once("connection", (socket) => void (served = socket))
      send({ headers }, lane).end()
      await untilTrue("credentials are read", () => begun === 1)
      served?.destroy()
      await until("it is closed", () => (served?.closed === true ? true : undefined))
      read()
      lanes = makeLaneServer(config, laneOptions(envoy, "braid"))
      await seen({})
      expect(asked).toBe(0)
      await untilTrue("the connection of the last request is alone", () => sockets.size === 1)
    }
  )

  it("broken off by the API server are broken off for the primary, not ended", async () => {
    answer = (_request, response) => {
      response.writeHead(200).write("half", () => void response.destroy())
    }
    const request = send({})
    request.end()
    await expect(text(await answerTo(request))).rejects.toThrow("aborted")
  })

  it("get an early answer while their body is under way", async () => {
    answer = (_request, response) => void response.writeHead(413, { connection: "close" }).end("too long")
    const request = send({ method: "POST", headers: { "transfer-encoding": "chunked" } })
    request.write("some")
    const response = await answerTo(request)
    expect([response.statusCode, await text(response)]).toEqual([413, "too long"])
    request.destroy()
  })

  it("go no faster than they are read", async () => {
    let written = 0
    answer = (_request, response) => {
      const more = (): void => {
        written += 65_536
        if (!response.destroyed) response.write(Buffer.alloc(65_536), more)
      }
      more()
    }
    const lane = openLane()
    const request = send({}, lane)
    request.end()
    await answerTo(request)
    let before = -1
    await untilTrue("nothing moves", () => written === before || ((before = written), false))
    expect(written).toBeLessThan(50_000_000)
    lane.destroy()
  })

  it.each([
    ["CONNECT 10.0.0.1:443", "host: x"],
    ["GET http://10.0.0.1/", "host: x"],
    ["OPTIONS *", "host: x"],
    ["GET http://10.0.0.1/", "host: x\r\nconnection: upgrade\r\nupgrade: websocket"]
  ])("never go elsewhere: %s", async (line, headers) => {
    answer = () => expect.unreachable("the API server was asked")
    const lane = openLane()
    lane.write(`${line} HTTP/1.1\r\n${headers}\r\n\r\n`)
    const [bytes] = await once(lane, "data")
    expect(String(bytes)).toMatch(/^HTTP\/1\.1 400 /)
    expect(String(bytes)).toContain("is no path of this cluster's API server")
    lane.destroy()
  })

  it.each([
    ["is not there", () => configured("https://127.0.0.1:1", ""), /cannot be reached by the operator.+ECONNREFUSED/],
    ["is another one", () => configured(config.getCurrentCluster()?.server ?? "", ""), /unable to|self.signed/]
  ])("are told when the API server %s", async (_what, make, message) => {
    lanes = makeLaneServer(make(), laneOptions(envoy, "braid"))
    for (const headers of [{}, { connection: "upgrade", upgrade: "websocket" }]) {
      const request = send({ headers })
      request.end()
      const response = await answerTo(request)
      expect(response.statusCode).toBe(502)
      expect(JSON.parse(await text(response))).toMatchObject({
        kind: "Status",
        code: 502,
        message: expect.stringMatching(message)
      })
    }
  })

  it("are told when the operator has no token", async () => {
    await rm(tokenFile)
    const request = send({})
    request.end()
    const response = await answerTo(request)
    expect([response.statusCode, await text(response)]).toEqual([502, expect.stringMatching(/ENOENT/)])
  })

  it("end when the lanes are served no more", async () => {
    answer = (_request, response) => response.writeHead(200).flushHeaders()
    const request = send({})
    request.end()
    const response = await answerTo(request)
    lanes.close()
    await expect(text(response)).rejects.toThrow("aborted")
  })
})

describe("upgrades on a lane", () => {
  const upgraded = async (
    headers: http.OutgoingHttpHeaders = {}
  ): Promise<{ answer: IncomingMessage; bytes: Duplex; first: Buffer }> => {
    const request = send({ method: "POST", headers: { connection: "Upgrade", upgrade: "SPDY/3.1", ...headers } })
    request.end()
    const [response, bytes, first] = (await once(request, "upgrade")) as [IncomingMessage, Duplex, Buffer]
    return { answer: response, bytes, first }
  }

  it("pass bytes unread both ways, and each half may end first", async () => {
    let asked: IncomingMessage | undefined
    api.once("upgrade", (request: IncomingMessage, socket: Duplex) => {
      asked = request
      socket.write("HTTP/1.1 101 Switching\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\nX-Stream: v5\r\n\r\nfirst")
      void buffer(socket).then((all) => socket.end(Buffer.concat([Buffer.from(" and "), all])))
    })
    const { answer, bytes, first } = await upgraded({ "x-stream-protocol-version": "v5", "impersonate-user": "admin" })
    expect(answer.headers).toMatchObject({ upgrade: "SPDY/3.1", connection: "Upgrade", "x-stream": "v5" })
    expect(asked?.method).toBe("POST")
    expect(asked?.headersDistinct).toMatchObject({
      upgrade: ["SPDY/3.1"],
      connection: ["Upgrade"],
      "x-stream-protocol-version": ["v5"],
      "impersonate-user": [envoy],
      authorization: ["Bearer operators-token"]
    })
    const sent = Buffer.from(Array.from({ length: 300_000 }, (_, at) => at % 256))
    bytes.end(sent)
    expect(Buffer.concat([first, await buffer(bytes)])).toEqual(Buffer.concat([Buffer.from("first and "), sent]))
  })

  it("carry on one way when the API server has ended the other", async () => {
    let came: Promise<string> | undefined
    api.once("upgrade", (_request: IncomingMessage, socket: Duplex) => {
      came = text(socket)
      socket.end("HTTP/1.1 101 S\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\n\r\nlast words")
    })
    const { bytes, first } = await upgraded()
    expect(first.toString() + (await text(bytes))).toBe("last words")
    bytes.end("and more")
    expect(await came).toBe("and more")
  })

  it("keep what was sent behind the request", async () => {
    api.once("upgrade", (_request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.write("HTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
      if (head.length > 0) socket.write(head)
      socket.pipe(socket)
    })
    const lane = openLane()
    lane.write("GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: x\r\n\r\nbehind")
    let came = ""
    lane.on("data", (bytes: Buffer) => void (came += bytes.toString()))
    await untilTrue("it comes back", () => came.endsWith("behind"))
    lane.destroy()
  })

  it.each([
    ["with a length", "HTTP/1.1 403 No Way\r\nContent-Length: 4\r\nAudit-Id: a\r\n\r\nbody"],
    ["in pieces", "HTTP/1.1 403 No Way\r\nTransfer-Encoding: chunked\r\nAudit-Id: a\r\n\r\n4\r\nbody\r\n0\r\n\r\n"]
  ])("that the API server refuses get its answer as it is, %s", async (_what, refusal) => {
    api.once("upgrade", (_request: IncomingMessage, socket: Duplex) => socket.end(refusal))
    const request = send({ headers: { connection: "Upgrade", upgrade: "websocket" } })
    request.end()
    const response = await answerTo(request)
    expect([response.statusCode, response.statusMessage, await text(response)]).toEqual([403, "No Way", "body"])
    expect(response.headers["audit-id"]).toBe("a")
  })

  it("that the API server refuses and resets in the middle end in the middle", async () => {
    api.once("upgrade", (request: IncomingMessage, socket: Duplex) => {
      const transport = [...transports].find(({ remotePort }) => remotePort === request.socket.remotePort)
      socket.write("HTTP/1.1 403 No Way\r\nContent-Length: 100\r\n\r\nhalf", () => transport?.resetAndDestroy())
    })
    const lane = openLane()
    lane.write("GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n")
    let came = ""
    lane.on("data", (bytes: Buffer) => void (came += bytes.toString()))
    await untilTrue("it is closed", () => lane.destroyed || lane.readableEnded)
    expect(came).not.toContain("502")
  })

  it.each([["the primary"], ["the API server"], ["the operator"]])(
    "broken off by %s are broken off on both sides",
    async (who) => {
      let far: Duplex | undefined
      api.once("upgrade", (_request: IncomingMessage, socket: Duplex) => {
        far = socket.on("error", () => undefined).resume()
        socket.write("HTTP/1.1 101 S\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\n\r\n")
      })
      const { bytes } = await upgraded()
      bytes.on("error", () => undefined).resume()
      const other = await until("the upgrade", () => far)
      if (who === "the operator") lanes.close()
      else (who === "the primary" ? bytes : other).destroy()
      for (const one of [bytes, other]) await untilTrue("it is closed", () => one.destroyed || one.readableEnded)
    }
  )
})
