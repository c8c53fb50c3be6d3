import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { keepUsers, userMemory } from "../../../src/app/operator/user-memory.ts"
import { UserSightings } from "../../../src/app/operator/user-sightings.ts"
import { configMaps } from "../../../src/domain/resources/core-kinds.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { it } from "../../support/effect-it.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"

const morning = Date.UTC(2026, 10, 22, 9)
const [hour, day] = [3_600_000, 86_400_000]

/** An operator's memory for as long as the effect runs: then its process ends, or its term. */
const asLeader = <A>(api: MemoryKubeApi, use: (users: UserSightings) => Effect.Effect<A>): Effect.Effect<A> => {
  const users = new UserSightings()
  return Effect.scoped(
    Effect.andThen(Effect.forkScoped(keepUsers({ api, namespace: "mirrord", users }), { startImmediately: true }), () =>
      use(users)
    )
  )
}
const stored = (api: MemoryKubeApi) => JSON.stringify(api.peek(configMaps, userMemory, "mirrord")?.["data"])
const verbs = (api: MemoryKubeApi) => api.calls.map(({ verb }) => verb)

describe("the memory of users", () => {
  it.effect("outlives leaders, counts each user once, and forgets after a month", function* () {
    const api = new MemoryKubeApi("local")
    yield* TestClock.setTime(morning)
    yield* asLeader(api, (users) => {
      users.saw("ann", morning)
      users.saw("bob", morning)
      return TestClock.adjust("1 minute")
    })
    yield* TestClock.setTime(morning + 2 * day)
    const counts = yield* asLeader(api, (users) => {
      users.saw("ann", morning + 2 * day)
      users.saw("eve", morning + 2 * day)
      return Effect.as(TestClock.adjust("1 minute"), users.count(morning + 2 * day))
    })
    expect(counts).toEqual({ dau: 2, mau: 3 })
    expect(stored(api)).not.toContain("ann")
    yield* TestClock.setTime(morning + 31 * day)
    const later = yield* asLeader(api, (users) =>
      Effect.as(TestClock.adjust("1 minute"), users.count(morning + 31 * day))
    )
    expect(later).toEqual({ dau: 0, mau: 2 })
    expect(stored(api)).not.toContain("2026-11-22")
  })

  it.effect("is written once a minute at most, and not at all while nothing changes", function* () {
    const api = new MemoryKubeApi("local")
    yield* TestClock.setTime(morning)
    yield* asLeader(api, (users) =>
      Effect.gen(function* () {
        for (let user = 0; user < 50; user++) {
          users.saw(`user ${user}`, morning)
          yield* TestClock.adjust("1 second")
        }
        yield* TestClock.adjust("10 seconds")
        expect(verbs(api)).toEqual(["get", "patch", "create"])
        for (let minute = 2; minute < 50; minute++) {
          users.saw("user 1", morning + minute * 60_000)
          yield* TestClock.adjust("1 minute")
        }
        expect(verbs(api)).toEqual(["get", "patch", "create"])
        users.saw("user 1", morning + hour)
        yield* TestClock.adjust("1 minute")
        expect(verbs(api)).toEqual(["get", "patch", "create", "patch"])
      })
    )
  })

  it.effect("is bounded: ten thousand users at most, in far less than a ConfigMap may hold", function* () {
    const api = new MemoryKubeApi("local")
    yield* TestClock.setTime(morning)
    yield* asLeader(api, (users) => {
      for (let user = 0; user < 12_000; user++) users.saw(`user ${user}`, morning)
      return TestClock.adjust("1 minute")
    })
    expect(stored(api).length).toBeLessThan(200_000)
  })

  it.effect("holds nothing up while it cannot be read, and is read later", function* () {
    const api = new MemoryKubeApi("local")
    yield* TestClock.setTime(morning)
    yield* asLeader(api, (users) => {
      users.saw("bob", morning)
      return TestClock.adjust("1 minute")
    })
    const detail = "forbidden"
    api.before = () =>
      Effect.fail(new KubeError({ cluster: "local", operation: "get", reason: "Forbidden", code: 403, detail }))
    yield* asLeader(api, (users) =>
      Effect.gen(function* () {
        users.saw("ann", morning)
        yield* TestClock.adjust("1 minute")
        expect(users.count(morning)).toEqual({ dau: 1, mau: 1 })
        api.before = () => Effect.void
        yield* TestClock.adjust("2 minutes")
        expect(users.count(morning)).toEqual({ dau: 2, mau: 2 })
      })
    )
  })

  it.effect("is written later if it could not be, and counts nobody twice then", function* () {
    const api = new MemoryKubeApi("local")
    yield* TestClock.setTime(morning)
    const lost = new KubeError({ cluster: "local", operation: "patch", reason: "Unreachable", detail: "lost" })
    api.before = ({ verb }) => (verb === "get" ? Effect.void : Effect.fail(lost))
    yield* asLeader(api, (users) =>
      Effect.gen(function* () {
        users.saw("ann", morning)
        yield* TestClock.adjust("3 minutes")
        expect(stored(api)).toBe(undefined)
        api.before = () => Effect.void
        yield* TestClock.adjust("1 minute")
        expect(users.count(morning)).toEqual({ dau: 1, mau: 1 })
        expect(stored(api)).toContain("2026-11-22")
      })
    )
  })
})
