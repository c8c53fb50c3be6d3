/**
 * The product's message path without its API server: clients are accepted and members are dialled by the product's own
 * adapters, and `serveClient` carries the frames. Started by test/bench/relay.ts:
 *
 *     node product.ts cluster|agent PORT MEMBER…      MEMBER: host:port; the first is the default
 *
 * With `TLS=FOLDER` both sides use TLS with FOLDER/tls.crt; agents play the client of it. The URL's `members=N` takes
 * the first N members only. `GET /memory` gives the process's memory after a collection.
 */

import { readFileSync } from "node:fs"
import http from "node:http"
import https from "node:https"
import type { Duplex } from "node:stream"
import { KubeConfig } from "@kubernetes/client-node"
import { Effect, FiberSet, Redacted, Scope } from "effect"
import { dialAgent } from "../../../src/adapters/agents/agent-channel.ts"
import { makeWebSocketAcceptor } from "../../../src/adapters/websocket/accept-websocket.ts"
import { openMemberLink } from "../../../src/adapters/websocket/member-link.ts"
import { serveClient } from "../../../src/app/relay/serve-client.ts"
import { makeSessionLocks } from "../../../src/app/relay/session-locks.ts"
import { makeAgentLockTable } from "../../../src/app/sessions/member/agent-lock-table.ts"
import { type MemberName, memberName } from "../../../src/domain/relay/member.ts"
import type { FrameChannel } from "../../../src/ports/frame-channel.ts"

const [kind = "cluster", port = "0", ...addresses] = process.argv.slice(2)
const isAgent = kind === "agent"
const folder = process.env["TLS"]
const certificate = folder === undefined ? undefined : readFileSync(`${folder}/tls.crt`)
const agentTls =
  certificate === undefined
    ? undefined
    : {
        certificatePem: certificate.toString(),
        keyPem: Redacted.make(readFileSync(`${folder}/tls.key`, "utf8")),
        serverName: "localhost"
      }

const configOf = (address: string): KubeConfig => {
  const config = new KubeConfig()
  const trust = certificate === undefined ? { skipTLSVerify: true } : { caData: certificate.toString("base64") }
  config.loadFromOptions({
    clusters: [{ name: "c", server: `${certificate === undefined ? "http" : "https"}://${address}`, ...trust }],
    users: [{ name: "u", token: "token" }],
    contexts: [{ name: "x", cluster: "c", user: "u" }],
    currentContext: "x"
  })
  return config
}

const agentLocks = makeAgentLockTable()
let links = 0

const connect = (member: MemberName): Effect.Effect<FrameChannel, { readonly message: string }> => {
  if (isAgent) {
    const [host = "", agentPort] = member.split(":")
    const user = { session: "bench", link: ++links, policy: "abort" } as const
    return Effect.map(dialAgent(host, Number(agentPort), agentTls === undefined ? {} : { tls: agentTls }), (channel) =>
      agentLocks.guard(`${member} ${user.link}`, channel, user, { rounds: () => 0, unconfirmed: () => {} })
    )
  }
  return openMemberLink(configOf(member), {
    cluster: member,
    sessionId: 1n,
    namespace: "ns",
    target: "deployment.x",
    query: "on_concurrent_steal=abort",
    parametersInHeader: true
  })
}

const webSockets = makeWebSocketAcceptor()

const serve = (request: http.IncomingMessage, socket: Duplex, head: Buffer) =>
  Effect.gen(function* () {
    const wanted = new URL(request.url ?? "/", "http://x").searchParams.get("members")
    const members = addresses.slice(0, Number(wanted ?? addresses.length)).map(memberName)
    const [defaultMember] = members
    if (defaultMember === undefined) return yield* Effect.die("no members")
    const scope = yield* Effect.scope
    const dialled = (member: MemberName) =>
      connect(member).pipe(
        Effect.tap((channel) => Scope.addFinalizer(scope, Effect.sync(channel.close))),
        Effect.map((channel) => [member, channel] as const)
      )
    const connected = yield* Effect.forEach(members, dialled, { concurrency: "unbounded" })
    const client = yield* Effect.callback<FrameChannel>((resume) => {
      webSockets.accept({ request, socket, head }, undefined, (channel) => resume(Effect.succeed(channel)))
    })
    return yield* serveClient({
      router: {
        members,
        defaultMember,
        memberKind: isAgent ? "agent" : "cluster",
        pingMembersEvery: isAgent ? 20_000 : undefined
      },
      client,
      connected: new Map(connected),
      connect,
      locks: makeSessionLocks(),
      isUser: !isAgent,
      terminated: Effect.never,
      label: "bench"
    })
  }).pipe(
    Effect.scoped,
    Effect.catchCause((cause) =>
      Effect.sync(() => {
        console.error(kind, String(cause))
        socket.destroy()
      })
    ),
    Effect.asVoid
  )

const memory = async (): Promise<NodeJS.MemoryUsage> => {
  for (let round = 0; round < 3; round++) {
    globalThis.gc?.()
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return process.memoryUsage()
}

const listener = (_request: http.IncomingMessage, response: http.ServerResponse): void =>
  void memory().then((usage) => response.end(JSON.stringify(usage)))

const main = Effect.gen(function* () {
  const fibers = yield* FiberSet.make<void>()
  const run = yield* FiberSet.runtime(fibers)<never>()
  const server =
    certificate === undefined
      ? http.createServer(listener)
      : https.createServer({ key: readFileSync(`${folder}/tls.key`), cert: certificate }, listener)
  server.on("upgrade", (request, socket, head) => {
    socket.on("error", () => socket.destroy())
    run(serve(request, socket, head))
  })
  server.listen(Number(port), "127.0.0.1")
  return yield* Effect.never
})

process.on("SIGTERM", () => process.exit(0))
Effect.runFork(Effect.scoped(main))
