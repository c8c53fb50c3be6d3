import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import http from "node:http"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { Effect, PubSub, Scope, Stream } from "effect"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import WebSocket from "ws"
import { serveSession, type SessionMonitor } from "../../../../lab/client/session-monitor.ts"
import { followLocalSessions } from "../../../../src/app/commands/ui/local-sessions.ts"
import type { OperatorReader, Unread } from "../../../../src/app/commands/ui/operator-reader.ts"
import { operatorAnswer, type OperatorNotice } from "../../../../src/domain/commands/ui/operator-answer.ts"
import { asArray, isObject, omit } from "../../../../src/domain/json.ts"
import { aPage, now } from "../../../domain/commands/ui/pages.ts"
import { until } from "../../../support/until.ts"
import { serveFleet, type ServedFleet } from "./served-fleet.ts"
import recorded from "./session-api.json" with { type: "json" }
import sockets from "./session-sockets.json" with { type: "json" }

let served: ServedFleet
let folder: string
let told: PubSub.PubSub<OperatorNotice>
let monitor: SessionMonitor
const away: Unread = { message: "It is away.", fix: "Wait.", status: 502 }
const answer = operatorAnswer(recorded.operator, now)

/** The answers of an operator; the context `away` does not answer. */
const reader = (): OperatorReader => {
  const or = <A>(context: string | undefined, value: A): Effect.Effect<A, Unread> =>
    context === "away" ? Effect.fail(away) : Effect.succeed(value)
  return {
    contexts: Effect.succeed({
      current: "primary",
      contexts: [
        { name: "primary", namespace: "shop" },
        { name: "b", namespace: null }
      ]
    }),
    operator: (context) => or(context, answer),
    namespaces: (context) => or(context, ["default", "shop"]),
    user: (context) => or(context, "ann@example.org"),
    watched: Effect.succeed({ answer, status: { status: "watching" } }),
    notices: Stream.fromPubSub(told)
  }
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "sessions-"))
  told = await Effect.runPromise(PubSub.unbounded<OperatorNotice>())
  served = await serveFleet(aPage(), (scope) =>
    Effect.gen(function* () {
      monitor = yield* serveSession(folder, sockets.info)
      return { local: yield* followLocalSessions(folder, 5), operator: reader() }
    }).pipe(Effect.provideService(Scope.Scope, scope))
  )
  await until("the reader of the session", () => monitor.readers() === 1 || undefined)
})
afterEach(async () => {
  await served.end()
  rmSync(folder, { recursive: true, force: true })
})

const token = { "x-auth-token": "the-token" }
const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${served.server}${path}`, { redirect: "manual", headers: token, ...init })
const get = async (path: string): Promise<string> => (await ask(path)).text()

/** The names of values in the recorded answers. */
const named: Readonly<Record<string, unknown>> = {
  "<session>": sockets.read,
  "<summary 0>": recorded.summaries[0],
  "<summary 1>": recorded.summaries[1],
  "<second 0>": omit(recorded.summaries[0] ?? {}, "durationSecs"),
  "<second 1>": omit(recorded.summaries[1] ?? {}, "durationSecs", "target"),
  "<preview>": recorded.previews[0]
}
const whole = (value: unknown): unknown => {
  if (typeof value === "string") return named[value] ?? value
  if (Array.isArray(value)) return asArray(value).map(whole)
  return isObject(value) ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, whole(each)])) : value
}

describe("the API of braid ui", () => {
  it("answers what mirrord's page and extension ask as the real aggregator does", async () => {
    for (const { body, request, status } of recorded.conversation) {
      const [method = "", path = ""] = request.split(" ")
      const found = await ask(path, { method, ...(method === "POST" && { body: "{}" }) })
      const text = await found.text()
      expect([request, found.status, body === undefined ? undefined : JSON.parse(text)]).toEqual([
        request,
        status,
        whole(body)
      ])
    }
    expect(await get("/api/chaos/rules/1A2B3C")).toBe("The lab's client knows no rules of chaos.")
  })

  it("exchanges the token for its cookie at one place, and sends the browser nowhere else", async () => {
    const statuses: Array<unknown> = []
    for (const path of [
      "/auth?token=the-token&redirect=/x",
      "/auth?token=the-token&redirect=//evil",
      "/auth?token=x"
    ]) {
      const { headers, status } = await ask(path, { headers: {} })
      statuses.push([status, headers.get("location"), headers.get("set-cookie")])
    }
    const cookie = "mirrord_token=the-token; Path=/; HttpOnly; SameSite=Strict"
    expect(statuses).toEqual([
      [303, "/x", cookie],
      [303, "/", cookie],
      [401, null, null]
    ])
    const byHeader = await ask("/api/sessions")
    expect([byHeader.headers.get("set-cookie"), byHeader.headers.get("x-frame-options")]).toEqual([cookie, "DENY"])
  })

  it("answers 401 without the token, and gives the page to nobody for it", async () => {
    const found: Array<unknown> = []
    for (const path of ["/", "/api/sessions?token=the-token", "/api/token", "/nothing", "/ws"])
      found.push([(await ask(path, { headers: {} })).status, await (await ask(path, { headers: {} })).text()])
    expect(found).toEqual(Array.from({ length: 5 }, () => [401, ""]))
    expect((await ask("/run/")).status).toBe(401)
    expect((await ask("/run/", { headers: { cookie: "mirrord_token=the-token" } })).status).toBe(401)
    const page = await fetch(served.link("link"), { redirect: "manual" })
    expect((await ask("/api/token", { headers: { cookie: page.headers.get("set-cookie") ?? "" } })).status).toBe(401)
  })

  it("routes no path otherwise than it judges it", async () => {
    const { hostname, port } = new URL(served.server)
    for (const path of ["/api/token;/../../health", "/api/../health", "/api/token#/../../health", "/health;x"]) {
      const socket = connect(Number(port), hostname)
      socket.end(`GET ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nConnection: close\r\n\r\n`)
      expect([path, (await text(socket)).split("\r\n", 1)[0]]).toEqual([
        path,
        expect.stringMatching(/^HTTP\/1\.1 40[01] /u)
      ])
    }
  })

  it("changes something for its own page and for who knows the token, and for no other page", async () => {
    const kill = async (headers: Record<string, string>): Promise<number> =>
      (await ask("/api/sessions/1A2B3C/kill", { method: "POST", headers })).status
    const cookie = { cookie: "mirrord_token=the-token" }
    expect([
      await kill(cookie),
      await kill({ ...cookie, origin: "http://127.0.0.1:1" }),
      await kill({ ...token, origin: "http://evil.example" })
    ]).toEqual([403, 403, 403])
    expect(await kill({ ...cookie, origin: served.server })).toBe(200)
    expect(await get("/api/sessions")).toBe("[]")
  })

  it("streams the deeds of before and new ones, without names of events", async () => {
    monitor.tell({ type: "dns_query", host: "first" })
    await until("the deed", async () => {
      const answered = await ask("/api/sessions/1A2B3C/events")
      const { value } = (await answered.body?.pipeThrough(new TextDecoderStream()).getReader().read()) ?? {}
      return value?.includes("first") === true ? true : undefined
    })
    const reading = (await ask("/api/v2/local/sessions/1A2B3C/events")).body?.pipeThrough(new TextDecoderStream())
    let text = ""
    const read = (async () => {
      for await (const part of reading ?? []) {
        text += part
        if (text.includes("second")) return
      }
    })()
    monitor.tell({ type: "dns_query", host: "second" })
    await read
    expect(text.replace(": ping\n\n", "")).toBe(
      ["first", "second"].map((host) => `data: {"type":"dns_query","host":"${host}"}\n\n`).join("")
    )
  })
})

const listen = async (headers: Record<string, string>): Promise<WebSocket> => {
  const socket = new WebSocket(`${served.server.replace("http", "ws")}/ws`, { headers })
  await once(socket, "open")
  return socket
}

describe("the news by WebSocket", () => {
  it("begin with each session of this machine, and go on with those that come and go", async () => {
    const socket = new WebSocket(`${served.server.replace("http", "ws")}/ws`, { headers: token })
    const heard: Array<unknown> = []
    socket.on("message", (data: Buffer) => heard.push(JSON.parse(data.toString("utf8"))))
    await until("the first session", () => heard[0])
    monitor.tell({ type: "dns_query", host: "db" })
    await Effect.runPromise(PubSub.publish(told, { type: "operator_session_removed", id: "FF" }))
    await ask("/api/sessions/1A2B3C/kill", { method: "POST" })
    await until("the end of the session", () => heard[2])
    expect(heard).toEqual([
      { type: "session_added", session: sockets.read },
      { type: "operator_session_removed", id: "FF" },
      { type: "session_removed", session_id: "1A2B3C" }
    ])
    socket.close()
  })

  it("are told to no page of another place", async () => {
    const refusals: Array<unknown> = []
    for (const headers of [
      {},
      { ...token, origin: "http://localhost.example" },
      { ...token, origin: "http://127.0.0.1:1" }
    ])
      refusals.push(await listen(headers).catch(({ message }: Error) => message))
    expect(refusals).toEqual([401, 403, 403].map((status) => `Unexpected server response: ${status}`))
    const own = await listen({ cookie: "mirrord_token=the-token", origin: served.server })
    const closed = once(own, "close")
    await served.end()
    await closed
  })

  it("are refused to connections that are reset, or stay half open, and the server ends all the same", async () => {
    const { hostname, port } = new URL(served.server)
    const ask = `GET /ws HTTP/1.1\r\nHost: ${hostname}:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`
    for (let round = 0; round < 300; round++) {
      const socket = connect(Number(port), hostname).on("error", () => undefined)
      await once(socket, "connect")
      socket.write(ask, () => socket.resetAndDestroy())
      await once(socket, "close")
    }
    const half = connect({ port: Number(port), host: hostname, allowHalfOpen: true })
    half.write(ask)
    expect(await text(half)).toMatch(/^HTTP\/1\.1 401 /u)
    await served.end()
    half.destroy()
  })

  it("are at no other path, and no other name of this machine leads there", async () => {
    const { hostname, port } = new URL(served.server)
    const upgrade = { connection: "upgrade", upgrade: "websocket", "x-auth-token": "the-token" }
    const statuses: Array<unknown> = []
    for (const [path, host] of [
      ["/api/ws", `127.0.0.1:${port}`],
      ["/ws", "evil.example"]
    ]) {
      const request = http.get({ hostname, port, path, headers: { ...upgrade, host } })
      const [found] = (await once(request, "response")) as [http.IncomingMessage]
      statuses.push(found.resume().statusCode)
    }
    expect(statuses).toEqual([404, 403])
  })
})
