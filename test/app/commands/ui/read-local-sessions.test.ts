import { once } from "node:events"
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import http from "node:http"
import net from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { readLocalSessions } from "../../../../src/app/commands/ui/read-local-sessions.ts"

let folder: string
const servers: Array<net.Server> = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sessions-"))
})
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
  rmSync(folder, { recursive: true, force: true })
})

const listen = async (server: net.Server, name: string): Promise<void> => {
  servers.push(server)
  server.listen(join(folder, name))
  await once(server, "listening")
}
const answering = (answer: string): http.Server =>
  http.createServer((request, response) => response.writeHead(request.url === "/info" ? 200 : 404).end(answer))
const info = { session_id: "AB", mirrord_version: "3.250.0", config: { secret: true } }

describe("the sessions of this machine", () => {
  it("are none without the folder", async () => {
    expect(await Effect.runPromise(readLocalSessions(join(folder, "none")))).toEqual([])
  })

  it("are those whose sockets answer; others neither stop the reading nor lose their files", async () => {
    await listen(answering(JSON.stringify(info)), "AB.sock")
    await listen(answering("no JSON"), "CD.sock")
    await listen(answering(JSON.stringify({ session_id: 1 })), "EF.sock")
    await listen(
      net.createServer((socket) => socket.destroy()),
      "ends.sock"
    )
    writeFileSync(join(folder, "left.sock"), "")
    writeFileSync(join(folder, "notes.txt"), "")
    expect(await Effect.runPromise(readLocalSessions(folder))).toEqual([
      { session_id: "AB", mirrord_version: "3.250.0" }
    ])
    expect(["CD.sock", "ends.sock", "left.sock"].filter((file) => existsSync(join(folder, file)))).toHaveLength(3)
  })
})
