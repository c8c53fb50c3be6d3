import { Effect, Fiber, Logger } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { makeReflector } from "../../../src/app/kernel/reflector.ts"
import { configMaps } from "../../../src/domain/resources/core-kinds.ts"
import { type KubeApi, KubeError } from "../../../src/ports/kube-api.ts"
import { it } from "../../support/effect-it.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"

const failing = (reason: "Unreachable" | "Forbidden") =>
  new KubeError({ cluster: "test", operation: "test", reason, detail: "as told" })

const start = (api: KubeApi, namespace?: string) =>
  Effect.gen(function* () {
    const events: Array<string> = []
    const reflector = yield* makeReflector(
      api,
      configMaps,
      ({ metadata }, deleted) => void events.push(`${deleted ? "-" : "+"}${metadata.name}`),
      namespace === undefined ? undefined : { namespace }
    )
    yield* TestClock.adjust(1)
    const names = () =>
      reflector
        .all()
        .map(({ metadata }) => metadata.name)
        .sort()
    return { reflector, events, names }
  })

const write = (api: MemoryKubeApi, name: string, value = "1", namespace = "default") =>
  api.write(configMaps, name, { data: { value } }, namespace)
const listsOf = (api: MemoryKubeApi): number => api.calls.filter(({ verb }) => verb === "list").length

describe("a reflector", () => {
  it.effect("lists, then follows creation, change and deletion", function* () {
    const api = new MemoryKubeApi("test")
    write(api, "a")
    const { events, names, reflector } = yield* start(api)
    write(api, "b")
    write(api, "a", "2")
    yield* TestClock.adjust(1)
    expect(names()).toEqual(["a", "b"])
    expect(reflector.get("a", "default")?.["data"]).toEqual({ value: "2" })
    api.erase(configMaps, "a", "default")
    yield* TestClock.adjust(1)
    expect(names()).toEqual(["b"])
    expect(events).toEqual(["+a", "+b", "+a", "-a"])
    expect(listsOf(api)).toBe(1)
  })

  it.effect("goes on after a change whose handler throws, and says so", () => {
    const logged: Array<unknown> = []
    return Effect.gen(function* () {
      const api = new MemoryKubeApi("test")
      const seen: Array<string> = []
      const reflector = yield* makeReflector(api, configMaps, ({ metadata }) => {
        if (metadata.name === "bad") throw new RangeError("no such thing")
        seen.push(metadata.name)
      })
      yield* TestClock.adjust(1)
      for (const name of ["a", "bad", "b"]) {
        write(api, name)
        yield* TestClock.adjust(1)
      }
      expect(seen).toEqual(["a", "b"])
      expect(reflector.all()).toHaveLength(3)
      expect(listsOf(api)).toBe(1)
      expect(logged).toEqual([
        expect.objectContaining({
          resource: "configmaps",
          name: "bad",
          defect: expect.stringContaining("no such thing")
        })
      ])
    }).pipe(
      Effect.provide(
        Logger.layer([Logger.map(Logger.formatJson, (line) => void logged.push(JSON.parse(line).annotations))])
      )
    )
  })

  it.effect("keeps objects of one name in two namespaces apart, and sees only what it selects", function* () {
    const api = new MemoryKubeApi("test")
    write(api, "a", "1", "one")
    write(api, "a", "2", "two")
    const all = yield* start(api)
    const one = yield* start(api, "one")
    expect(all.reflector.get("a", "one")?.["data"]).toEqual({ value: "1" })
    expect(all.reflector.get("a", "two")?.["data"]).toEqual({ value: "2" })
    expect(one.reflector.get("a", "two")).toBeUndefined()
    api.erase(configMaps, "a", "two")
    yield* TestClock.adjust(1)
    expect(all.names()).toEqual(["a"])
    expect(one.names()).toEqual(["a"])
  })

  it.effect(
    "rereads an object whose changes a silent watch has lost; the watch's older events do not take it back",
    function* () {
      const api = new MemoryKubeApi("test")
      write(api, "a", "1")
      write(api, "b", "1")
      const { events, names, reflector } = yield* start(api)
      api.setMuted(true)
      write(api, "a", "2")
      api.erase(configMaps, "b", "default")
      yield* reflector.reread("a", "default")
      yield* reflector.reread("b", "default")
      yield* reflector.reread("never", "default")
      expect([names(), reflector.get("a", "default")?.["data"]]).toEqual([["a"], { value: "2" }])
      expect(events).toEqual(["+a", "+b", "+a", "-b"])
      api.setMuted(false)
      const before = reflector.get("a", "default")
      write(api, "a", "3")
      write(api, "a", "4")
      // The watch's events of 3 and 4 are still in its queue.
      yield* reflector.reread("a", "default")
      const told = events.length
      yield* TestClock.adjust(1)
      expect(before?.["data"]).toEqual({ value: "2" })
      expect(reflector.get("a", "default")?.["data"]).toEqual({ value: "4" })
      expect(events).toHaveLength(told)
    }
  )

  it.effect("does not bring back what was deleted while it was being reread", function* () {
    const api = new MemoryKubeApi("test")
    write(api, "a")
    // The server has answered, and the answer is under way for long.
    const late: KubeApi = { ...api, get: (...of) => Effect.tap(api.get(...of), () => Effect.sleep("5 seconds")) }
    const { events, names, reflector } = yield* start(late)
    const rereading = yield* Effect.forkScoped(reflector.reread("a", "default"))
    yield* TestClock.adjust("1 second")
    api.erase(configMaps, "a", "default")
    yield* TestClock.adjust("10 seconds")
    yield* Fiber.join(rereading)
    expect([names(), events]).toEqual([[], ["+a", "-a"]])
    // An object that the watch cannot have told of is taken.
    api.setMuted(true)
    write(api, "b")
    yield* Effect.forkScoped(reflector.reread("b", "default"))
    yield* TestClock.adjust("10 seconds")
    expect(names()).toEqual(["b"])
  })

  it.effect(
    "takes the answer to a write before the watch tells of it, once, and never in place of something newer",
    function* () {
      const api = new MemoryKubeApi("test")
      write(api, "a")
      const { events, reflector } = yield* start(api)
      const change = (value: string) => api.mergePatch(configMaps, "a", { data: { value } }, { namespace: "default" })
      const valueOf = () => reflector.get("a", "default")?.["data"]
      const first = yield* change("2")
      reflector.wrote(first)
      expect(valueOf()).toEqual({ value: "2" })
      yield* TestClock.adjust(1)
      expect(events).toEqual(["+a", "+a"])
      yield* change("3")
      yield* TestClock.adjust(1)
      reflector.wrote(first)
      expect(valueOf()).toEqual({ value: "3" })
      api.erase(configMaps, "a", "default")
      yield* TestClock.adjust(1)
      reflector.wrote(first)
      expect(valueOf()).toBeUndefined()
    }
  )

  it.effect("leaves a server alone for as long as it asks", function* () {
    const api = new MemoryKubeApi("test")
    write(api, "a")
    let left = 1
    api.before = () =>
      left-- > 0
        ? Effect.fail(
            new KubeError({
              cluster: "test",
              operation: "list",
              reason: "TooManyRequests",
              code: 429,
              detail: "busy",
              retryAfterMs: 30_000
            })
          )
        : Effect.void
    const { names, reflector } = yield* start(api)
    reflector.retryNow()
    yield* TestClock.adjust("29 seconds")
    expect([listsOf(api), names()]).toEqual([1, []])
    yield* TestClock.adjust("2 seconds")
    expect(names()).toEqual(["a"])
  })

  it.effect("keeps what it knows where a reread fails", function* () {
    const api = new MemoryKubeApi("test")
    write(api, "a")
    const { names, reflector } = yield* start(api)
    api.before = () => Effect.fail(failing("Unreachable"))
    yield* reflector.reread("a", "default")
    expect(names()).toEqual(["a"])
  })

  it.effect("is synced only after the first complete list", function* () {
    const api = new MemoryKubeApi("test")
    write(api, "a")
    api.setReachable(false)
    const { reflector } = yield* start(api)
    let opened = false
    yield* Effect.forkScoped(
      Effect.map(reflector.awaitSynced, () => {
        opened = true
      })
    )
    yield* TestClock.adjust("10 seconds")
    expect([reflector.synced(), opened, reflector.problem()?.reason]).toEqual([false, false, "Unreachable"])
    api.setReachable(true)
    yield* TestClock.adjust("40 seconds")
    expect([reflector.synced(), opened, reflector.problem()]).toEqual([true, true, undefined])
  })

  it.effect("takes up a watch that the server ended where it stopped, without a new list", function* () {
    const api = new MemoryKubeApi("test")
    const { events, names } = yield* start(api)
    for (const name of ["a", "b", "c"]) {
      api.endWatches()
      write(api, name)
      yield* TestClock.adjust("1 second")
    }
    expect(names()).toEqual(["a", "b", "c"])
    expect(events).toEqual(["+a", "+b", "+c"])
    expect(listsOf(api)).toBe(1)
  })

  it.effect("resumes at a bookmark: nothing is skipped, nothing told twice, no list", function* () {
    const api = new MemoryKubeApi("test")
    const { events } = yield* start(api)
    // Versions move on by what this reflector does not watch.
    for (let i = 0; i < 20; i++)
      api.write({ group: "", version: "v1", plural: "secrets", scope: "Namespaced" }, `s${i}`, {}, "default")
    api.bookmark()
    yield* TestClock.adjust(1)
    api.forgetHistory()
    api.endWatches()
    yield* TestClock.adjust("1 second")
    write(api, "a")
    yield* TestClock.adjust(1)
    expect(events).toEqual(["+a"])
    expect(listsOf(api)).toBe(1)
  })

  it.effect("lists again after 410 without emptying itself in between, and finds what it missed", function* () {
    const api = new MemoryKubeApi("test")
    for (const name of ["a", "b"]) write(api, name)
    const { events, names, reflector } = yield* start(api)
    const sizes = new Set<number>()
    api.before = ({ verb }) =>
      Effect.sync(() => {
        if (verb === "list") sizes.add(reflector.all().length)
      })
    api.setMuted(true)
    api.erase(configMaps, "a", "default")
    write(api, "c")
    api.setMuted(false)
    api.forgetHistory(true)
    yield* TestClock.adjust("1 second")
    expect(names()).toEqual(["b", "c"])
    expect(events).toEqual(["+a", "+b", "-a", "+c"])
    expect([...sizes]).toEqual([2])
    expect(listsOf(api)).toBe(2)
    expect(reflector.problem()).toBeUndefined()
  })

  it.effect("finds a deletion that it missed while the server was away, and says which object is gone", function* () {
    const api = new MemoryKubeApi("test")
    for (const name of ["a", "b"]) write(api, name)
    const { events, names, reflector } = yield* start(api)
    api.setReachable(false)
    yield* TestClock.adjust("90 seconds")
    expect([names(), reflector.synced(), reflector.problem()?.reason]).toEqual([["a", "b"], true, "Unreachable"])
    api.erase(configMaps, "a", "default")
    api.setReachable(true)
    yield* TestClock.adjust("40 seconds")
    expect(names()).toEqual(["b"])
    expect(events.at(-1)).toBe("-a")
    expect(reflector.problem()).toBeUndefined()
  })

  it.effect("tells of both when an object was deleted and made again while it was not looking", function* () {
    const api = new MemoryKubeApi("test")
    write(api, "a")
    const { events } = yield* start(api)
    api.setMuted(true)
    api.erase(configMaps, "a", "default")
    write(api, "a")
    api.setMuted(false)
    api.forgetHistory(true)
    yield* TestClock.adjust("1 second")
    expect(events).toEqual(["+a", "-a", "+a"])
  })

  it.effect("asks an unreachable server less and less often", function* () {
    const api = new MemoryKubeApi("test")
    api.setReachable(false)
    yield* start(api)
    yield* TestClock.adjust("10 minutes")
    expect(listsOf(api)).toBeGreaterThan(15)
    expect(listsOf(api)).toBeLessThan(150)
  })

  it.effect("lists at once when it is told that the server answers again, however long its pause was", function* () {
    const api = new MemoryKubeApi("test")
    const { reflector } = yield* start(api)
    api.setReachable(false)
    yield* TestClock.adjust("1 minute")
    api.setReachable(true)
    const before = listsOf(api)
    reflector.retryNow()
    yield* TestClock.adjust(1)
    expect(listsOf(api)).toBe(before + 1)
    expect(reflector.problem()).toBeUndefined()
  })

  it.effect.each(["Forbidden", "Unreachable"] as const)(
    "does not hammer a server that lists but whose watch is %s",
    function* (reason) {
      const api = new MemoryKubeApi("test")
      api.before = ({ verb }) => (verb === "watch" ? Effect.fail(failing(reason)) : Effect.void)
      yield* start(api)
      yield* TestClock.adjust("10 minutes")
      expect(listsOf(api)).toBeLessThan(150)
    }
  )

  it.effect("does nothing at rest", function* () {
    const api = new MemoryKubeApi("test")
    write(api, "a")
    const { events } = yield* start(api)
    yield* TestClock.adjust("1 hour")
    expect(events).toEqual(["+a"])
    expect(api.calls.map(({ verb }) => verb)).toEqual(["list", "watch"])
  })

  it.effect("leaves no watch behind when its scope ends", function* () {
    const api = new MemoryKubeApi("test")
    yield* Effect.scoped(start(api))
    expect(api.openWatches).toBe(0)
  })
})
