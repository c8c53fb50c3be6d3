/** Sessions of other operators, as those who stop all sessions reach them. */

import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { stopSession, stopSessions } from "../../../src/app/operator/stop-sessions.ts"
import type { DistantSession } from "../../../src/app/services/sessions.ts"
import { SessionEnds } from "../../../src/app/sessions/session-ends.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { it } from "../../support/effect-it.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"
import { turns } from "../../support/turns.ts"

const by = { user: "ann", groups: [], extra: {} }
const unreachable = new KubeError({ cluster: "b", operation: "delete", reason: "Unreachable", detail: "no answer" })

const distant = (name: string, stop: DistantSession["stop"]): DistantSession =>
  ({ metadata: { name }, audited: {}, stop }) as unknown as DistantSession

const stoppingOf = (sessions: ReadonlyArray<DistantSession>) => ({
  api: new MemoryKubeApi("a"),
  ends: new SessionEnds(),
  sessions: { served: [], distant: () => sessions }
})

const stopAll = (sessions: ReadonlyArray<DistantSession>, namespace?: string) => {
  return stopSessions(stoppingOf(sessions), { which: "All", namespace }, by)
}

/** A part of a session over many clusters in this one. */
const part = (namespace: string, isGoing: boolean, ended: Array<string>): DistantSession =>
  ({
    metadata: { name: `part of ${namespace}` },
    namespace,
    info: () => ({ id: "5", namespace }),
    audited: {},
    endWithNamespace: Effect.sync(() => {
      if (isGoing) ended.push(namespace)
      return isGoing
    })
  }) as unknown as DistantSession

describe("the parts of sessions over many clusters", () => {
  it.effect("end with their namespace, one by one or all there, and never without it", function* () {
    const ended: Array<string> = []
    const parts = [part("gone", true, ended), part("stays", false, ended)]
    assert.strictEqual(yield* stopAll(parts, "stays"), 0)
    assert.strictEqual(yield* stopAll(parts), 0)
    assert.deepStrictEqual(ended, [])
    assert.strictEqual(yield* stopAll(parts, "gone"), 1)
    assert.deepStrictEqual(ended, ["gone"])
    const stopping = stoppingOf(parts)
    yield* stopSession(stopping, "5", by, "gone")
    assert.deepStrictEqual(ended, ["gone", "gone"])
    const refused = yield* Effect.flip(stopSession(stopping, "5", by, "stays"))
    assert.deepStrictEqual([refused.code, refused.message.includes("primary cluster")], [403, true])
  })
})

describe("one session of another operator", () => {
  const session = (stop: DistantSession["stop"]): DistantSession =>
    ({ ...distant("a-session", stop), info: () => ({ id: "5", namespace: "shop" }) }) as unknown as DistantSession

  for (const [reason, cure] of [
    ["Unreachable", "Try again in a moment."],
    ["Forbidden", "Ask an administrator of the operator for it."]
  ] as const)
    it.effect(`that answers ${reason} is not stopped, and the user is told what to do`, function* () {
      const error = new KubeError({ cluster: "b", operation: "delete", reason, detail: "no" })
      const { message } = yield* Effect.flip(stopSession(stoppingOf([session(Effect.fail(error))]), "5", by, undefined))
      assert.strictEqual(
        message,
        `Session a-session of cluster b is not stopped: no. ${cure} Or stop it at the operator of that cluster.`
      )
    })
})

describe("all sessions of other operators", () => {
  it.effect("are stopped though one operator does not answer", function* () {
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

  it.effect("are counted where they are stopped", function* () {
    assert.strictEqual(yield* stopAll([distant("1", Effect.fail(unreachable)), distant("2", Effect.void)]), 1)
  })
})
