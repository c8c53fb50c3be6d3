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

/** Connects as the real client does (operator-api.md §7) and starts the machine. */
export const openSessionClient = (
  options: SessionClientOptions
): Effect.Effect<SessionClient, ClientFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const tasks = yield* FiberMap.make<string>()
    const run = yield* FiberMap.runtime(tasks)<never>()
    const socket = yield* openSessionSocket(options)
    let state = makeClient(options.client)
    let failure: string | undefined
    const listeners = new Set<(event: ClientEvent) => void>()
    const failed = new Set<() => void>()

    const fail = (detail: string): void => {
      failure ??= detail
      for (const tell of failed) tell()
    }
    const feed = (input: Untimed): void => {
      const [next, outputs] = step(state, { ...input, now: clock.currentTimeMillisUnsafe() } as ClientInput)
      state = next
      for (const output of outputs) perform(output)
    }
    const perform = (output: ClientOutput): void => {
      switch (output._tag) {
        case "Send":
          return socket.send(output.bytes, { binary: true })
        case "Event":
          // A copy, because a waiting caller may register for the next event while this event is told.
          for (const listener of Array.from(listeners)) listener(output.event)
          return
        case "Fatal":
          return fail(`${output.rule}: ${output.message}`)
        case "Reconnect":
          return fail("the connection was lost")
        case "WakeAt":
          run(
            "tick",
            Effect.sleep(Math.max(0, output.at - clock.currentTimeMillisUnsafe())).pipe(
              Effect.andThen(Effect.sync(() => feed({ _tag: "Tick" })))
            )
          )
          return
      }
    }

    socket.on("message", (data: Buffer, isBinary: boolean) =>
      feed({ _tag: "Frame", kind: isBinary ? "binary" : "text", bytes: new Uint8Array(data) })
    )
    for (const kind of ["ping", "pong"] as const) {
      socket.on(kind, (data: Buffer) => feed({ _tag: "Frame", kind, bytes: new Uint8Array(data) }))
    }
    socket.on("close", () => feed({ _tag: "Closed" }))
    socket.on("error", (error) => fail(error.message))
    feed({ _tag: "Start" })

    const expect = <A>(what: string, pick: (event: ClientEvent) => A | undefined): Effect.Effect<A, ClientFailed> =>
      Effect.callback<A, ClientFailed>((resume) => {
        const stop = (): void => {
          listeners.delete(listener)
          failed.delete(onFailed)
        }
        const listener = (event: ClientEvent): void => {
          const picked = pick(event)
          if (picked === undefined) return
          stop()
          resume(Effect.succeed(picked))
        }
        const onFailed = (): void => {
          stop()
          resume(Effect.fail(new ClientFailed({ detail: `waiting for ${what}: ${failure ?? ""}` })))
        }
        if (failure !== undefined) return onFailed()
        listeners.add(listener)
        failed.add(onFailed)
        return Effect.sync(stop)
      }).pipe(
        Effect.timeoutOrElse({
          duration: { minutes: boundMinutes },
          orElse: () => Effect.fail(new ClientFailed({ detail: `${what} did not come within ${boundMinutes} minutes` }))
        })
      )

    const tell = (request: ClientRequest): void => feed({ _tag: "Do", request })
    return {
      tell,
      expect,
      ask: (request, pick) =>
        Effect.gen(function* () {
          const answer = yield* Effect.forkChild(expect(`the answer to ${request._tag}`, pick), {
            startImmediately: true
          })
          tell(request)
          return yield* Fiber.join(answer)
        }),
      listen: (listener) =>
        Effect.acquireRelease(
          Effect.sync(() => void listeners.add(listener)),
          () => Effect.sync(() => void listeners.delete(listener))
        ),
      failure: () => failure
    }
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
      return yield* Effect.callback<WebSocket, ClientFailed>((resume) => {
        const socket = new WebSocket(
          `${server}${path}?connect=true&on_concurrent_steal=abort&key=braid`,
          ["v4.channel.k8s.io"],
          {
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
          }
        )
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
