/** Sessions of other operators, as those who stop all sessions reach them. */

import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import type { DistantSession } from "../../../src/app/api/capability.ts"
import { stopSessions } from "../../../src/app/operator/stop-sessions.ts"
import { SessionEnds } from "../../../src/app/sessions/session-ends.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { it } from "../../support/effect-it.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"
import { turns } from "../../support/turns.ts"

const by = { user: "ann", groups: [], extra: {} }
const unreachable = new KubeError({ cluster: "b", operation: "delete", reason: "Unreachable", detail: "no answer" })

const distant = (name: string, stop: DistantSession["stop"]): DistantSession =>
  ({ metadata: { name }, audited: {}, stop }) as unknown as DistantSession

const stopAll = (sessions: ReadonlyArray<DistantSession>) => {
  const capabilities = [{ distantSessions: () => sessions }]
  return stopSessions({ api: new MemoryKubeApi("a"), ends: new SessionEnds(), capabilities }, "All", by)
}

describe("all sessions of other operators", () => {
  it.effect("are stopped though one operator does not answer", () =>
    Effect.gen(function* () {
      const stopped: Array<string> = []
      const fiber = yield* Effect.forkChild(
        stopAll([
          distant("1", Effect.never),
          distant(
            "2",
            Effect.sync(() => void stopped.push("2"))
          )
        ]),
        { startImmediately: true }
      )
      yield* Effect.promise(() => turns())
      assert.deepStrictEqual(stopped, ["2"])
      yield* Fiber.interrupt(fiber)
    })
  )

  it.effect("are counted where they are stopped", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* stopAll([distant("1", Effect.fail(unreachable)), distant("2", Effect.void)]), 1)
    })
  )
})
