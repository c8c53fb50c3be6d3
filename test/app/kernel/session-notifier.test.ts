import { Effect, Fiber } from "effect"
import { describe, expect, it } from "vitest"
import { SessionNotifier } from "../../../src/app/kernel/session-notifier.ts"

describe("changes of sessions", () => {
  it("are told to those who listen to the session, until they stop", () => {
    const changes = new SessionNotifier()
    const told: Array<string> = []
    const stops = (["a", "a", "b"] as const).map((session, at) =>
      changes.listen(session, () => told.push(`${session}${at}`))
    )
    changes.notify("a")
    changes.notify("c")
    stops[0]?.()
    changes.notifyAll()
    for (const stop of stops) stop()
    changes.notifyAll()
    expect(told).toEqual(["a0", "a1", "a1", "b2"])
  })

  it("let a listener stop while it is told", () => {
    const changes = new SessionNotifier()
    const told: Array<number> = []
    const stop = changes.listen("a", () => {
      told.push(1)
      stop()
    })
    changes.listen("a", () => told.push(2))
    changes.notify("a")
    changes.notify("a")
    expect(told).toEqual([1, 2, 2])
  })

  it("end the wait for something once it is there; who is interrupted listens no more", async () => {
    const changes = new SessionNotifier()
    let value: { readonly is: number } | undefined
    let reads = 0
    const read = () => {
      reads++
      return value
    }
    await Effect.runPromise(
      Effect.gen(function* () {
        const waiting = yield* Effect.forkChild(changes.until("a", read), { startImmediately: true })
        const givenUp = yield* Effect.forkChild(changes.until("a", read), { startImmediately: true })
        yield* Fiber.interrupt(givenUp)
        expect(reads).toBe(2)
        changes.notify("a")
        expect(reads).toBe(3)
        value = { is: 1 }
        changes.notifyAll()
        expect(yield* Fiber.join(waiting)).toBe(value)
        changes.notify("a")
        expect(reads).toBe(4)
        // Nothing that is there already is waited for.
        expect(yield* changes.until("a", read)).toBe(value)
      })
    )
  })
})
