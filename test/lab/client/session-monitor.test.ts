import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Scope } from "effect"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import type { ClientRequest } from "../../../lab/client/client-input.ts"
import type { ClientEvent } from "../../../lab/client/client-output.ts"
import type { SessionClient } from "../../../lab/client/session-client.ts"
import { monitored, serveSession } from "../../../lab/client/session-monitor.ts"
import { askSocket, type SocketRequest } from "../../../src/app/commands/ui/session-socket.ts"
import type { SessionEvent } from "../../../src/domain/commands/ui/session-event.ts"
import recorded from "../../app/commands/ui/session-sockets.json" with { type: "json" }

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sessions-"))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const scoped = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>): Promise<A> => Effect.runPromise(Effect.scoped(effect))
const http = new Map([["host", new TextEncoder().encode("web:80")]])
const key = { channel: "TcpSteal", connectionId: 1n, requestId: 1 } as const

describe("the socket of the lab's client", () => {
  it("answers as mirrord's own does, and refuses rules of chaos with a sentence", async () => {
    const ask = (method: SocketRequest["method"], path: SocketRequest["path"]) =>
      askSocket(join(folder, "1A2B3C.sock"), { method, path })
    const answers = await scoped(
      Effect.andThen(
        serveSession(folder, recorded.info),
        Effect.all([ask("GET", "/health"), ask("GET", "/info"), ask("POST", "/chaos/rules/"), ask("GET", "/nothing")])
      )
    )
    expect(answers.map(({ body, status }) => [status, body])).toEqual([
      [200, '{"status":"ok"}'],
      [200, JSON.stringify(recorded.info)],
      [400, "The lab's client knows no rules of chaos."],
      [404, "not found"]
    ])
  })

  it("is not begun for an id that is no name", async () => {
    const failed = await scoped(Effect.flip(serveSession(folder, { ...recorded.info, session_id: "../x" })))
    expect(failed.detail).toContain("without slashes")
  })

  it("tells what the local program asks for, and requests that come in", async () => {
    const requests: ReadonlyArray<ClientRequest> = [
      { _tag: "Resolve", node: "db" },
      { _tag: "File", request: { _tag: "Open", value: { path: "/etc/x", openOptions: {} as never } } },
      { _tag: "File", request: { _tag: "Rename", value: { oldPath: "/a", newPath: "/b" } } },
      { _tag: "File", request: { _tag: "MakeDir", value: { pathname: "/d", mode: 0 } } },
      { _tag: "File", request: { _tag: "Read", value: { remoteFd: 1n, bufferSize: 1n } } },
      {
        _tag: "Connect",
        transport: "Tcp",
        uid: 1n,
        remoteAddress: { _tag: "Ip", value: { ip: "fd00::7", port: 5_432 } }
      },
      {
        _tag: "Connect",
        transport: "Tcp",
        uid: 2n,
        remoteAddress: { _tag: "Unix", value: { _tag: "Pathname", value: "/run/db" } }
      },
      { _tag: "Steal", type: { _tag: "All", value: 80 } },
      { _tag: "Steal", type: { _tag: "FilteredHttp", port: 81, filter: "x: y" } },
      { _tag: "Mirror", port: 82 },
      { _tag: "FetchEnv", selection: { select: new Set(["DB_*"]), filter: new Set(["DB_PASSWORD"]) } },
      { _tag: "Unsubscribe", port: 80 }
    ]
    const told: Array<SessionEvent> = []
    const done: Array<ClientRequest> = []
    let listener: ((event: ClientEvent) => void) | undefined
    const client: SessionClient = {
      tell: (request) => void done.push(request),
      ask: (request) => Effect.sync(() => done.push(request)).pipe(Effect.andThen(Effect.never)),
      expect: () => Effect.never,
      listen: (own) => Effect.sync(() => void (listener = own)),
      failure: () => undefined
    }
    await scoped(
      Effect.map(monitored(client, { tell: (event) => void told.push(event) }), ({ tell }) => {
        for (const request of requests) tell(request)
        listener?.({ _tag: "Pong" })
        listener?.({
          _tag: "HttpRequest",
          ...key,
          port: 80,
          method: "GET",
          uri: "/hello?token=x",
          headers: [...http],
          version: "HTTP/1.1",
          frames: [],
          isLast: true,
          replaced: false
        })
      })
    )
    expect(done).toEqual(requests)
    expect(told).toEqual([
      { type: "dns_query", host: "db" },
      { type: "file_op", path: "/etc/x", operation: "open" },
      { type: "file_op", path: "/a", operation: "rename" },
      { type: "file_op", path: "/d", operation: "mkdir" },
      { type: "file_op", path: null, operation: "read" },
      { type: "outgoing_connection", address: "[fd00::7]:5432", port: 5_432 },
      { type: "outgoing_connection", address: "<UNIX-PATH> /run/db", port: 0 },
      { type: "port_subscription", port: 80, mode: "steal" },
      { type: "port_subscription", port: 81, mode: "steal" },
      { type: "port_subscription", port: 82, mode: "mirror" },
      { type: "env_var", vars: ["DB_*", "DB_PASSWORD"] },
      { type: "incoming_request", method: "GET", path: "/hello", host: "web:80" }
    ])
  })
})
