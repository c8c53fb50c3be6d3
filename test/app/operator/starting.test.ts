import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { assert, describe } from "vitest"
import type { OperatorFacade } from "../../../src/app/api/operator-facade.ts"
import { untilStarted } from "../../../src/app/operator/starting.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { it } from "../../support/effect-it.ts"
import { idleFacade } from "../../support/idle-facade.ts"

const made: OperatorFacade["Service"] = { ...idleFacade, describe: Effect.succeed({ made: true }) }
const refused = new KubeError({
  cluster: "c",
  operation: "get",
  reason: "Forbidden",
  code: 403,
  detail: "secrets is forbidden"
})

describe("an operator that is starting", () => {
  it.effect("answers every request with why, as a 500 on which no client repeats in silence", function* () {
    const facade = yield* untilStarted(Effect.fail(refused))
    const request = yield* Effect.forkChild(Effect.flip(facade.describe))
    yield* TestClock.adjust("8 seconds")
    const error = yield* Fiber.join(request)
    assert.strictEqual(error.code, 500)
    assert.match(error.message, /still starting.*secrets is forbidden/)
    assert.match((yield* facade.problems).join(), /secrets is forbidden/)
  })

  it.effect("lets a request wait for what is nearly there", function* () {
    const ready = yield* Deferred.make<OperatorFacade["Service"]>()
    const facade = yield* untilStarted(Deferred.await(ready))
    const request = yield* Effect.forkChild(facade.issueCertificate("csr"))
    yield* TestClock.adjust("4 seconds")
    yield* Deferred.succeed(ready, made)
    assert.strictEqual(yield* Fiber.join(request), "PEM")
  })

  it.effect(
    "is there for a request that comes when nothing stands in the way any more, however long something did",
    function* () {
      let isBack = false
      const facade = yield* untilStarted(Effect.suspend(() => (isBack ? Effect.succeed(made) : Effect.fail(refused))))
      for (let minute = 0; minute < 3; minute++) {
        yield* TestClock.adjust("61 seconds")
        const early = yield* Effect.forkChild(Effect.flip(facade.describe))
        yield* TestClock.adjust("8 seconds")
        assert.strictEqual((yield* Fiber.join(early)).code, 500)
      }
      isBack = true
      const request = yield* Effect.forkChild(facade.issueCertificate("csr"))
      yield* TestClock.adjust("8 seconds")
      assert.strictEqual(yield* Fiber.join(request), "PEM")
    }
  )

  it.effect("tries again until it can start", function* () {
    let tries = 0
    const facade = yield* untilStarted(
      Effect.suspend(() => (++tries < 4 ? Effect.fail(refused) : Effect.succeed(made)))
    )
    yield* TestClock.adjust("1 minute")
    assert.deepStrictEqual(yield* facade.describe, { made: true })
    assert.deepStrictEqual(yield* facade.problems, [])
  })
})
