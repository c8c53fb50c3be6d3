/** The strict client of lab/client as the client of the playground's story. */

import { Effect, Fiber, Random, type Scope } from "effect"
import type { ClientFailed } from "../client/client-failed.ts"
import type { ClientEvent } from "../client/client-output.ts"
import { openSessionClient, type SessionClient } from "../client/session-client.ts"
import { awaited } from "./awaited.ts"
import type { AnyPlayground } from "./local-cluster.ts"
import { workloadNamespace } from "./manifests.ts"
import { demoName, greetingPort, httpPort, localAnswer, type StoryClient } from "./story-client.ts"
import { clientOptions, openStorySession, type StorySession } from "./story-session.ts"
import { demand, failed } from "./story-steps.ts"

const target = `deployment.${demoName}`
const utf8 = new TextEncoder()
const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

/** Reads the environment as mirrord's command line does: on a short connection of its own. */
const readEnvironment = ({ primary }: AnyPlayground, { certificate, id }: StorySession) =>
  Effect.gen(function* () {
    const cli = yield* openSessionClient({
      kubeconfigPath: primary.cluster.kubeconfigPath,
      namespace: workloadNamespace,
      target,
      sessionId: id,
      certificate,
      client: clientOptions("cli")
    })
    const env = yield* cli.expect("the environment", (event) => (event._tag === "Env" ? event.result : undefined))
    return env._tag === "Err" ? yield* failed(`the environment is an error: ${env.error._tag}`) : env.value
  }).pipe(Effect.scoped)

const readFile = (client: SessionClient, path: string) =>
  Effect.gen(function* () {
    const openOptions = { read: true, write: false, append: false, truncate: false, create: false, createNew: false }
    const opened = yield* client.ask(
      { _tag: "File", request: { _tag: "Open", value: { path, openOptions } } },
      (event) => (event._tag === "FileAnswered" && event.response._tag === "Open" ? event.response.value : undefined)
    )
    if (opened._tag === "Err") return yield* failed(`${path} cannot be opened: ${opened.error._tag}`)
    const { fd } = opened.value
    const read = yield* client.ask(
      { _tag: "File", request: { _tag: "Read", value: { remoteFd: fd, bufferSize: 4096n } } },
      (event) => (event._tag === "FileAnswered" && event.response._tag === "Read" ? event.response.value : undefined)
    )
    if (read._tag === "Err") return yield* failed(`${path} cannot be read: ${read.error._tag}`)
    client.tell({ _tag: "File", request: { _tag: "Close", value: { fd } } })
    return text(read.value.bytes)
  })

const greeted = (client: SessionClient) =>
  Effect.gen(function* () {
    const resolved = yield* client.ask({ _tag: "Resolve", node: demoName }, (event) =>
      event._tag === "Resolved" ? event.result : undefined
    )
    if (resolved._tag === "Err") return yield* failed(`${demoName} cannot be resolved: ${resolved.error._tag}`)
    const ip = resolved.value[0]?.ip
    if (ip === undefined) return yield* failed(`${demoName} resolves to nothing`)
    const uid = BigInt(yield* Random.nextIntBetween(1, 2 ** 31))
    const greeting = yield* Effect.forkChild(
      client.expect("the service's greeting", (event) =>
        event._tag === "OutgoingData" ? text(event.bytes) : undefined
      ),
      { startImmediately: true }
    )
    const connected = yield* client.ask(
      { _tag: "Connect", transport: "Tcp", uid, remoteAddress: { _tag: "Ip", value: { ip, port: greetingPort } } },
      (event) => (event._tag === "Connected" && event.uid === uid ? event.result : undefined)
    )
    if (connected._tag === "Err")
      return yield* failed(`${ip}:${greetingPort} cannot be connected: ${connected.error._tag}`)
    const words = yield* Fiber.join(greeting)
    client.tell({ _tag: "CloseOutgoing", transport: "Tcp", connectionId: connected.value.connectionId })
    return { peer: `${ip}:${greetingPort}`, greeting: words }
  })

/** The local process of the session: answers every stolen request. */
export const answerRequests = (client: SessionClient): Effect.Effect<void, never, Scope.Scope> =>
  client.listen((event: ClientEvent) => {
    if (event._tag !== "HttpRequest") return
    const body = utf8.encode(localAnswer(event.method, event.uri))
    client.tell({
      _tag: "Respond",
      connectionId: event.connectionId,
      requestId: event.requestId,
      status: 200,
      headers: [
        ["content-type", utf8.encode("text/plain")],
        ["content-length", utf8.encode(String(body.length))]
      ],
      frames: [{ _tag: "Data", value: body }],
      isLast: true
    })
  })

const steal = (client: SessionClient) =>
  Effect.gen(function* () {
    const subscribed = yield* client.ask({ _tag: "Steal", type: { _tag: "All", value: httpPort } }, (event) =>
      event._tag === "Subscribed" && event.port === httpPort ? event.result : undefined
    )
    yield* demand(subscribed._tag === "Ok", `port ${httpPort} cannot be stolen`)
  })

/** `count`: of pongs since the session is open. */
const pings = (client: SessionClient, count: () => number) =>
  Effect.gen(function* () {
    while (count() < 3) yield* client.expect("a pong", (event) => (event._tag === "Pong" ? event : undefined))
    // A surplus Pong kills the strict client, so a living client proves that there was none.
    const { failure } = client
    yield* demand(failure() === undefined, failure() ?? "")
    return { pongs: count() }
  })

/** Listens for the operator's word about a cluster, while something happens to that cluster. */
const warningAbout = (client: SessionClient, name: string) =>
  Effect.map(
    Effect.forkChild(
      client.expect(`a warning about ${name}`, (event) =>
        event._tag === "Log" && event.message.includes(name) ? event.message : undefined
      ),
      { startImmediately: true }
    ),
    (warning) => awaited(`a warning about ${name}`, Fiber.join(warning))
  )

/** Opens a session of the strict client. */
export const openStrictClient = (playground: AnyPlayground): Effect.Effect<StoryClient, ClientFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const session = yield* openStorySession(playground, { target })
    const { client, id } = session
    let pongs = 0
    yield* client.listen(({ _tag }) => {
      if (_tag === "Pong") pongs++
    })
    yield* answerRequests(client)
    return {
      title: "the lab's client",
      id,
      environment: readEnvironment(playground, session),
      file: (path) => readFile(client, path),
      greeting: greeted(client),
      steal: () => steal(client),
      pings: pings(client, () => pongs),
      warningAbout: ({ description: { name } }) => warningAbout(client, name),
      ended: Effect.void
    }
  })
