import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Metric, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { type ClientMessage, clientMessage } from "../../../src/domain/protocol/client-message.ts"
import { type DaemonMessage, daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import { memberName } from "../../../src/domain/routing/member.ts"
import { type ClientConnectionOptions, type ConnectionEnd, droppedMessages, serveClient } from "../../../src/app/sessions/client-connection.ts"
import type { SessionLocks } from "../../../src/app/sessions/session-locks.ts"
import { noLocks } from "../../../src/domain/routing/port-locks.ts"
import { type FakeChannel, fakeChannel } from "../../support/fake-channel.ts"

const [a, b] = [memberName("cluster-a"), memberName("cluster-b")]
const say = (message: ClientMessage): Uint8Array => clientMessage.encode(message)
const answer = (message: DaemonMessage): Uint8Array => daemonMessage.encode(message)
const tagsToMember = (channel: FakeChannel): ReadonlyArray<string> =>
  channel.sent.map((bytes) => {
    const decoded = clientMessage.decode(bytes)
    return decoded._tag === "Decoded" ? decoded.value._tag : decoded._tag
  })
const toClient = (channel: FakeChannel): ReadonlyArray<DaemonMessage> =>
  channel.sent.map((bytes) => {
    const decoded = daemonMessage.decode(bytes)
    if (decoded._tag !== "Decoded") throw new Error(`the client got ${decoded._tag}`)
    return decoded.value
  })
const version: DaemonMessage = { _tag: "SwitchProtocolVersionResponse", value: "1.29.0" }

interface Scene {
  readonly client: FakeChannel
  readonly first: FakeChannel
  readonly second: FakeChannel
  readonly redialled: Array<FakeChannel>
  readonly end: Effect.Effect<ConnectionEnd>
  readonly terminate: (reason: string) => void
}

/** A connection with two clusters; the client has gone through its handshake. */
const scene = (
  options: { readonly pingMembersEvery?: number; readonly canRedial?: () => boolean; readonly members?: ClientConnectionOptions["members"] } = {}
): Effect.Effect<Scene, never, Scope.Scope> =>
  Effect.gen(function* () {
    const [client, first, second] = [fakeChannel(), fakeChannel(), fakeChannel()]
    const redialled: Array<FakeChannel> = []
    let terminate: (reason: string) => void = () => {}
    const fiber = yield* Effect.forkChild(
      Effect.scoped(
        serveClient({
          router: { members: [a, b], defaultMember: a, memberKind: "cluster", pingMembersEvery: options.pingMembersEvery },
          client,
          connected: new Map([[a, first], [b, second]]),
          connect: () =>
            Effect.suspend(() => {
              if (options.canRedial?.() === false) return Effect.fail({ message: "not now" })
              const channel = fakeChannel()
              redialled.push(channel)
              return Effect.succeed(channel)
            }),
          ...(options.members === undefined ? {} : { members: options.members }),
          locks: { current: noLocks },
          terminated: Effect.callback((resume) => {
            terminate = (reason) => resume(Effect.succeed({ reason }))
          }),
          label: "test"
        })
      ),
      { startImmediately: true }
    )
    yield* TestClock.adjust(0)
    for (const member of [first, second]) member.receive(answer(version))
    client.receive(say({ _tag: "SwitchProtocolVersion", value: "1.29.0" }))
    for (const member of [first, second]) member.receive(answer(version))
    client.receive(say({ _tag: "ReadyForLogs" }))
    return { client, first, second, redialled, end: Fiber.join(fiber), terminate: (reason) => terminate(reason) }
  })

describe("the shell around the router", () => {
  it.effect("carries a request to the default cluster and its answer back as the same bytes", () =>
    Effect.gen(function* () {
      const { client, first, second } = yield* scene()
      const request = say({ _tag: "GetEnvVarsRequest", value: { envVarsFilter: new Set(), envVarsSelect: new Set(["*"]) } })
      client.receive(request)
      assert.strictEqual(first.sent.at(-1), request)
      assert.notInclude(tagsToMember(second), "GetEnvVarsRequest")
      const response = answer({ _tag: "GetEnvVarsResponse", value: { _tag: "Ok", value: new Map([["A", "1"]]) } })
      first.receive(response)
      assert.strictEqual(client.sent.at(-1), response)
    })
  )

  it.effect("ends without a word to the client when the default cluster is lost", () =>
    Effect.gen(function* () {
      const { client, end, first, second } = yield* scene()
      first.end("reset")
      assert.strictEqual((yield* end)._tag, "Dropped")
      assert.isTrue(client.isClosed() && second.isClosed())
      assert.notInclude(toClient(client).map(({ _tag }) => _tag), "Close")
    })
  )

  it.effect("dials a lost member again, later and later, and hands the new channel to the router", () =>
    Effect.gen(function* () {
      let up = false
      const { client, redialled, second } = yield* scene({ canRedial: () => up })
      second.end("reset")
      assert.match(JSON.stringify(toClient(client).at(-1)), /cluster-b/)
      yield* TestClock.adjust("30 seconds")
      assert.lengthOf(redialled, 0)
      up = true
      yield* TestClock.adjust("15 seconds")
      assert.lengthOf(redialled, 1)
      assert.deepStrictEqual(tagsToMember(redialled[0] ?? fakeChannel()).slice(0, 1), ["SwitchProtocolVersion"])
    })
  )

  it.effect("takes in members that join and lets go of those that leave, but never of the default", () =>
    Effect.gen(function* () {
      let now = [a, b]
      let changed = (): void => {}
      const { client, first, redialled, second } = yield* scene({
        members: {
          now: () => now,
          listen: (listener) => {
            changed = listener
            return () => {}
          }
        }
      })
      now = [a, b, memberName("cluster-c")]
      changed()
      changed()
      yield* TestClock.adjust("1 second")
      assert.lengthOf(redialled, 1)
      assert.deepStrictEqual(tagsToMember(redialled[0] ?? fakeChannel()).slice(0, 1), ["SwitchProtocolVersion"])
      now = [a, memberName("cluster-c")]
      changed()
      assert.isTrue(second.isClosed())
      yield* TestClock.adjust("60 seconds")
      assert.lengthOf(redialled, 1)
      now = []
      changed()
      assert.isFalse(first.isClosed() || client.isClosed())
    })
  )

  it.effect("tells the client for good when the session is ended elsewhere", () =>
    Effect.gen(function* () {
      const { client, end, terminate } = yield* scene()
      terminate("stopped by ann")
      assert.deepStrictEqual(yield* end, { _tag: "SessionEnded", reason: "stopped by ann" })
      assert.deepStrictEqual(toClient(client).at(-1), { _tag: "Close", value: "stopped by ann" })
      assert.isTrue(client.isClosed())
    })
  )

  it.effect("counts every message that was dropped", () =>
    Effect.gen(function* () {
      const { client } = yield* scene()
      const counter = Metric.withAttributes(droppedMessages, { what: "malformedClientMessage" })
      const before = (yield* Metric.value(counter)).count
      for (let i = 0; i < 3; i++) client.receive(new Uint8Array([1, 0xff]))
      assert.strictEqual(Number((yield* Metric.value(counter)).count) - Number(before), 3)
    })
  )

  it.effect("pauses the members while the client does not read, and goes on when it does", () =>
    Effect.gen(function* () {
      const { client, first, second } = yield* scene()
      client.queue(64 * 1024 * 1024)
      first.receive(answer({ _tag: "LogMessage", value: { message: "hi", level: { _tag: "Warn" } } }))
      assert.isTrue(first.isPaused() && second.isPaused())
      client.queue(0)
      assert.isFalse(first.isPaused() || second.isPaused())
    })
  )

  it.effect("disconnects a member that takes nothing for too long instead of stopping everybody", () =>
    Effect.gen(function* () {
      const { client, second } = yield* scene()
      second.queue(64 * 1024 * 1024)
      client.receive(say({ _tag: "TcpSteal", value: { _tag: "PortSubscribe", value: { _tag: "All", value: 80 } } }))
      assert.isTrue(client.isPaused())
      yield* TestClock.adjust("10 seconds")
      assert.isTrue(second.isClosed())
      assert.isFalse(client.isPaused())
    })
  )

  it.effect("loses a member that leaves the router's own pings unanswered", () =>
    Effect.gen(function* () {
      const { first, second } = yield* scene({ pingMembersEvery: 20_000 })
      for (let round = 0; round < 5; round++) {
        yield* TestClock.adjust("20 seconds")
        first.receive(answer({ _tag: "Pong" }))
      }
      assert.isTrue(second.isClosed())
      assert.isFalse(first.isClosed())
    })
  )

  it.effect("closes every channel when the client is gone, so that its subscriptions end at once", () =>
    Effect.gen(function* () {
      const { client, end, first, second } = yield* scene()
      client.end("code 1006")
      assert.strictEqual((yield* end)._tag, "ClientGone")
      assert.isTrue(first.isClosed() && second.isClosed())
    })
  )

  it.effect("keeps two connections of one session from stealing the same port", () =>
    Effect.gen(function* () {
      const locks: SessionLocks = { current: noLocks }
      const steal = say({ _tag: "TcpSteal", value: { _tag: "PortSubscribe", value: { _tag: "All", value: 80 } } })
      const open = Effect.gen(function* () {
        const [client, member] = [fakeChannel(), fakeChannel()]
        yield* Effect.forkScoped(
          serveClient({
            router: { members: [a], defaultMember: a, memberKind: "cluster", pingMembersEvery: undefined },
            client,
            connected: new Map([[a, member]]),
            connect: () => Effect.fail({ message: "no" }),
            locks,
            terminated: Effect.never,
            label: "test"
          }),
          { startImmediately: true }
        )
        yield* TestClock.adjust(0)
        return { client, member }
      })
      const [one, two] = [yield* open, yield* open]
      one.client.receive(steal)
      two.client.receive(steal)
      assert.include(tagsToMember(one.member), "TcpSteal")
      assert.notInclude(tagsToMember(two.member), "TcpSteal")
      assert.match(JSON.stringify(toClient(two.client)), /PortAlreadyStolen/)
      one.client.end("gone")
      two.client.receive(steal)
      assert.include(tagsToMember(two.member), "TcpSteal")
    })
  )
})
