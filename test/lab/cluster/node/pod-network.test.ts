import { execFile } from "node:child_process"
import * as http from "node:http"
import * as net from "node:net"
import type { Duplex } from "node:stream"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { AddressPool } from "../../../../lab/cluster/node/address-pool.ts"
import type { RedirectedConnection } from "../../../../lab/cluster/node/agent-target.ts"
import { AddressBook, PodNetwork } from "../../../../lab/cluster/node/pod-network.ts"
import { untilTrue as waitUntilTrue } from "../../../support/until-true.ts"
import { readAll, talk } from "./test-cluster.ts"

const network = (ip: string, reports: Array<string> = []) =>
  Effect.acquireRelease(
    Effect.sync(() => new PodNetwork(ip, new AddressBook(), (message) => reports.push(message))),
    (made) => Effect.sync(() => made.close())
  )

/** Waits for the end of the peer's text, then sends it back with a prefix. */
const answer =
  (prefix: string) =>
  (socket: Duplex): void => {
    void readAll(socket).then((text) => socket.end(`${prefix}:${text}`))
  }
const untilTrue = (what: string, isTrue: () => boolean) => Effect.promise(() => waitUntilTrue(what, isTrue))
const say = (ip: string, port: number, text: string) => Effect.promise(() => talk({ ip, port }, text))

const get = (ip: string, port: number, agent: http.Agent) =>
  Effect.callback<string>((resume) => {
    http
      .get({ host: ip, port, path: "/x", agent }, (response) => {
        response.setEncoding("utf8")
        void response.toArray().then((parts) => resume(Effect.succeed(parts.join(""))))
      })
      .on("error", (error) => resume(Effect.succeed(error.message)))
  })

describe("listening", () => {
  it.live("an application is reached on its own address alone, until its scope closes", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const pod = yield* network("127.215.1.1")
        const scope = yield* Scope.make()
        yield* pod.listen(7000, answer("app")).pipe(Scope.provide(scope))
        assert.strictEqual(yield* say("127.215.1.1", 7000, "hi"), "app:hi")
        assert.strictEqual(yield* say("127.215.1.2", 7000, "hi"), "ECONNREFUSED")
        const open = net.connect(7000, "127.215.1.1")
        const cut = readAll(open)
        yield* Effect.callback<void>((resume) => void open.once("connect", () => resume(Effect.void)))
        yield* Scope.close(scope, Exit.void)
        // A connection that was not accepted yet is reset.
        assert.include(["", "ECONNRESET"], yield* Effect.promise(() => cut))
        assert.strictEqual(yield* say("127.215.1.1", 7000, "hi"), "ECONNREFUSED")
      })
    )
  )

  it.live("a port is given once, and numbers that are none are refused", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const pod = yield* network("127.215.1.3")
        yield* pod.listen(7000, answer("app"))
        assert.match((yield* Effect.flip(pod.listen(7000, answer("other")))).message, /already in use in this pod/u)
        assert.match((yield* Effect.flip(pod.listen(70_000, answer("other")))).message, /from 1 to 65535/u)
        assert.strictEqual(yield* say("127.215.1.3", 7000, "hi"), "app:hi")
      })
    )
  )

  it.live("without the privilege for port 80 another one is bound and the address book knows it", () =>
    Effect.gen(function* () {
      const source = new URL("../../../../lab/cluster/node/pod-network.ts", import.meta.url).href
      const script = `
        import { Effect } from "effect"
        const { AddressBook, PodNetwork } = await import(${JSON.stringify(source)})
        if (process.getuid() === 0) process.setuid(65534)
        const book = new AddressBook(), pod = new PodNetwork("127.215.9.1", book, () => {})
        const real = await Effect.runPromise(Effect.scoped(Effect.gen(function*() {
          yield* pod.listen(80, (socket) => socket.end())
          return book.reach({ ip: "127.215.9.1", port: 80 })
        })))
        console.log(JSON.stringify([real.port === 80, real.ip, book.reach({ ip: "127.215.9.1", port: 80 }).port]))`
      const output = yield* Effect.callback<string>((resume) => {
        execFile(process.execPath, ["--input-type=module", "-e", script], (error, stdout, stderr) =>
          resume(Effect.succeed(error === null ? stdout.trim() : stderr))
        )
      })
      assert.strictEqual(output, '[false,"127.215.9.1",80]')
    })
  )
})

describe("redirect", () => {
  it.live("takes new connections, leaves the old ones, and gives the port back at once", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const pod = yield* network("127.215.2.1")
        const accepted: Array<Duplex> = []
        yield* pod.listen(7000, (socket) => {
          accepted.push(socket)
          answer("app")(socket)
        })
        const old = net.connect({ port: 7000, host: "127.215.2.1", allowHalfOpen: true })
        const oldAnswer = readAll(old)
        // The client's connection opens before the application receives it.
        yield* untilTrue("the old connection", () => accepted.length === 1)
        const seen: Array<RedirectedConnection> = []
        const end = pod.redirect(7000, (connection) => {
          seen.push(connection)
          answer("agent")(connection.socket)
        })
        assert.strictEqual(yield* say("127.215.2.1", 7000, "new"), "agent:new")
        assert.deepStrictEqual(seen[0]?.destination, { ip: "127.215.2.1", port: 7000 })
        assert.match(seen[0]?.source.ip ?? "", /^127\./u)
        const redirected = net.connect({ port: 7000, host: "127.215.2.1", allowHalfOpen: true })
        const redirectedAnswer = readAll(redirected)
        redirected.write("dur")
        yield* Effect.callback<void>((resume) => void redirected.once("connect", () => resume(Effect.void)))
        yield* untilTrue("the redirected connection", () => seen.length === 2)
        end()
        end()
        assert.strictEqual(yield* say("127.215.2.1", 7000, "after"), "app:after")
        redirected.end("ing")
        old.end("before")
        assert.strictEqual(yield* Effect.promise(() => redirectedAnswer), "agent:during")
        assert.strictEqual(yield* Effect.promise(() => oldAnswer), "app:before")
      })
    )
  )

  it.live("works on a port where nobody listens; connecting to the application is then refused", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const pod = yield* network("127.215.2.2")
        const end = pod.redirect(7001, (connection) => {
          void readAll(connection.connectToApplication()).then((text) => connection.socket.end(text))
        })
        assert.strictEqual(yield* say("127.215.2.2", 7001, ""), "ECONNREFUSED")
        // An application that starts later is behind the redirect too.
        yield* pod.listen(7001, (socket) => socket.end("late app"))
        assert.strictEqual(yield* say("127.215.2.2", 7001, ""), "late app")
        end()
        assert.strictEqual(yield* say("127.215.2.2", 7001, ""), "late app")
      })
    )
  )

  it.live("one owner per port; an address in use elsewhere is reported", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const reports: Array<string> = []
        const pod = yield* network("127.215.2.3", reports)
        const other = yield* network("127.215.2.3", reports)
        yield* other.listen(7000, answer("other"))
        pod.redirect(7002, () => undefined)
        assert.throws(() => pod.redirect(7002, () => undefined), /already redirected/u)
        pod.redirect(7000, () => undefined)
        yield* untilTrue("a report", () => reports.length > 0)
        assert.match(reports[0] ?? "", /cannot redirect 127\.215\.2\.3:7000: .*EADDRINUSE/u)
      })
    )
  )

  it.live("connectToApplication is a connection as if dialled: half-close, many bytes, HTTP with keep-alive", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const pod = yield* network("127.215.2.4")
        yield* pod.listen(7000, answer("app"))
        const server = http.createServer((request, response) =>
          response.end(`web ${request.url} ${request.socket.remoteAddress}`)
        )
        yield* pod.listen(7001, (socket) => server.emit("connection", socket))
        const pass = (connection: RedirectedConnection): void => {
          const application = connection.connectToApplication()
          connection.socket.pipe(application).pipe(connection.socket)
        }
        pod.redirect(7000, pass)
        pod.redirect(7001, pass)
        const megabytes = "0123456789abcdef".repeat(1 << 18)
        assert.strictEqual(yield* say("127.215.2.4", 7000, megabytes), `app:${megabytes}`)
        const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
        assert.strictEqual(yield* get("127.215.2.4", 7001, agent), "web /x 127.0.0.1")
        assert.strictEqual(yield* get("127.215.2.4", 7001, agent), "web /x 127.0.0.1")
        agent.destroy()
      })
    )
  )

  it.live("the pod's end cuts what was redirected", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const pod = yield* network("127.215.2.5")
        const taken: Array<RedirectedConnection> = []
        pod.redirect(7000, (connection) => taken.push(connection))
        const socket = net.connect(7000, "127.215.2.5")
        const end = readAll(socket)
        yield* untilTrue("the redirected connection", () => taken.length === 1)
        pod.close()
        assert.include(["", "ECONNRESET"], yield* Effect.promise(() => end))
        assert.strictEqual(yield* say("127.215.2.5", 7000, ""), "ECONNREFUSED")
      })
    )
  )
})

describe("AddressPool", () => {
  it("gives every address once before one comes back, and none twice", () => {
    const pool = new AddressPool(9)
    const first = pool.take()
    assert.strictEqual(first, "127.9.1.0")
    const taken = new Set([first])
    pool.release(first ?? "")
    for (let n = 1; n < 254 * 256; n++) taken.add(pool.take())
    assert.strictEqual(taken.size, 254 * 256)
    assert.strictEqual(pool.take(), first)
    assert.isUndefined(pool.take())
  })
})
