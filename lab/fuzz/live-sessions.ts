/**
 * Sessions of people who do nothing wrong, while others do: each pings, and writes numbered lines to a server that
 * gives them back. Says what disturbed them. Sends nothing hostile.
 */

import { once } from "node:events"
import { createServer } from "node:net"
import { setTimeout as pause } from "node:timers/promises"
import { Effect, type Scope } from "effect"
import { boundMinutes } from "../client/bound.ts"
import { connectOut, openRawSession, type RawSession, type User } from "../client/raw-session.ts"

/** How long an answer may take before the session counts as disturbed, in ms. */
const patience = boundMinutes * 60_000
const lineBytes = 8

const echoServer: Effect.Effect<number, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer((socket) => {
        socket.on("error", () => socket.destroy())
        socket.pipe(socket)
      })
      server.listen(0, "127.0.0.1")
      await once(server, "listening")
      return server
    }),
    (server) => Effect.sync(() => server.close())
  ),
  (server) => {
    const address = server.address()
    return typeof address === "object" && address !== null ? address.port : 0
  }
)

/** One live session and what it has seen. */
class Live {
  readonly #session: RawSession
  readonly #connection: bigint
  #pings = 0
  #pongs = 0
  #lines = 0
  #echoed = 0
  #rest = Buffer.alloc(0)
  #problem: string | undefined

  constructor(session: RawSession, connection: bigint) {
    this.#session = session
    this.#connection = connection
    session
      .hear((message) => {
        if (message._tag === "Pong" && ++this.#pongs > this.#pings) this.#problem ??= "a Pong came without a Ping"
        if (message._tag !== "TcpOutgoing") return undefined
        const { value } = message
        if (value._tag === "Read" && value.value._tag === "Ok" && value.value.value.connectionId === this.#connection)
          this.#echo(value.value.value.bytes)
        if (value._tag === "Close" && value.value === this.#connection) this.#problem ??= "its connection was closed"
        return undefined
      })
      .catch((error: unknown) => {
        this.#problem ??= String(error)
      })
  }

  say(): void {
    if (this.#problem !== undefined) return
    this.#pings++
    this.#session.say({ _tag: "Ping" })
    const bytes = new Uint8Array(Buffer.from(String(this.#lines++).padStart(lineBytes, "0")))
    this.#session.say({
      _tag: "TcpOutgoing",
      value: { _tag: "Write", value: { connectionId: this.#connection, bytes } }
    })
  }

  get isAnswered(): boolean {
    return this.#pongs === this.#pings && this.#echoed === this.#lines
  }

  get problem(): string | undefined {
    return this.#problem ?? this.#session.ended()
  }

  get state(): string {
    return `${this.#pongs} of ${this.#pings} pings answered, ${this.#echoed} of ${this.#lines} lines back`
  }

  #echo(bytes: Uint8Array): void {
    this.#rest = Buffer.concat([this.#rest, bytes])
    for (; this.#rest.length >= lineBytes; this.#rest = this.#rest.subarray(lineBytes)) {
      const line = this.#rest.subarray(0, lineBytes).toString("latin1")
      if (Number(line) !== this.#echoed++) this.#problem ??= `line ${line} came in the place of ${this.#echoed - 1}`
    }
  }
}

export interface LiveSessions {
  /** Ids, as lists of sessions show them. */
  readonly ids: ReadonlySet<string>
  /** Everything that disturbed the sessions, once all that they have asked is answered. */
  readonly check: () => Promise<ReadonlyArray<string>>
}

/** Opens a session for each user and keeps it busy until the scope ends. */
export const openLiveSessions = (users: ReadonlyArray<User>): Effect.Effect<LiveSessions, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const port = yield* echoServer
    const ids = users.map((_, index) => 0xf00d_0000_0000_0000n + BigInt(index))
    const lives = yield* Effect.forEach(users, (user, index) =>
      Effect.gen(function* () {
        const session = yield* openRawSession(user, ids[index] ?? 0n)
        return new Live(session, yield* Effect.promise(() => connectOut(session, port, BigInt(index + 1))))
      })
    )
    let isResting = false
    yield* Effect.forkScoped(
      Effect.forever(
        Effect.andThen(Effect.sleep("50 millis"), () =>
          Effect.sync(() => {
            if (!isResting) for (const live of lives) live.say()
          })
        )
      )
    )
    const check = async (): Promise<ReadonlyArray<string>> => {
      isResting = true
      const begun = performance.now()
      const waits = () => lives.some((live) => live.problem === undefined && !live.isAnswered)
      while (waits() && performance.now() - begun < patience) await pause(5)
      isResting = false
      return lives.flatMap(({ isAnswered, problem, state }, index) =>
        problem === undefined && isAnswered ? [] : [`live session ${index + 1}: ${problem ?? "no answer"} (${state})`]
      )
    }
    return { ids: new Set(ids.map((id) => id.toString(16).toUpperCase())), check }
  })
