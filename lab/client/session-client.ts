/**
 * The strict client over a real WebSocket, for the playground and tests: connects as mirrord's client does, and lets a
 * test ask and wait. The protocol is in `client.ts`.
 */

import type { RequestOptions } from "node:https"
import { KubeConfig } from "@kubernetes/client-node"
import { Clock, Effect, Fiber, FiberMap, type Scope } from "effect"
import WebSocket from "ws"
import { boundMinutes } from "./bound.ts"
import { ClientFailed } from "./client-failed.ts"
import type { ClientInput, ClientOptions, ClientRequest } from "./client-input.ts"
import type { ClientEvent, ClientOutput } from "./client-output.ts"
import { makeClient, step } from "./client.ts"

export interface SessionClientOptions {
  readonly kubeconfigPath: string
  readonly namespace: string
  /** The target as in connect URLs, such as `deployment.myapp`. */
  readonly target: string
  readonly sessionId: bigint
  /** Value of `x-client-der`. */
  readonly certificate: string
  /** More connect parameters, by name; none unless given. */
  readonly parameters?: Readonly<Record<string, string>>
  readonly client: ClientOptions
}

/** A client of one session: the machine of `client.ts` with a WebSocket around it. */
export interface SessionClient {
  /** Makes a request, and waits for the first event that `pick` recognises. */
  readonly ask: <A>(
    request: ClientRequest,
    pick: (event: ClientEvent) => A | undefined
  ) => Effect.Effect<A, ClientFailed>
  readonly tell: (request: ClientRequest) => void
  /** Waits for the next event that `pick` recognises, or for the end of the client. */
  readonly expect: <A>(what: string, pick: (event: ClientEvent) => A | undefined) => Effect.Effect<A, ClientFailed>
  /** Calls `listener` for every event until the scope ends. */
  readonly listen: (listener: (event: ClientEvent) => void) => Effect.Effect<void, never, Scope.Scope>
  /** Why the client ended, if it did. */
  readonly failure: () => string | undefined
}

type Untimed = ClientInput extends infer I ? (I extends { readonly now: number } ? Omit<I, "now"> : never) : never

/** The machine of a client on its socket. */
class RunningClient implements SessionClient {
  readonly #socket: WebSocket
  readonly #now: () => number
  /** Calls back once, after so many milliseconds. */
  readonly #wake: (ms: number, run: () => void) => void
  readonly #listeners = new Set<(event: ClientEvent) => void>()
  readonly #failed = new Set<() => void>()
  #state: ReturnType<typeof makeClient>
  #failure: string | undefined

  constructor(
    socket: WebSocket,
    client: SessionClientOptions["client"],
    now: () => number,
    wake: (ms: number, run: () => void) => void
  ) {
    this.#socket = socket
    this.#state = makeClient(client)
    this.#now = now
    this.#wake = wake
  }

  start(): void {
    const socket = this.#socket
    socket.on("message", (data: Buffer, isBinary: boolean) =>
      this.#feed({ _tag: "Frame", kind: isBinary ? "binary" : "text", bytes: new Uint8Array(data) })
    )
    for (const kind of ["ping", "pong"] as const) {
      socket.on(kind, (data: Buffer) => this.#feed({ _tag: "Frame", kind, bytes: new Uint8Array(data) }))
    }
    socket.on("close", () => this.#feed({ _tag: "Closed" }))
    socket.on("error", (error) => this.#fail(error.message))
    this.#feed({ _tag: "Start" })
  }

  #fail(detail: string): void {
    this.#failure ??= detail
    for (const tell of this.#failed) tell()
  }

  #feed(input: Untimed): void {
    const [next, outputs] = step(this.#state, { ...input, now: this.#now() } as ClientInput)
    this.#state = next
    for (const output of outputs) this.#perform(output)
  }

  #perform(output: ClientOutput): void {
    switch (output._tag) {
      case "Send":
        return this.#socket.send(output.bytes, { binary: true })
      case "Event":
        // A copy, because a waiting caller may register for the next event while this event is reported.
        for (const listener of Array.from(this.#listeners)) listener(output.event)
        return
      case "Fatal":
        return this.#fail(`${output.rule}: ${output.message}`)
      case "Reconnect":
        return this.#fail("the connection was lost")
      case "WakeAt":
        return this.#wake(Math.max(0, output.at - this.#now()), () => this.#feed({ _tag: "Tick" }))
    }
  }

  tell(request: ClientRequest): void {
    this.#feed({ _tag: "Do", request })
  }

  expect<A>(what: string, pick: (event: ClientEvent) => A | undefined): Effect.Effect<A, ClientFailed> {
    return Effect.callback<A, ClientFailed>((resume) => {
      const stop = (): void => {
        this.#listeners.delete(listener)
        this.#failed.delete(onFailed)
      }
      const listener = (event: ClientEvent): void => {
        const picked = pick(event)
        if (picked === undefined) return
        stop()
        resume(Effect.succeed(picked))
      }
      const onFailed = (): void => {
        stop()
        resume(Effect.fail(new ClientFailed({ detail: `waiting for ${what}: ${this.#failure ?? ""}` })))
      }
      if (this.#failure !== undefined) return onFailed()
      this.#listeners.add(listener)
      this.#failed.add(onFailed)
      return Effect.sync(stop)
    }).pipe(
      Effect.timeoutOrElse({
        duration: { minutes: boundMinutes },
        orElse: () => Effect.fail(new ClientFailed({ detail: `${what} did not come within ${boundMinutes} minutes` }))
      })
    )
  }

  ask<A>(request: ClientRequest, pick: (event: ClientEvent) => A | undefined): Effect.Effect<A, ClientFailed> {
    const expected = this.expect(`the answer to ${request._tag}`, pick)
    return Effect.gen({ self: this }, function* () {
      const answer = yield* Effect.forkChild(expected, { startImmediately: true })
      this.tell(request)
      return yield* Fiber.join(answer)
    })
  }

  listen(listener: (event: ClientEvent) => void): Effect.Effect<void, never, Scope.Scope> {
    return Effect.acquireRelease(
      Effect.sync(() => void this.#listeners.add(listener)),
      () => Effect.sync(() => void this.#listeners.delete(listener))
    )
  }

  readonly failure = (): string | undefined => this.#failure
}

/** Connects as the real client does (operator-api.md §7) and starts the machine. */
export const openSessionClient = (
  options: SessionClientOptions
): Effect.Effect<SessionClient, ClientFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const tasks = yield* FiberMap.make<string>()
    const run = yield* FiberMap.runtime(tasks)<never>()
    const socket = yield* openSessionSocket(options)
    const client = new RunningClient(
      socket,
      options.client,
      () => clock.currentTimeMillisUnsafe(),
      (ms, tick) => run("tick", Effect.andThen(Effect.sleep(ms), Effect.sync(tick)))
    )
    client.start()
    return client
  })

/** The WebSocket of a client, for who speaks on it himself. */
export const openSessionSocket = (
  options: Omit<SessionClientOptions, "client">
): Effect.Effect<WebSocket, ClientFailed, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.gen(function* () {
      const config = new KubeConfig()
      config.loadFromFile(options.kubeconfigPath)
      const tls: RequestOptions = {}
      yield* Effect.promise(() => config.applyToHTTPSOptions(tls))
      const { agent: _agent, headers, ...secure } = tls
      const server = (config.getCurrentCluster()?.server ?? "").replace(/^http/, "ws")
      const path = `/apis/operator.metalbear.co/v1/proxy/namespaces/${options.namespace}/targets/${options.target}`
      const base = { connect: "true", on_concurrent_steal: "abort" }
      const query = new URLSearchParams({ ...base, ...options.parameters, key: "braid" })
      return yield* Effect.callback<WebSocket, ClientFailed>((resume) => {
        const socket = new WebSocket(`${server}${path}?${query}`, ["v4.channel.k8s.io"], {
          ...(secure as object),
          headers: {
            ...(headers as Record<string, string> | undefined),
            "x-session-id": options.sessionId.toString(),
            "x-client-der": options.certificate,
            "x-client-name": "braid",
            "x-client-hostname": "playground",
            "x-mirrord-cli-version": "3.250.0"
          },
          perMessageDeflate: false,
          autoPong: false
        })
        const refuse = (detail: string): void =>
          resume(Effect.fail(new ClientFailed({ detail: `the operator refused the connection: ${detail}` })))
        socket.once("error", (error) => refuse(error.message))
        socket.once("unexpected-response", (_request, response) => {
          const chunks: Array<Buffer> = []
          response.on("data", (chunk: Buffer) => chunks.push(chunk))
          response.on("end", () => refuse(`${response.statusCode} ${Buffer.concat(chunks).toString("utf8")}`))
        })
        socket.once("open", () => resume(Effect.succeed(socket)))
        return Effect.sync(() => socket.terminate())
      })
    }),
    (socket) => Effect.sync(() => socket.terminate())
  )
