import { Effect, Exit, Scope } from "effect"
import { assert, describe } from "vitest"
import { arrive, clientIdentity, makeSessionLocks, makeSessionLockTable } from "../../../src/app/relay/session-locks.ts"
import { it } from "../../support/effect-it.ts"

const [laptop, other] = [clientIdentity("ann", "laptop"), clientIdentity("ann", "desktop")]

describe("connections of a session", () => {
  it.effect("know whether their client has come again, for as long as that one stays", function* () {
    const locks = makeSessionLocks()
    const first = yield* arrive(locks, laptop)
    const stranger = yield* arrive(locks, other)
    assert.isFalse(first())
    const scope = yield* Scope.make()
    const second = yield* arrive(locks, laptop).pipe(Scope.provide(scope))
    assert.deepStrictEqual([first(), stranger(), second()], [true, false, false])
    yield* Scope.close(scope, Exit.void)
    assert.isFalse(first())
  })

  it.effect(
    "give a client more time that was given up for its silence and came again, also after the last one left",
    function* () {
      const table = makeSessionLockTable()
      const patience = (session: string) => Effect.scoped(Effect.map(table.use(session), (locks) => locks.patience))
      yield* Effect.scoped(Effect.map(table.use("one"), ({ gaveUp }) => gaveUp()))
      assert.deepStrictEqual([yield* patience("one"), yield* patience("other")], [2, 1])
      yield* Effect.scoped(Effect.map(table.use("one"), ({ gaveUp }) => gaveUp()))
      assert.deepStrictEqual([yield* patience("one"), table.size()], [4, 0])
    }
  )

  it.effect("are forgotten with their scope", function* () {
    const locks = makeSessionLocks()
    yield* Effect.scoped(arrive(locks, laptop))
    assert.strictEqual(locks.arrivals.size, 0)
  })
})
