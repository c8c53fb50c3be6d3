import { Deferred, Effect, Exit, Fiber, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { makeInterceptions } from "../../../src/app/relay/interceptions.ts"
import { asObject, at } from "../../../src/domain/json.ts"
import { daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import type { MessageFilter } from "../../../src/domain/protocol/message-filter.ts"
import { it } from "../../support/effect-it.ts"
import { stolenRequest } from "../../support/stolen-request.ts"
import { turns } from "../../support/turns.ts"

const request = (uri: string) => daemonMessage.encode(stolenRequest(uri))
const session = (user: string, key: string | undefined) => ({ user, key, service: "app" })

/** The events of a stream so far, and its end. */
const read = Effect.fnUntraced(function* (stream: Stream.Stream<string>) {
  const got: Array<string> = []
  const fiber = yield* Effect.forkChild(
    Stream.runForEach(stream, (text) => Effect.sync(() => void got.push(text))),
    { startImmediately: true }
  )
  yield* Effect.promise(() => turns())
  const events = () =>
    got
      .join("")
      .split("\n\n")
      .filter((part) => part.startsWith("data: "))
      .map((part) => asObject(JSON.parse(part.slice("data: ".length))))
  return { got, fiber, events, uris: () => events().map((event) => at(event, "data", "http_request", "uri")) }
})

const show = (shown: MessageFilter, uri: string): unknown => shown.toClient?.hear(request(uri), undefined)

const settle = Effect.promise(() => turns())

describe("streams of what is stolen", () => {
  it.effect("show a user's own sessions, those with the key or all", function* () {
    const { watch, watched } = yield* makeInterceptions
    const one = yield* read(yield* watch("ann", "k"))
    const all = yield* read(yield* watch("ann", undefined))
    const bob = yield* read(yield* watch("bob", "k"))
    show(watched(session("ann", "k")), "/1")
    show(watched(session("ann", undefined)), "/2")
    show(watched(session("eve", "k")), "/3")
    yield* settle
    expect([one.uris(), all.uris(), bob.uris()]).toEqual([["/1"], ["/1", "/2"], []])
  })

  it.effect("say that they are there while nothing happens, and end with the operator", function* () {
    const scope = yield* Scope.make()
    const { watch } = yield* makeInterceptions.pipe(Scope.provide(scope))
    const { fiber, got } = yield* read(yield* watch("ann", "k"))
    expect(got).toEqual([": events of your own sessions\n\n"])
    yield* TestClock.adjust("30 seconds")
    yield* settle
    expect(got.slice(1)).toEqual([": \n\n", ": \n\n"])
    yield* Scope.close(scope, Exit.void)
    expect(Exit.isSuccess(yield* Fiber.await(fiber))).toBe(true)
  })

  it.effect("tell a slow reader how many events it has lost", function* () {
    const { watch, watched } = yield* makeInterceptions
    const mayRead = yield* Deferred.make<void>()
    const slow = Stream.tap(yield* watch("ann", "k"), () => Deferred.await(mayRead))
    const { events, uris } = yield* read(slow)
    const shown = watched(session("ann", "k"))
    // The first is on its way before the reader is slow.
    for (let i = 0; i < 3_000; i++) show(shown, `/${i}`)
    yield* Deferred.succeed(mayRead, undefined)
    yield* settle
    expect(events()).toHaveLength(1 + 2_048)
    expect(at(events()[0], "data", "lagged", "count")).toBe(3_000 - 2_048)
    expect(uris().at(-1)).toBe("/2999")
  })

  it.effect("are bounded for each user and for all, until one of them ends", function* () {
    const { watch } = yield* makeInterceptions
    const open = (user: string) => Effect.flatMap(watch(user, undefined), read)
    const first = yield* open("ann")
    for (let i = 1; i < 10; i++) yield* open("ann")
    expect(yield* Effect.flip(watch("ann", "k"))).toMatch(/^User ann has 10 streams of events open/)
    for (let user = 1; user < 20; user++) for (let i = 0; i < 10; i++) yield* open(`user ${user}`)
    expect(yield* Effect.flip(watch("bob", "k"))).toMatch(/^There are 200 streams of events/)
    yield* Fiber.interrupt(first.fiber)
    yield* open("ann")
  })

  it.effect("are bounded though many are asked for before the first of them begins", function* () {
    const { watch, watched } = yield* makeInterceptions
    const asked = yield* Effect.all(Array.from({ length: 12 }, () => watch("ann", undefined)))
    const streams = yield* Effect.forEach(asked, read)
    show(watched(session("ann", "k")), "/1")
    yield* settle
    expect(streams.map(({ uris }) => uris().length)).toEqual([...Array.from({ length: 10 }, () => 1), 0, 0])
    expect(streams[11]?.got.join("")).toMatch(/^: User ann has 10 streams of events open/)
  })
})
