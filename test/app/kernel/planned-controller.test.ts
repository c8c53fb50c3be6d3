import { Clock, Effect, Exit, Scope } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import {
  keyOfObject,
  makePlannedController,
  memoryOf,
  type PlannedController,
  type PlannedTurns
} from "../../../src/app/kernel/planned-controller.ts"
import { configMaps } from "../../../src/domain/resources/core-kinds.ts"
import type { ResourceDescriptor } from "../../../src/domain/resources/resource-descriptor.ts"
import { KubeError, type KubeErrorReason } from "../../../src/ports/kube-api.ts"
import { it } from "../../support/effect-it.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"

type View = typeof configMaps extends ResourceDescriptor<infer T> ? T : never
interface Act {
  readonly _tag: "Act"
  readonly name: string
}
type Turns = PlannedTurns<View, string, View, Act>

const namespace = "shop"
const key = "shop/orders"

const act = (name: string): Act => ({ _tag: "Act", name })
const refused = (reason: KubeErrorReason): KubeError =>
  new KubeError({ cluster: "here", operation: "act", reason, detail: reason })

/** A controller of ConfigMaps that notes what it is asked to do, and does what `behave` says. */
const noted = (behave: (api: MemoryKubeApi) => Partial<Turns> = () => ({})) =>
  Effect.gen(function* () {
    const api = new MemoryKubeApi("here")
    const log: Array<string> = []
    const note = (text: string) => Effect.sync(() => void log.push(text))
    const given = behave(api)
    const turnsOf = (self: PlannedController<View>): Turns => ({
      changed: (object) => self.enqueue(keyOfObject(object)),
      forget: (gone) => note(`forget ${gone}`),
      unreadable: (name) => note(`unreadable ${name}`),
      isOver: ({ data }) => data?.["over"] === "yes",
      known: (name) => Effect.succeed(`known ${name}`),
      plan: () => [],
      order: "InOrder",
      ...given,
      observe: ({ known, view }) => {
        log.push(`observe ${known}, data ${view.data?.["a"]}`)
        return view
      },
      perform: (turn, action) =>
        Effect.andThen(note(`perform ${action.name}`), given.perform?.(turn, action) ?? Effect.void)
    })
    const controller = yield* makePlannedController({ name: "Test", api, resource: configMaps }, turnsOf)
    const write = (data: object) => api.write(configMaps, "orders", { data }, namespace)
    return { api, controller, log, write }
  })

describe("a controller that plans", () => {
  it.effect("observes, plans and performs for each object, by its namespace and name", function* () {
    const { controller, log, write } = yield* noted(() => ({ plan: ({ data }) => [act(`on ${data?.["a"]}`)] }))
    write({ a: "1" })
    yield* TestClock.adjust(1)
    expect(log).toEqual([`observe known ${key}, data 1`, "perform on 1"])
    expect(controller.view(key)?.data).toEqual({ a: "1" })
    yield* TestClock.adjust("1 hour")
    expect(log).toHaveLength(2)
  })

  it.effect("forgets what is gone, and what is over although it is there", function* () {
    const { api, controller, log, write } = yield* noted()
    write({ over: "yes" })
    yield* TestClock.adjust(1)
    expect(log).toEqual([`forget ${key}`])
    api.objects.erase(configMaps, "orders", namespace)
    yield* TestClock.adjust("1 second")
    expect(log).toEqual([`forget ${key}`, `forget ${key}`])
    expect(controller.view(key)).toBeUndefined()
  })

  it.effect("does nothing about an object that cannot be read but to report it", function* () {
    const { controller, log, write } = yield* noted()
    write({ a: 1 })
    yield* TestClock.adjust("1 hour")
    expect(log).toEqual([`unreadable ${key}`])
    expect(controller.view(key)).toBeUndefined()
  })

  it.effect("takes another turn at the earliest time of the plan", function* () {
    const { log, write } = yield* noted(() => ({
      plan: (_view, now) => [
        { _tag: "RequeueAt", at: now + 9_000 },
        { _tag: "RequeueAt", at: now + 5_000 }
      ]
    }))
    write({ a: "1" })
    yield* TestClock.adjust(4_999)
    expect(log).toHaveLength(1)
    yield* TestClock.adjust(2)
    expect(log).toHaveLength(2)
  })

  it.effect("decides from the answer to its own heartbeat, and comes back when the next one is due", function* () {
    let [beats, writtenAt] = [0, -10_000]
    const { log, write } = yield* noted((api) => ({
      heartbeat: ({ now }) => {
        const isDue = now - writtenAt >= 10_000
        if (isDue) writtenAt = now
        const beat = Effect.suspend(() =>
          api.mergePatch(configMaps, "orders", { data: { a: `beat ${++beats}` } }, { namespace })
        )
        return { write: isDue ? beat : undefined, nextAt: writtenAt + 10_000 }
      }
    }))
    write({ a: "old" })
    yield* TestClock.adjust(9_000)
    // The second turn is about the heartbeat's own change.
    expect(log).toEqual([`observe known ${key}, data beat 1`, `observe known ${key}, data beat 1`])
    yield* TestClock.adjust(2_000)
    expect(log.slice(2, 3)).toEqual([`observe known ${key}, data beat 2`])
  })

  it.effect("plans nothing when its heartbeat fails, and beats again", function* () {
    let fails = true
    const { log, write } = yield* noted(() => ({
      heartbeat: () => ({ write: fails ? Effect.fail(refused("Forbidden")) : undefined, nextAt: undefined })
    }))
    write({ a: "1" })
    yield* TestClock.adjust(1)
    expect(log).toEqual([])
    fails = false
    yield* TestClock.adjust("1 second")
    expect(log).toEqual([`observe known ${key}, data 1`])
  })

  it.effect("reads an object again after a conflict, and plans again soon", function* () {
    let conflicts = 1
    const { api, log, write } = yield* noted(() => ({
      plan: () => [act("first"), act("second")],
      perform: () => (conflicts-- > 0 ? Effect.fail(refused("Conflict")) : Effect.void)
    }))
    write({ a: "1" })
    yield* TestClock.adjust(1)
    expect(log).toEqual([`observe known ${key}, data 1`, "perform first"])
    expect(api.calls.filter(({ verb }) => verb === "get").map(({ name }) => name)).toEqual(["orders"])
    yield* TestClock.adjust("1 second")
    expect(log.slice(2)).toEqual([`observe known ${key}, data 1`, "perform first", "perform second"])
  })

  it.effect("performs all actions at once where none waits for another, whatever fails of them", function* () {
    const { api, log, write } = yield* noted(() => ({
      order: "AllAtOnce",
      plan: () => [act("stuck"), act("refused"), act("conflicting"), act("good")],
      perform: (_turn, { name }) => {
        if (name === "stuck") return Effect.sleep("1 minute")
        if (name === "refused") return Effect.fail(refused("Forbidden"))
        return name === "conflicting" ? Effect.fail(refused("Conflict")) : Effect.void
      }
    }))
    write({ a: "1" })
    yield* TestClock.adjust(1)
    expect(log.slice(1)).toEqual(["perform stuck", "perform refused", "perform conflicting", "perform good"])
    // A refusal weighs more than the conflict: nothing is read again, the turn has failed.
    yield* TestClock.adjust("61 seconds")
    expect(api.calls.filter(({ verb }) => verb === "get")).toEqual([])
    expect(log.length).toBeGreaterThan(5)
  })

  it.effect("takes a turn again in which an action was interrupted", function* () {
    let interrupts = 1
    const { log, write } = yield* noted(() => ({
      plan: () => [act("first"), act("second")],
      perform: () => (interrupts-- > 0 ? Effect.interrupt : Effect.void)
    }))
    write({ a: "1" })
    yield* TestClock.adjust("1 second")
    expect(log.slice(1)).toEqual(["perform first", `observe known ${key}, data 1`, "perform first", "perform second"])
  })

  it.effect("ends with its scope, in the middle of a turn", function* () {
    const scope = yield* Scope.make()
    let interruptedAt: number | undefined
    const { log, write } = yield* Scope.provide(
      noted(() => ({
        plan: () => [act("stuck"), act("next")],
        perform: () =>
          Effect.onInterrupt(Effect.never, () =>
            Effect.map(Clock.currentTimeMillis, (now) => void (interruptedAt = now))
          )
      })),
      scope
    )
    write({ a: "1" })
    yield* TestClock.adjust(5)
    yield* Scope.close(scope, Exit.void)
    write({ a: "2" })
    yield* TestClock.adjust("1 hour")
    expect([log, interruptedAt]).toEqual([[`observe known ${key}, data 1`, "perform stuck"], 5])
  })
})

it("remembers an object for as long as it is that object, and nothing of an earlier one of its name", () => {
  const memory = new Map<string, { readonly uid: string }>()
  const first = memoryOf(memory, key, { uid: "1" })
  expect(memoryOf(memory, key, { uid: "1" })).toBe(first)
  const second = memoryOf(memory, key, { uid: "2" })
  expect([second.uid, memory.get(key)]).toEqual(["2", second])
})
