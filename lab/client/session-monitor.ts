/**
 * The socket of a session of the lab's client, `FOLDER/ID.sock`, as mirrord's programs and `braid ui` read it: `GET
 * /health`, `/info`, `/events`, `POST /kill`. Rules of chaos are refused.
 *
 * Not here: the deeds in its words (session-deeds.ts), and the form of what is told (src/domain/commands/ui).
 */

import { chmod, mkdir, rename, rm } from "node:fs/promises"
import http from "node:http"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { type LocalSession, sessionAfter } from "../../src/domain/commands/ui/local-session.ts"
import type { SessionEvent } from "../../src/domain/commands/ui/session-event.ts"
import { fileOfSession, socketProblem } from "../../src/domain/commands/ui/session-socket.ts"
import { ClientFailed } from "./client-failed.ts"
import type { SessionClient } from "./session-client.ts"
import { deedOfEvent, deedOfRequest } from "./session-deeds.ts"

/** Pause between two comments that keep a stream of events open, ms. */
const pingEvery = 15_000

/** Tells what happens in a session. */
export interface SessionMonitor {
  readonly tell: (event: SessionEvent) => void
  /** How many hear it now; who comes later hears nothing of before. */
  readonly readers: () => number
}

class ServedSession implements SessionMonitor {
  readonly server: http.Server
  readonly #path: string
  readonly #readers = new Set<http.ServerResponse>()
  #session: LocalSession

  constructor(path: string, session: LocalSession) {
    this.#path = path
    this.#session = session
    this.server = http.createServer((request, response) => this.#answer(request, response))
  }

  readonly tell = (event: SessionEvent): void => {
    this.#session = sessionAfter(this.#session, event)
    for (const reader of this.#readers) reader.write(`data: ${JSON.stringify(event)}\n\n`)
  }

  readonly readers = (): number => this.#readers.size

  #answer(request: http.IncomingMessage, response: http.ServerResponse): void {
    const json = (body: object): void =>
      void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body))
    const path = (request.url ?? "").split("?")[0] ?? ""
    switch (`${request.method} ${path}`) {
      case "GET /health":
        return json({ status: "ok" })
      case "GET /info":
        return json(this.#session)
      case "GET /events":
        return this.#follow(response)
      case "POST /kill":
        json({ status: "shutting_down" })
        return this.end()
      default: {
        const text = path.startsWith("/chaos/rules") ? "The lab's client knows no rules of chaos." : "not found"
        response.writeHead(path.startsWith("/chaos/rules") ? 400 : 404, { "content-type": "text/plain" }).end(text)
      }
    }
  }

  #follow(response: http.ServerResponse): void {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" }).flushHeaders()
    const ping = setInterval(() => response.write(": ping\n\n"), pingEvery)
    this.#readers.add(response)
    response.once("close", () => {
      clearInterval(ping)
      this.#readers.delete(response)
    })
  }

  /** The file has its name only once the server answers: readers take a socket that refuses for a crashed session. */
  readonly begin = async (): Promise<void> => {
    const made = this.#path.replace(/sock$/u, "new")
    await rm(made, { force: true })
    await new Promise<void>((resolve, reject) => this.server.once("error", reject).listen(made, resolve))
    await chmod(made, 0o600)
    await rename(made, this.#path)
  }

  /** Takes no new connection. Those that are open go on until their readers leave, and so long the file stays. */
  readonly end = (): void => {
    if (this.server.listening) this.server.close(() => void rm(this.#path, { force: true }))
  }
}

/** Serves a session's socket until the scope ends. Fails for an id or a folder that no socket can stand for. */
export const serveSession = Effect.fnUntraced(function* (
  folder: string,
  session: LocalSession
): Effect.fn.Return<SessionMonitor, ClientFailed, Scope.Scope> {
  const problem = socketProblem(folder, session.session_id)
  if (problem !== undefined) return yield* new ClientFailed({ detail: problem })
  const served = new ServedSession(join(folder, fileOfSession(session.session_id)), session)
  const begin = async (): Promise<void> => {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await chmod(folder, 0o700)
    await served.begin()
  }
  yield* Effect.acquireRelease(
    Effect.tryPromise({ try: begin, catch: (cause) => new ClientFailed({ detail: String(cause) }) }),
    () =>
      Effect.sync(() => {
        served.end()
        served.server.closeAllConnections()
      })
  )
  return served
})

/** The client, whose deeds the monitor tells from now on. */
export const monitored = (
  client: SessionClient,
  { tell }: Pick<SessionMonitor, "tell">
): Effect.Effect<SessionClient, never, Scope.Scope> => {
  const told = <A>(deed: SessionEvent | undefined, result: () => A): A => {
    if (deed !== undefined) tell(deed)
    return result()
  }
  return Effect.as(
    client.listen((event) => told(deedOfEvent(event), () => undefined)),
    {
      ...client,
      expect: (what, pick) => client.expect(what, pick),
      listen: (listener) => client.listen(listener),
      tell: (request) => told(deedOfRequest(request), () => client.tell(request)),
      ask: (request, pick) => Effect.suspend(() => told(deedOfRequest(request), () => client.ask(request, pick)))
    }
  )
}
