import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import http from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { followLocalEvents } from "../../../../src/app/commands/ui/follow-local-events.ts"
import { until } from "../../../support/until.ts"

let folder: string
let scope: Scope.Closeable
const servers: Array<http.Server> = []
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "sessions-"))
  scope = await Effect.runPromise(Scope.make())
})
afterEach(async () => {
  await Effect.runPromise(Scope.close(scope, Exit.void))
  for (const server of servers.splice(0)) server.close()
  rmSync(folder, { recursive: true, force: true })
})

/** A session whose socket tells these events, in pieces of a few bytes, and stays open. */
const tell = async (name: string, events: ReadonlyArray<object>): Promise<http.Server> => {
  const server = http.createServer((request, response) => {
    const text = `: ping\n\n${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}`
    for (let i = 0; i < text.length; i += 7) response.write(text.slice(i, i + 7))
    if (request.url !== "/events") response.end()
  })
  servers.push(server)
  server.listen(join(folder, name))
  await once(server, "listening")
  return server
}
const follow = () => Effect.runPromise(followLocalEvents(folder, 5).pipe(Effect.provideService(Scope.Scope, scope)))

describe("the events of local processes", () => {
  it("are told by each socket, newest first, the same again only counted, without arguments and values", async () => {
    await tell("AB.sock", [
      { type: "layer_connected", pid: 4711, parent_pid: null, process_name: "node", cmdline: ["node", "--password=x"] },
      { type: "env_var", vars: ["DATABASE_*"] },
      { type: "dns_query", host: "db" },
      { type: "dns_query", host: "db" },
      { type: "outgoing_connection", address: "10.0.0.7:5432", port: 5432 },
      { type: "incoming_request", method: "GET", path: "/hello", host: "web" },
      { type: "file_op", path: "/etc/\u001b[2J", operation: "open" },
      { type: "port_subscription", port: 80, mode: "steal" },
      { type: "of a later version", secret: "x" },
      { type: "layer_disconnected", pid: 4711 }
    ])
    writeFileSync(join(folder, "left.sock"), "")
    const events = await follow()
    await until("the last event", () => (events().get("AB")?.length === 8 ? true : undefined))
    expect(
      events()
        .get("AB")
        ?.map(({ count, text }) => [text, count])
    ).toEqual([
      ["process 4711 ends", 1],
      ["subscribes to port 80 (steal)", 1],
      ["open /etc/\u{fffd}[2J", 1],
      ["gets GET web/hello", 1],
      ["connects to 10.0.0.7:5432", 1],
      ["looks up db", 2],
      ["asks for variables DATABASE_*", 1],
      ["process 4711, node, begins", 1]
    ])
    expect(JSON.stringify([...events()])).not.toContain("password")
  })

  it("come from sessions that begin later, and go with a session's socket", async () => {
    const events = await follow()
    const server = await tell("CD.sock", [{ type: "dns_query", host: "db" }])
    await until("the event of the later session", () => events().get("CD"))
    server.closeAllConnections()
    server.close()
    await until("the end of the session", () => (events().has("CD") ? undefined : true))
  })

  it("end a connection whose event has no end", async () => {
    const server = http.createServer((_, response) => void response.write(`data: ${"x".repeat(200_000)}`))
    servers.push(server)
    server.listen(join(folder, "EF.sock"))
    const closed = new Promise<boolean>((resolve) => {
      server.on("connection", (socket) => socket.once("close", () => resolve(true)))
    })
    const events = await follow()
    expect(await closed).toBe(true)
    expect(events().size).toBe(0)
  })
})
