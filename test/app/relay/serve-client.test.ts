import { Clock, Effect, Fiber, Result, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { assert, describe } from "vitest"
import { CurrentRelayCounts, RelayCounts } from "../../../src/app/kernel/relay-counts.ts"
import type { ClientConnectionOptions, ConnectionEnd } from "../../../src/app/relay/client-connection.ts"
import { serveClient } from "../../../src/app/relay/serve-client.ts"
import { makeSessionLocks, type SessionLocks } from "../../../src/app/relay/session-locks.ts"
import { EnvironmentAnswers } from "../../../src/domain/branches/environment-answers.ts"
import { environmentPlan } from "../../../src/domain/branches/environment-plan.ts"
import { type ClientMessage, clientMessage } from "../../../src/domain/protocol/client-message.ts"
import { type DaemonMessage, daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import type { FileRequest } from "../../../src/domain/protocol/file-messages.ts"
import { pass } from "../../../src/domain/protocol/message-filter.ts"
import { peekClient, peekDaemon } from "../../../src/domain/protocol/peek.ts"
import { memberName } from "../../../src/domain/relay/member.ts"
import type { FrameChannel } from "../../../src/ports/frame-channel.ts"
import { sessionBranch, variable } from "../../domain/branches/session-branch.ts"
import { policy } from "../../domain/policies/policies.ts"
import { it } from "../../support/effect-it.ts"
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
  options: {
    readonly pingMembersEvery?: number
    readonly canRedial?: () => boolean
    /** The sentence of a member that cannot be dialled. */
    readonly refusal?: () => string
    readonly members?: ClientConnectionOptions["members"]
    readonly isUser?: boolean
    readonly hasYounger?: () => boolean
    readonly locks?: SessionLocks
    readonly limits?: ClientConnectionOptions["limits"]
    readonly environment?: ClientConnectionOptions["environment"]
    readonly firstByte?: ClientConnectionOptions["firstByte"]
  } = {}
): Effect.Effect<Scene, never, Scope.Scope> =>
  Effect.gen(function* () {
    const [client, first, second] = [fakeChannel(), fakeChannel(), fakeChannel()]
    const redialled: Array<FakeChannel> = []
    let terminate: (reason: string) => void = () => {}
    const fiber = yield* Effect.forkChild(
      Effect.scoped(
        serveClient({
          router: {
            members: [a, b],
            defaultMember: a,
            memberKind: "cluster",
            pingMembersEvery: options.pingMembersEvery
          },
          client,
          connected: new Map([
            [a, first],
            [b, second]
          ]),
          connect: () =>
            Effect.suspend(() => {
              if (options.canRedial?.() === false)
                return Effect.fail({ message: "not now", refusal: options.refusal?.() })
              const channel = fakeChannel()
              redialled.push(channel)
              return Effect.succeed(channel)
            }),
          ...(options.members === undefined ? {} : { members: options.members }),
          locks: options.locks ?? makeSessionLocks(),
          ...(options.hasYounger === undefined ? {} : { hasYounger: options.hasYounger }),
          isUser: options.isUser ?? true,
          limits: options.limits,
          environment: options.environment,
          firstByte: options.firstByte,
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
  for (const isUser of [true, false])
    it.effect(`acknowledges what has no answer to ${isUser ? "a user" : "nobody but users"}`, function* () {
      const { client, first } = yield* scene({ isUser })
      const ask = (value: FileRequest): void => client.receive(say({ _tag: "FileRequest", value }))
      ask({ _tag: "Read", value: { remoteFd: 0n, bufferSize: 5n } })
      assert.strictEqual(client.acknowledged(), 0)
      ask({ _tag: "Close", value: { fd: 0n } })
      ask({ _tag: "CloseDir", value: { remoteFd: 0n } })
      assert.strictEqual(client.acknowledged(), isUser ? 2 : 0)
      assert.deepEqual(tagsToMember(first).slice(-3), ["FileRequest", "FileRequest", "FileRequest"])
    })

  it.effect("tells of a member's refusals, but not of any number of them", function* () {
    let refusals = 0
    const { client, second } = yield* scene({ canRedial: () => false, refusal: () => `refused ${++refusals}` })
    second.end("gone")
    for (let i = 0; i < 100; i++) yield* TestClock.adjust("15 seconds")
    const told = toClient(client).flatMap((message) =>
      message._tag === "LogMessage" && message.value.message.startsWith("refused") ? [message.value.message] : []
    )
    assert.isAbove(refusals, 50)
    assert.deepStrictEqual(told, ["refused 1", "refused 2", "refused 3"])
  })

  it.effect("ends without a word to the client when the default cluster is lost", function* () {
    const { client, end, first, second } = yield* scene()
    first.end("reset")
    assert.strictEqual((yield* end)._tag, "Dropped")
    assert.isTrue(client.isClosed() && second.isClosed())
    assert.notInclude(
      toClient(client).map(({ _tag }) => _tag),
      "Close"
    )
  })

  it.effect(
    "dials nobody while it is silent and its client has come again, and goes on when it is heard again",
    function* () {
      let isYoungest = false
      const { client, redialled, second } = yield* scene({ hasYounger: () => !isYoungest })
      // A client of which nothing came for its usual interval.
      yield* TestClock.adjust("31 seconds")
      second.end("reset")
      yield* TestClock.adjust("20 seconds")
      assert.lengthOf(redialled, 0)
      client.receive(say({ _tag: "Ping" }))
      yield* TestClock.adjust("15 seconds")
      assert.lengthOf(redialled, 1)
      // Without another one its silence tells nothing.
      isYoungest = true
      yield* TestClock.adjust("40 seconds")
      redialled[0]?.end("reset")
      yield* TestClock.adjust("2 seconds")
      assert.lengthOf(redialled, 2)
    }
  )

  it.effect("dials a lost member again, later and later, and hands the new channel to the router", function* () {
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

  it.effect("takes in members that join and lets go of those that leave, but never of the default", function* () {
    let now = [a, b]
    let changed = (): void => {}
    const { client, first, redialled, second } = yield* scene({
      members: {
        now: () => now,
        isReady: () => true,
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

  it.effect(
    "gives up a channel that leads nowhere, though nobody has closed it; of the default, the client comes again",
    function* () {
      const lost = new Set<FrameChannel>()
      let changed = (): void => {}
      const { client, end, first, redialled, second } = yield* scene({
        members: {
          now: () => [a, b],
          isReady: () => true,
          lost: (channel) => (lost.has(channel) ? "its agent was given up" : undefined),
          listen: (listener) => {
            changed = listener
            return () => {}
          }
        }
      })
      changed()
      assert.isFalse(first.isClosed() || second.isClosed())
      lost.add(second)
      changed()
      assert.isTrue(second.isClosed())
      yield* TestClock.adjust("1 second")
      assert.lengthOf(redialled, 1)
      lost.add(first)
      changed()
      assert.deepStrictEqual(yield* end, {
        _tag: "Dropped",
        reason: "the session lost the default cluster cluster-a: its agent was given up"
      })
      assert.isTrue(client.isClosed())
      assert.isUndefined(toClient(client).find(({ _tag }) => _tag === "Close"))
    }
  )

  it.effect("dials a lost member at once when it becomes ready again", function* () {
    let up = true
    let changed = (): void => {}
    const { redialled, second } = yield* scene({
      canRedial: () => up,
      members: {
        now: () => [a, b],
        isReady: () => up,
        listen: (listener) => {
          changed = listener
          return () => {}
        }
      }
    })
    up = false
    changed()
    second.end("reset")
    yield* TestClock.adjust("40 seconds")
    assert.lengthOf(redialled, 0)
    up = true
    changed()
    yield* TestClock.adjust(1)
    assert.lengthOf(redialled, 1)
    changed()
    yield* TestClock.adjust("1 minute")
    assert.lengthOf(redialled, 1)
  })

  it.effect("tells the client for good when the session is ended elsewhere", function* () {
    const { client, end, terminate } = yield* scene()
    terminate("stopped by\u202eann")
    assert.deepStrictEqual(yield* end, { _tag: "SessionEnded", reason: "stopped by\ufffdann" })
    assert.deepStrictEqual(toClient(client).at(-1), { _tag: "Close", value: "stopped by\ufffdann" })
    assert.isTrue(client.isClosed())
  })

  it.effect("counts what it hears, what it drops, and the links that it opens and loses", () => {
    const counts = new RelayCounts()
    return Effect.gen(function* () {
      const { client, second } = yield* scene()
      const before = counts.received.client.messages
      for (let i = 0; i < 3; i++) client.receive(new Uint8Array([1, 0xff]))
      second.end("gone")
      assert.strictEqual(counts.received.client.messages - before, 3)
      assert.isAbove(counts.received.member.bytes, 0)
      assert.strictEqual(counts.dropped.malformedClientMessage, 3)
      assert.deepStrictEqual(counts.links, { cluster: { opened: 2, lost: 1 }, agent: { opened: 0, lost: 0 } })
    }).pipe(Effect.provideService(CurrentRelayCounts, counts))
  })

  it.effect("times reads of the client and of each member, those that are connected later among them", () => {
    const counts = new RelayCounts()
    return Effect.gen(function* () {
      const { client, redialled, second } = yield* scene()
      second.end("gone")
      yield* TestClock.adjust("10 seconds")
      const [third] = redialled
      for (const [channel, from] of [
        [client, "client"],
        [third, "member"]
      ] as const) {
        const before = counts.untimed[from]
        channel?.timeRead()
        assert.strictEqual(counts.untimed[from] - before, 1)
      }
    }).pipe(Effect.provideService(CurrentRelayCounts, counts))
  })

  it.effect("pauses the members while the client does not read, and goes on when it does", function* () {
    const { client, first, second } = yield* scene()
    client.queue(64 * 1024 * 1024)
    first.receive(answer({ _tag: "LogMessage", value: { message: "hi", level: { _tag: "Warn" } } }))
    assert.isTrue(first.isPaused() && second.isPaused())
    client.queue(0)
    assert.isFalse(first.isPaused() || second.isPaused())
  })

  it.effect("does not read a client that takes not even the answers that are made here", function* () {
    const locks = makeSessionLocks()
    const steal = say({ _tag: "TcpSteal", value: { _tag: "PortSubscribe", value: { _tag: "All", value: 80 } } })
    const holder = yield* scene({ locks })
    holder.client.receive(steal)
    const { client } = yield* scene({ locks })
    // A client that must write before it reads goes on.
    client.queue(5 * 1024 * 1024)
    client.receive(steal)
    assert.isFalse(client.isPaused())
    client.queue(9 * 1024 * 1024)
    client.receive(steal)
    assert.isTrue(client.isPaused())
    client.queue(0)
    assert.isFalse(client.isPaused())
  })

  it.effect("passes bulk on by its head, both ways, until a message changes the router's state", function* () {
    const { client, first, second } = yield* scene()
    const text = (value: string): Uint8Array => new TextEncoder().encode(value)
    const write = (connectionId: bigint, value: string): Uint8Array =>
      say({ _tag: "TcpOutgoing", value: { _tag: "Write", value: { connectionId, bytes: text(value) } } })
    for (const value of ["one", "two", "three"]) client.receive(write(7n, value))
    assert.strictEqual(client.passed(), 2)
    assert.deepStrictEqual(
      first.sent.slice(-3),
      ["one", "two", "three"].map((value) => write(7n, value))
    )
    client.receive(say({ _tag: "Ping" }))
    client.receive(write(7n, "four"))
    assert.strictEqual(client.passed(), 2)
    assert.deepStrictEqual(first.sent.at(-1), write(7n, "four"))

    const addresses = { remoteAddress: "10.0.0.9", destinationPort: 80, sourcePort: 51_000, localAddress: "10.0.0.5" }
    const data = (connectionId: bigint, value: string): Uint8Array =>
      answer({ _tag: "TcpSteal", value: { _tag: "Data", value: { connectionId, bytes: text(value) } } })
    client.receive(say({ _tag: "TcpSteal", value: { _tag: "PortSubscribe", value: { _tag: "All", value: 80 } } }))
    const opened = { _tag: "NewConnectionV1", value: { connectionId: 300n, ...addresses } } as const
    second.receive(answer({ _tag: "TcpSteal", value: opened }))
    for (const value of ["five", "six"]) second.receive(data(300n, value))
    assert.strictEqual(second.passed(), 1)
    assert.deepStrictEqual(
      client.sent.slice(-2),
      ["five", "six"].map((value) => data(0n, value))
    )
  })

  it.effect("disconnects a member that takes nothing for too long instead of stopping everybody", function* () {
    const { client, second } = yield* scene()
    second.queue(64 * 1024 * 1024)
    client.receive(say({ _tag: "TcpSteal", value: { _tag: "PortSubscribe", value: { _tag: "All", value: 80 } } }))
    assert.isTrue(client.isPaused())
    yield* TestClock.adjust("10 seconds")
    assert.isTrue(second.isClosed())
    assert.isFalse(client.isPaused())
  })

  it.effect("loses a member that leaves the router's own pings unanswered", function* () {
    const { first, second } = yield* scene({ pingMembersEvery: 20_000 })
    for (let round = 0; round < 5; round++) {
      yield* TestClock.adjust("20 seconds")
      first.receive(answer({ _tag: "Pong" }))
    }
    assert.isTrue(second.isClosed())
    assert.isFalse(first.isClosed())
  })

  it.effect("keeps members that are sending one long message, or are not read for want of memory", function* () {
    const { first, second } = yield* scene({ pingMembersEvery: 20_000 })
    second.waitForRoom(true)
    for (let round = 0; round < 20; round++) {
      yield* TestClock.adjust("10 seconds")
      first.receivePart()
    }
    assert.isFalse(first.isClosed() || second.isClosed())
    second.waitForRoom(false)
    yield* TestClock.adjust("100 seconds")
    assert.isTrue(first.isClosed() && second.isClosed())
  })

  it.effect("keeps members that it does not read, and members over a jump of the clock", function* () {
    let ahead = 0
    const clock = yield* Clock.Clock
    const skewed: Clock.Clock = Object.assign(Object.create(clock), {
      currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + ahead
    })
    const { client, first, second } = yield* Effect.provideService(
      scene({ pingMembersEvery: 20_000 }),
      Clock.Clock,
      skewed
    )
    client.queue(64 * 1024 * 1024)
    first.receive(answer({ _tag: "LogMessage", value: { message: "hi", level: { _tag: "Warn" } } }))
    assert.isTrue(first.isPaused() && second.isPaused())
    yield* TestClock.adjust("5 minutes")
    client.queue(0)
    ahead = 600_000
    yield* TestClock.adjust("20 seconds")
    assert.isFalse(client.isClosed() || first.isClosed() || second.isClosed())
  })

  it.effect("closes every channel when the client is gone, so that its subscriptions end at once", function* () {
    const { client, end, first, second } = yield* scene()
    client.end("code 1006")
    assert.strictEqual((yield* end)._tag, "ClientGone")
    assert.isTrue(first.isClosed() && second.isClosed())
  })

  /** Two connections of one session, each with its default cluster. */
  const siblings = Effect.gen(function* () {
    const locks = makeSessionLocks()
    const open = Effect.gen(function* () {
      const [client, member] = [fakeChannel(), fakeChannel()]
      const fiber = yield* Effect.forkScoped(
        serveClient({
          router: { members: [a], defaultMember: a, memberKind: "cluster", pingMembersEvery: undefined },
          client,
          connected: new Map([[a, member]]),
          connect: () => Effect.fail({ message: "no" }),
          locks,
          isUser: true,
          terminated: Effect.never,
          label: "test"
        }),
        { startImmediately: true }
      )
      yield* TestClock.adjust(0)
      return { client, member, end: Fiber.join(fiber) }
    })
    return [yield* open, yield* open] as const
  })
  const steal = say({ _tag: "TcpSteal", value: { _tag: "PortSubscribe", value: { _tag: "All", value: 80 } } })
  const ping = say({ _tag: "Ping" })

  it.effect("keeps two connections of one session from stealing the same port", function* () {
    const [one, two] = yield* siblings
    one.client.receive(steal)
    two.client.receive(steal)
    assert.include(tagsToMember(one.member), "TcpSteal")
    assert.notInclude(tagsToMember(two.member), "TcpSteal")
    assert.match(JSON.stringify(toClient(two.client)), /PortAlreadyStolen/)
    one.client.end("gone")
    two.client.receive(steal)
    assert.include(tagsToMember(two.member), "TcpSteal")
  })

  it.effect.each([0, 1, 7, 14, 29])(
    "ends one whose client fell asleep %i s after its start, 90 s after its last word, and notes that",
    function* (age) {
      let givenUp = 0
      const asleep = yield* scene({ locks: makeSessionLocks(1, () => void givenUp++) })
      asleep.client.receive(ping)
      yield* TestClock.adjust(`${age} seconds`)
      asleep.client.receive(steal)
      yield* TestClock.adjust(89_999)
      assert.isFalse(asleep.client.isClosed())
      yield* TestClock.adjust(1)
      assert.isTrue(asleep.client.isClosed())
      assert.strictEqual(givenUp, 1)
      assert.match((yield* asleep.end).reason, /has said nothing for/)
    }
  )

  it.effect("lets a newer connection take the port of one that misses its Pings, and ends that one", function* () {
    const [one, two] = yield* siblings
    one.client.receive(steal)
    for (let i = 0; i < 3; i++) {
      one.client.receive(ping)
      yield* TestClock.adjust("30 seconds")
    }
    two.client.receive(steal)
    assert.match(JSON.stringify(toClient(two.client)), /PortAlreadyStolen/)
    yield* TestClock.adjust("20 seconds")
    two.client.receive(steal)
    assert.include(tagsToMember(two.member), "TcpSteal")
    assert.lengthOf(toClient(two.client), 1)
    assert.isTrue(one.client.isClosed() && one.member.isClosed())
    const end = yield* one.end
    assert.strictEqual(end._tag, "ClientGone")
    assert.match(end.reason, /silent/)
    assert.notInclude(
      toClient(one.client).map(({ _tag }) => _tag),
      "Close"
    )
  })

  it.effect.each([
    { what: "is sending one long message", stays: (client: FakeChannel) => client.receivePart() },
    { what: "is not read, for want of memory", stays: (client: FakeChannel) => client.waitForRoom(true) }
  ])("keeps the port with an older connection that $what, and the connection itself", function* ({ stays }) {
    const [one, two] = yield* siblings
    one.client.receive(steal)
    for (let i = 0; i < 3; i++) {
      one.client.receive(ping)
      yield* TestClock.adjust("5 seconds")
    }
    for (let i = 0; i < 30; i++) {
      stays(one.client)
      yield* TestClock.adjust("2 seconds")
      two.client.receive(steal)
    }
    assert.notInclude(tagsToMember(two.member), "TcpSteal")
    assert.isFalse(one.client.isClosed())

    one.client.waitForRoom(false)
    yield* TestClock.adjust("60 seconds")
    assert.isTrue(one.client.isClosed())
  })

  it.effect(
    "ends a client that has come again as soon as its Pings are overdue, when the new connection opens and " +
      "later; no other",
    function* () {
      const locks = makeSessionLocks()
      let hasYounger = false
      const [first, second] = [
        yield* scene({ locks, hasYounger: () => hasYounger }),
        yield* scene({ locks, hasYounger: () => hasYounger })
      ]
      first.client.receive(ping)
      for (let i = 0; i < 3; i++) {
        yield* TestClock.adjust("30 seconds")
        for (const { client } of [first, second]) client.receive(ping)
      }
      hasYounger = true
      yield* scene({ locks })
      yield* TestClock.adjust("30 seconds")
      second.client.receive(ping)
      assert.deepStrictEqual(
        [first, second].map(({ client }) => client.isClosed()),
        [false, false]
      )
      yield* TestClock.adjust("16 seconds")
      yield* scene({ locks })
      assert.deepStrictEqual(
        [first, second].map(({ client }) => client.isClosed()),
        [true, false]
      )
      assert.match((yield* first.end).reason, /its client has come again/)
      yield* TestClock.adjust("44 seconds")
      assert.isTrue(second.client.isClosed())
    }
  )

  it.effect(
    "leaves a client alone that never pings, one whose clock jumped, one that is not read, and a primary's link",
    function* () {
      const quiet = yield* scene()
      yield* TestClock.adjust("10 hours")
      assert.isFalse(quiet.client.isClosed())

      let ahead = 0
      const clock = yield* Clock.Clock
      const skewed: Clock.Clock = Object.assign(Object.create(clock), {
        currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + ahead
      })
      const jumped = yield* Effect.provideService(scene(), Clock.Clock, skewed)
      for (let i = 0; i < 3; i++) {
        jumped.client.receive(ping)
        yield* TestClock.adjust("30 seconds")
      }
      ahead = 600_000
      yield* TestClock.adjust("50 seconds")
      assert.isFalse(jumped.client.isClosed())

      const braked = yield* scene()
      for (let i = 0; i < 3; i++) {
        braked.client.receive(ping)
        yield* TestClock.adjust("30 seconds")
      }
      braked.first.queue(64 * 1024 * 1024)
      braked.client.receive(ping)
      assert.isTrue(braked.client.isPaused())
      yield* TestClock.adjust("10 minutes")
      braked.first.queue(0)
      yield* TestClock.adjust("80 seconds")
      assert.isFalse(braked.client.isClosed())

      const link = yield* scene({ isUser: false })
      for (let i = 0; i < 3; i++) {
        link.client.receive(ping)
        yield* TestClock.adjust("30 seconds")
      }
      yield* TestClock.adjust("1 hour")
      assert.isFalse(link.client.isClosed())
    }
  )

  it.effect(
    "gives the policies of a session every message that concerns them, and keeps answers in order",
    function* () {
      const files = policy({ fs: { notFound: ["^/secret"] } }, "files")
      const limits = { policies: { policies: [files], text: "" }, outdated: Effect.never }
      const { client, first } = yield* scene({ limits })
      const bytes = new Uint8Array(9)
      const stream = say({ _tag: "TcpOutgoing", value: { _tag: "Write", value: { connectionId: 7n, bytes } } })
      for (let i = 0; i < 3; i++) client.receive(stream)
      assert.strictEqual(client.passed(), 2)
      const write = say({ _tag: "FileRequest", value: { _tag: "Write", value: { fd: 3n, writeBytes: bytes } } })
      for (let i = 0; i < 3; i++) client.receive(write)
      assert.strictEqual(client.passed(), 2)
      const openOptions = { read: true, write: false, append: false, truncate: false, create: false, createNew: false }
      const sentBefore = first.sent.length
      client.receive(say({ _tag: "FileRequest", value: { _tag: "Open", value: { path: "/secret", openOptions } } }))
      assert.lengthOf(first.sent, sentBefore)
      const answers = (): ReadonlyArray<string> =>
        toClient(client).flatMap((message) =>
          message._tag === "File" ? [`${message.value._tag} ${message.value.value._tag}`] : []
        )
      const written = answer({
        _tag: "File",
        value: { _tag: "Write", value: { _tag: "Ok", value: { writtenAmount: 9n } } }
      })
      assert.deepStrictEqual(answers(), [])
      first.receive(written)
      first.receive(written)
      assert.deepStrictEqual(answers(), ["Write Ok", "Write Ok"])
      first.receive(written)
      assert.deepStrictEqual(answers(), ["Write Ok", "Write Ok", "Write Ok", "Open Err"])
    }
  )

  it.effect("leaves a port with its holder when a further subscription to it is refused here", function* () {
    const filtering = policy({ block: ["steal-without-filter"] }, "filtering")
    const locks = makeSessionLocks()
    const limits = { policies: { policies: [filtering], text: "" }, outdated: Effect.never }
    const { client, first, second } = yield* scene({ limits, locks })
    client.receive(
      say({
        _tag: "TcpSteal",
        value: { _tag: "PortSubscribe", value: { _tag: "FilteredHttp", port: 80, filter: "x-user: a" } }
      })
    )
    const subscribed = answer({
      _tag: "TcpSteal",
      value: { _tag: "SubscribeResult", value: { _tag: "Ok", value: 80 } }
    })
    for (const member of [first, second]) member.receive(subscribed)
    client.receive(say({ _tag: "TcpSteal", value: { _tag: "PortSubscribe", value: { _tag: "All", value: 80 } } }))
    assert.lengthOf(
      toClient(client).filter(({ _tag }) => _tag === "TcpSteal"),
      2
    )
    assert.deepStrictEqual([...locks.current.keys()], [80])
  })

  it.effect(
    "lets the first filter hear all that goes to the client, answers that are made here included",
    function* () {
      const limits = { policies: { policies: [policy({ block: ["steal"] })], text: "" }, outdated: Effect.never }
      const got: Array<string | undefined> = []
      const hear = (_: Uint8Array, row: string | undefined) => {
        got.push(row)
        return pass
      }
      const { client, end, terminate } = yield* scene({ limits, firstByte: { toClient: { rows: "every", hear } } })
      const before = got.length
      assert.deepStrictEqual(got, client.sent.map(peekDaemon))
      client.receive(steal)
      terminate("no longer")
      yield* end
      assert.deepStrictEqual(got.slice(before), ["TcpSteal.SubscribeResult", "Close"])
    }
  )

  it.effect("ends a session for good whose variables would lead to the source of a branch", function* () {
    const plan = Result.getOrThrow(environmentPlan([sessionBranch({ url: variable("DATABASE_URL") })]))
    const { client, end, first } = yield* scene({ environment: new EnvironmentAnswers(plan), isUser: false })
    const value = { envVarsFilter: new Set<string>(), envVarsSelect: new Set(["*"]) }
    client.receive(say({ _tag: "GetEnvVarsRequest", value }))
    const variables = new Map([["OTHER", "1"]])
    first.receive(answer({ _tag: "GetEnvVarsResponse", value: { _tag: "Ok", value: variables } }))
    const { _tag, reason } = yield* end
    assert.strictEqual(_tag, "SessionEnded")
    assert.deepStrictEqual(toClient(client).at(-1), { _tag: "Close", value: reason })
  })

  it.effect("ends when other policies hold, and its client may connect again", function* () {
    const limits = { policies: { policies: [], text: "" }, outdated: Effect.succeed({ reason: "others hold" }) }
    const { client, end } = yield* scene({ limits })
    assert.deepStrictEqual(yield* end, { _tag: "Dropped", reason: "others hold" })
    assert.isTrue(client.isClosed())
  })

  it.effect("lets what a member answers at once wait until everybody was asked", function* () {
    const { client, first, second } = yield* scene()
    const { send } = first
    const refusal = answer({
      _tag: "TcpSteal",
      value: { _tag: "SubscribeResult", value: { _tag: "Err", error: { _tag: "PortAlreadyStolen", value: 80 } } }
    })
    Object.assign(first, {
      send: (bytes: Uint8Array) => {
        send(bytes)
        if (peekClient(bytes) === "TcpSteal.PortSubscribe") first.receive(refusal)
      }
    })
    client.receive(steal)
    const asked = second.sent.flatMap((bytes) => {
      const decoded = clientMessage.decode(bytes)
      return decoded._tag === "Decoded" && decoded.value._tag === "TcpSteal" ? [decoded.value.value._tag] : []
    })
    assert.deepStrictEqual(asked, ["PortSubscribe", "PortUnsubscribe"])
    assert.lengthOf(
      toClient(client).filter(({ _tag }) => _tag === "TcpSteal"),
      1
    )
  })
})
