import { assert, describe } from "@effect/vitest"
import type { ConnectRequest } from "../../../src/app/api/operator-facade.ts"
import { pass, request } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import { connectTo, memberOf, opened, refusedWith, startWorld } from "../../support/memory-session.ts"
import { certificateOf } from "../../support/user-certificate.ts"

const bob = { user: "bob", groups: ["developers"], extra: {} }

describe("a job or cronjob", () => {
  it.effect("is refused without a copy before there is a session", function* () {
    const { certificate, world } = yield* startWorld()
    for (const target of ["job.nightly", "cronjob.nightly.container.app"]) {
      const refused = refusedWith(yield* connectTo(world.primary, request(certificate, { target })))
      assert.strictEqual(refused.code, 400)
      assert.match(refused.message, /^A session with \w+\/nightly\S* needs a copy of it: set feature.copy_target\.$/)
    }
  })
})

describe("a user certificate that the operator does not accept", () => {
  it.effect("ends the reconnects to the user's own session, and refuses everything else with 403", function* () {
    const { certificate, world } = yield* startWorld()
    // Another authority's, as every certificate is after the operator's authority was changed.
    const other = yield* certificateOf(memberOf(world, "a"))
    const ask = (change: Partial<ConnectRequest>) => connectTo(world.primary, request(other, change))
    opened(yield* connectTo(world.primary, request(certificate)))
    yield* pass("5 seconds")
    const own = refusedWith(yield* ask({}))
    assert.deepStrictEqual([own.code, own.reason], [410, "ReconnectNotPossible"])
    assert.match(own.message, /^The user certificate was not issued by this operator/)
    for (const change of [{ sessionId: "7" }, { caller: bob }]) {
      const refused = refusedWith(yield* ask(change))
      assert.deepStrictEqual([refused.code, refused.reason], [403, "Forbidden"])
      assert.strictEqual(refused.message, own.message)
    }
    // The session itself goes on.
    opened(yield* connectTo(world.primary, request(certificate)))
  })
})
