import { once } from "node:events"
import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs"
import http from "node:http"
import net from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit, Scope, Stream } from "effect"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { serveSession } from "../../../../lab/client/session-monitor.ts"
import { followLocalSessions, type LocalNews } from "../../../../src/app/commands/ui/local-sessions.ts"
import type { LocalSession } from "../../../../src/domain/commands/ui/local-session.ts"
import { readSessionEvent } from "../../../../src/domain/commands/ui/session-event.ts"
import { until } from "../../../support/until.ts"
import recorded from "./session-sockets.json" with { type: "json" }

let folder: string
let scope: Scope.Closeable
const servers: Array<net.Server> = []
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "sessions-"))
  scope = await Effect.runPromise(Scope.make())
})
afterEach(async () => {
  await Effect.runPromise(Scope.close(scope, Exit.void))
  for (const server of servers.splice(0)) server.close()
  rmSync(folder, { recursive: true, force: true })
})

const scoped = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>): Promise<A> =>
  Effect.runPromise(Effect.provideService(effect, Scope.Scope, scope))
const follow = () => scoped(followLocalSessions(folder, 5))
const listen = async (server: net.Server, name: string): Promise<void> => {
  servers.push(server)
  server.listen(join(folder, name))
  await once(server, "listening")
}
const answering = (answer: string): http.Server =>
  http.createServer((request, response) => response.writeHead(request.url === "/info" ? 200 : 404).end(answer))
const session = (id: string): LocalSession => ({ ...recorded.info, session_id: id })
const events = recorded.events.flatMap(({ sent }) => readSessionEvent(sent) ?? [])

describe("the sessions of this machine", () => {
  it("are those whose sockets answer; others neither stop the look nor lose their files", async () => {
    await scoped(serveSession(folder, session("AB")))
    await listen(answering("no JSON"), "CD.sock")
    await listen(answering(JSON.stringify({ session_id: 1 })), "EF.sock")
    await listen(
      net.createServer((socket) => socket.destroy()),
      "ends.sock"
    )
    writeFileSync(join(folder, "left.sock"), "")
    const files = readdirSync(folder)
    const { now } = await follow()
    await until("the session", () => (now().length === 1 ? true : undefined))
    expect(now()).toEqual([{ ...recorded.read, session_id: "AB" }])
    expect(readdirSync(folder)).toEqual(files)
    expect([statSync(folder).mode & 0o777, statSync(join(folder, "AB.sock")).mode & 0o777]).toEqual([0o700, 0o600])
  })

  it("lose the socket that a crashed one has left, after a while", async () => {
    const path = join(folder, "AB.sock")
    const made = net.createServer()
    await listen(made, "new")
    renameSync(join(folder, "new"), path)
    made.close()
    utimesSync(path, 0, 0)
    await follow()
    await until("the file is gone", () => (existsSync(path) ? undefined : true))
  })

  it("come and go with their sockets, and tell their deeds in order, those of before and new ones", async () => {
    const { deeds, events: eventsOf, news } = await follow()
    const heard: Array<LocalNews["_tag"]> = []
    await scoped(Effect.forkScoped(Stream.runForEach(news, ({ _tag }) => Effect.sync(() => heard.push(_tag)))))
    const own = await Effect.runPromise(Scope.make())
    const { readers, tell } = await Effect.runPromise(
      Effect.provideService(serveSession(folder, session("AB")), Scope.Scope, own)
    )
    await until("its reader", () => readers() === 1 || undefined)
    for (const event of events.slice(0, 2)) tell(event)
    await until("the first deeds", () => (deeds().get("AB")?.length === 2 ? true : undefined))
    const all = Effect.runPromise(Stream.runCollect(eventsOf("AB") ?? Stream.empty))
    for (const event of events.slice(2)) tell(event)
    await until("all deeds", () => (deeds().get("AB")?.[0]?.text === "process 4711 ends" ? true : undefined))
    await Effect.runPromise(Scope.close(own, Exit.void))
    expect(await all).toEqual(recorded.events.flatMap(({ read, sent, text }) => (text ? [read ?? sent] : [])))
    await until("the end", () => (deeds().has("AB") ? undefined : true))
    expect([heard[0], heard.at(-1), heard.length]).toEqual(["Added", "Removed", 2 + events.length])
  })

  it("are shown no more once their socket is ended", async () => {
    await scoped(serveSession(folder, session("AB")))
    const { end, now } = await follow()
    await until("the session", () => (now().length === 1 ? true : undefined))
    expect(await Effect.runPromise(end("AB"))).toMatchObject({ status: 200, body: '{"status":"shutting_down"}' })
    expect(now()).toEqual([])
    await until("the file is gone", () => (existsSync(join(folder, "AB.sock")) ? undefined : true))
    expect(await Effect.runPromise(end("AB"))).toBeUndefined()
  })

  it("end a connection whose event has no end", async () => {
    const server = http.createServer((request, response) => {
      if (request.url === "/info") response.end(JSON.stringify(session("EF")))
      else response.write(`data: ${"x".repeat(200_000)}`)
    })
    const closed = new Promise<boolean>((resolve) => {
      server.on("request", ({ socket, url }) =>
        url === "/events" ? socket.once("close", () => resolve(true)) : undefined
      )
    })
    await listen(server, "EF.sock")
    const { deeds } = await follow()
    expect(await closed).toBe(true)
    expect(deeds().get("EF") ?? []).toEqual([])
  })
})
