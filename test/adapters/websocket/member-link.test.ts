import { once } from "node:events"
import type { IncomingMessage } from "node:http"
import https from "node:https"
import type { Duplex } from "node:stream"
import { KubeConfig } from "@kubernetes/client-node"
import { Effect, Fiber } from "effect"
import { afterEach, beforeAll, describe, expect, it } from "vitest"
import { type WebSocket, WebSocketServer } from "ws"
import { createAuthority } from "../../../lab/cluster/http/pki.ts"
import { openMemberLink } from "../../../src/adapters/websocket/member-link.ts"
import type { FrameChannel } from "../../../src/ports/frame-channel.ts"
import type { LinkRefused, LinkRequest } from "../../../src/ports/member-link.ts"
import { listenLocally } from "../../support/listen-locally.ts"
import { untilTrue } from "../../support/until-true.ts"
import { until } from "../../support/until.ts"

let pki: { readonly ca: string; readonly cert: string; readonly key: string }
beforeAll(async () => {
  const authority = await createAuthority("member-ca", Date.now)
  const { certPem, keyPem } = await authority.issue({
    commonName: "member",
    sans: [{ type: "ip", value: "127.0.0.1" }]
  })
  pki = { ca: authority.caPem, cert: certPem, key: keyPem }
})

const closers: Array<() => void> = []
afterEach(() => closers.splice(0).forEach((close) => close()))

/** A member's API server; `answer` decides about upgrades. */
const member = async (
  answer: (request: IncomingMessage, socket: Duplex, accept: () => void) => void,
  autoPong = true
) => {
  const server = https.createServer({ cert: pki.cert, key: pki.key })
  const sockets = new WebSocketServer({ noServer: true, autoPong, handleProtocols: () => "v4.channel.k8s.io" })
  const requests: Array<IncomingMessage> = []
  const accepted: Array<WebSocket> = []
  const open = new Set<Duplex>()
  server.on("connection", (socket) => {
    open.add(socket)
    socket.on("error", () => {})
  })
  server.on("upgrade", (request, socket, head) => {
    requests.push(request)
    socket.on("error", () => {})
    answer(request, socket, () => sockets.handleUpgrade(request, socket, head, (webSocket) => accepted.push(webSocket)))
  })
  const url = `https://127.0.0.1:${await listenLocally(server)}`
  closers.push(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  const config = new KubeConfig()
  config.loadFromOptions({
    clusters: [{ name: "b", server: url, caData: Buffer.from(pki.ca).toString("base64") }],
    users: [{ name: "u", token: "member-token" }],
    contexts: [{ name: "b", cluster: "b", user: "u" }],
    currentContext: "b"
  })
  return { config, requests, accepted, sockets }
}

const request = (more: Partial<LinkRequest> = {}): LinkRequest => ({
  cluster: "cluster-b",
  sessionId: 18_446_744_073_709_551_615n,
  namespace: "my ns",
  target: "deployment.foo/bar",
  query: "connect=true&key=a+b",
  parametersInHeader: false,
  ...more
})

const listen = (channel: FrameChannel) => {
  const events: Array<string> = []
  const ended = new Promise<string>((resolve) => {
    channel.open({
      message: (bytes) => events.push(Buffer.from(bytes).toString()),
      ended: (reason) => {
        events.push(`ended ${reason}`)
        resolve(reason)
      },
      drained: () => {},
      ignored: () => {}
    })
  })
  return { events, ended }
}

const refusalOf = (config: KubeConfig): Promise<LinkRefused> =>
  Effect.runPromise(Effect.flip(openMemberLink(config, request())))

describe("the link to a member", () => {
  it("asks as the member demands: path, session, subprotocol, credentials, parameters in the query", async () => {
    const { config, requests } = await member((_request, _socket, accept) => accept())
    const channel = await Effect.runPromise(openMemberLink(config, request(), "braid/1.2.3 (pod a)"))
    const [seen] = requests
    expect(seen?.url).toBe(
      "/apis/operator.metalbear.co/v1/proxy/namespaces/my%20ns/targets/deployment.foo%2Fbar?connect=true&key=a+b"
    )
    expect(seen?.headers).toMatchObject({
      authorization: "Bearer member-token",
      "user-agent": "braid/1.2.3 (pod a)",
      "x-session-id": "18446744073709551615",
      "sec-websocket-protocol": "v4.channel.k8s.io"
    })
    expect(seen?.headers["sec-websocket-extensions"]).toBeUndefined()
    expect(seen?.headers["x-mirrord-connect-params"]).toBeUndefined()
    expect(seen?.headers["x-braid-term"]).toBeUndefined()
    expect(seen?.headers["traceparent"]).toBeUndefined()
    expect(seen?.headers["x-client-der"]).toBeUndefined()
    channel.close()
  })

  it("puts the parameters into the header where the member reads them there", async () => {
    const { config, requests } = await member((_request, _socket, accept) => accept())
    const channel = await Effect.runPromise(
      openMemberLink(
        config,
        request({ parametersInHeader: true, query: "connect=true&key=ü", term: "3", traceparent: "00-a-b-01" })
      )
    )
    expect(requests[0]?.url?.endsWith("?connect=true")).toBe(true)
    expect(requests[0]?.headers["x-braid-term"]).toBe("3")
    expect(requests[0]?.headers["traceparent"]).toBe("00-a-b-01")
    expect(Buffer.from(String(requests[0]?.headers["x-mirrord-connect-params"]), "base64").toString()).toBe(
      "connect=true&key=ü"
    )
    channel.close()
  })

  it("loses nothing that the member says at once, and carries messages both ways", async () => {
    const { accepted, config, sockets } = await member((_request, _socket, accept) => accept())
    sockets.on("connection", () => {})
    const opening = Effect.runPromise(openMemberLink(config, request()))
    await untilTrue("the accepted upgrade", () => accepted.length > 0)
    const [server] = accepted
    server?.send(Buffer.from("early"))
    const channel = await opening
    const { events } = listen(channel)
    channel.send(Buffer.from("there"))
    const [data] = (await once(server ?? sockets, "message")) as [Buffer]
    expect(data.toString()).toBe("there")
    server?.send(Buffer.from("late"))
    await untilTrue("both messages", () => events.length >= 2)
    expect(events).toEqual(["early", "late"])
    channel.close()
  })

  const status = JSON.stringify({ kind: "Status", code: 403, reason: "Forbidden", message: "not for you" })
  it.each([
    [
      "a Status",
      `HTTP/1.1 403 Forbidden\r\nContent-Length: ${status.length}\r\n\r\n${status}`,
      { code: 403, reason: "Forbidden", detail: "not for you" }
    ],
    [
      "plain text",
      "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\n\r\nnope",
      { code: 502, reason: "", detail: "nope" }
    ],
    ["null", "HTTP/1.1 500 E\r\nContent-Length: 4\r\n\r\nnull", { code: 500, detail: "null" }],
    ["a redirect", "HTTP/1.1 302 Found\r\nLocation: https://elsewhere/\r\nContent-Length: 0\r\n\r\n", { code: 302 }],
    ["200", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", { code: 200, detail: "hi" }],
    [
      "101 with another subprotocol",
      "HTTP/1.1 101 S\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n",
      { detail: expect.stringMatching(/Sec-WebSocket/) }
    ]
  ])("is refused with %s", async (_what, answer, expected) => {
    const { config } = await member((_request, socket) => socket.end(answer))
    expect(await refusalOf(config)).toMatchObject({ _tag: "LinkRefused", cluster: "cluster-b", ...expected })
  })

  it("tells of a refusal in short and harmless words", async () => {
    const body = JSON.stringify({ reason: "R\u202e".repeat(5_000), message: "\u001b[2J\u009b".repeat(5_000) })
    const { config } = await member((_request, socket) =>
      socket.end(`HTTP/1.1 403 Forbidden\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
    )
    const { detail, reason } = await refusalOf(config)
    expect(detail).toHaveLength(1_024)
    expect(reason).toHaveLength(253)
    expect(detail + reason).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u)
  })

  it("survives a refusal that breaks off in its middle", async () => {
    const { config } = await member((_request, socket) => {
      socket.write('HTTP/1.1 403 Forbidden\r\nContent-Length: 500\r\n\r\n{"kind":')
      setImmediate(() => socket.destroy())
    })
    expect(await refusalOf(config)).toMatchObject({ code: 403 })
  })

  it("does not read a refusal for ever", async () => {
    const { config } = await member((_request, socket) => {
      socket.write("HTTP/1.1 500 E\r\nContent-Length: 900000000\r\n\r\n")
      const more = (): void =>
        void (socket.destroyed || socket.write(Buffer.alloc(65_536, "x"), () => setImmediate(more)))
      more()
    })
    const refused = await refusalOf(config)
    expect(refused.detail.length).toBeLessThanOrEqual(300)
  })

  it.each([
    ["that is not there", (config: KubeConfig) => config, true],
    ["with a certificate of somebody else", (config: KubeConfig) => config, false]
  ])("fails without code at a server %s, and names no secret", async (_what, _change, isGone) => {
    const { config } = await member((_request, _socket, accept) => accept())
    const cluster = config.getCurrentCluster()
    if (cluster === null) throw new Error("no cluster")
    const changed = new KubeConfig()
    const { caData: _ca, ...withoutCa } = cluster
    changed.loadFromOptions({
      clusters: [isGone ? { ...cluster, server: "https://127.0.0.1:1" } : withoutCa],
      users: [{ name: "u", token: "member-token" }],
      contexts: config.getContexts(),
      currentContext: "b"
    })
    const refused = await refusalOf(changed)
    expect(refused.code).toBeUndefined()
    expect(refused.message).toMatch(/^cluster cluster-b refused the connection: .+/)
    expect(refused.message).not.toContain("member-token")
  })

  it("given up while the member holds it leaves no connection behind", async () => {
    let held: Duplex | undefined
    const { config } = await member((_request, socket) => {
      held = socket
    })
    const fiber = Effect.runFork(openMemberLink(config, request()))
    const end = await until("the held upgrade", () => held)
    const gone = new Promise<void>((resolve) => end.once("close", () => resolve()))
    await Effect.runPromise(Fiber.interrupt(fiber))
    await gone
  })

  it("is pinged at once: a member awaits the pings of those only who have pinged", async () => {
    let pings = 0
    const answering = await member((_request, _socket, accept) => {
      accept()
      answering.accepted[0]?.on("ping", () => pings++)
    })
    const channel = await Effect.runPromise(openMemberLink(answering.config, request()))
    await untilTrue("the first ping", () => pings === 1)
    channel.close()
  })

  it("ends when two pings in a row were not answered", async () => {
    const { config } = await member((_request, _socket, accept) => accept(), false)
    const channel = await Effect.runPromise(openMemberLink(config, request(), undefined, { pingInterval: 20 }))
    expect(await listen(channel).ended).toBe("code 1006")
  })

  it("stays while pings are answered, and also while it is kept from being read", async () => {
    const { accepted, config } = await member((_request, _socket, accept) => accept())
    const channel = await Effect.runPromise(openMemberLink(config, request(), undefined, { pingInterval: 200 }))
    let pings = 0
    accepted[0]?.on("ping", () => pings++)
    const { events } = listen(channel)
    await untilTrue("four pings", () => pings >= 4)
    expect(events).toEqual([])
    channel.pause()
    const before = pings
    await untilTrue("six more pings, or an end", () => pings >= before + 6 || events.length > 0)
    expect(events).toEqual([])
    channel.resume()
    accepted[0]?.send(Buffer.from("alive"))
    await untilTrue("the message", () => events.length > 0)
    expect(events).toEqual(["alive"])
    channel.close()
  })
})
