/** Writing statuses and releases to a server that fails, conflicts or is absent. */

import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { assert } from "vitest"
import { makeStatusWriter } from "../../../../lab/playground/kubernetes/status-writer.ts"
import { pods } from "../../../../src/domain/resources/core-kinds.ts"
import { KubeError, type KubeErrorReason } from "../../../../src/ports/kube-api.ts"
import { it } from "../../../support/effect-it.ts"
import { MemoryKubeApi } from "../../../support/memory-kube-api.ts"

const world = Effect.gen(function* () {
  const api = new MemoryKubeApi("c")
  const { metadata } = yield* api.create(
    pods,
    { apiVersion: "v1", kind: "Pod", metadata: { name: "p", namespace: "n" }, spec: {} },
    "n"
  )
  const pod = { ref: pods, name: "p", namespace: "n", uid: metadata.uid ?? "" }
  const writer = yield* makeStatusWriter(api, (_ref, uid) => api.peek(pods, "p", "n")?.metadata.uid === uid)
  const status = () => api.peek(pods, "p", "n")?.["status"]
  const writes = () => api.calls.filter(({ verb }) => verb === "patch" || verb === "delete").map(({ verb }) => verb)
  return { api, pod, writer, status, writes }
})

const settle = TestClock.adjust("10 seconds")
const refusal = (reason: KubeErrorReason) => new KubeError({ cluster: "c", operation: "patch", reason, detail: "no" })

it.effect("writes what several changes come to, and once", () =>
  Effect.gen(function* () {
    const { pod, status, writer, writes } = yield* world
    writer.setStatus(pod, { phase: "Pending", podIP: "10.1.0.1" })
    writer.setStatus(pod, { phase: "Running" })
    yield* settle
    assert.deepStrictEqual(status(), { phase: "Running", podIP: "10.1.0.1" })
    assert.deepStrictEqual(writes(), ["patch"])
  }).pipe(Effect.scoped)
)

it.effect("asks a server that is not there again, and then writes the newest", () =>
  Effect.gen(function* () {
    const { api, pod, status, writer } = yield* world
    api.setReachable(false)
    writer.setStatus(pod, { phase: "Pending", podIP: "10.1.0.1" })
    yield* settle
    writer.setStatus(pod, { phase: "Running" })
    yield* settle
    assert.isUndefined(status())
    api.setReachable(true)
    yield* settle
    assert.deepStrictEqual(status(), { phase: "Running", podIP: "10.1.0.1" })
  }).pipe(Effect.scoped)
)

it.effect("a change that comes while an older one is on its way wins, whatever becomes of that", () =>
  Effect.gen(function* () {
    const { api, pod, status, writer } = yield* world
    let slow = true
    api.before = (call) =>
      call.verb === "patch" && slow
        ? Effect.andThen(
            Effect.sync(() => void (slow = false)),
            Effect.andThen(Effect.sleep("1 minute"), Effect.fail(refusal("Unreachable")))
          )
        : Effect.void
    writer.setStatus(pod, { phase: "Pending", podIP: "10.1.0.1" })
    yield* settle
    writer.setStatus(pod, { phase: "Running" })
    yield* TestClock.adjust("2 minutes")
    assert.deepStrictEqual(status(), { phase: "Running", podIP: "10.1.0.1" })
  }).pipe(Effect.scoped)
)

it.effect("a conflict with another writer is tried again, a refusal is not", () =>
  Effect.gen(function* () {
    const { api, pod, status, writer, writes } = yield* world
    const answers: Array<KubeErrorReason> = ["Conflict", "Invalid"]
    api.before = (call) => {
      const reason = call.verb === "patch" ? answers.shift() : undefined
      return reason === undefined ? Effect.void : Effect.fail(refusal(reason))
    }
    writer.setStatus(pod, { phase: "Pending" })
    yield* settle
    assert.isUndefined(status())
    assert.deepStrictEqual(writes(), ["patch", "patch"])
    writer.setStatus(pod, { phase: "Running" })
    yield* settle
    assert.deepStrictEqual(status(), { phase: "Running" })
  }).pipe(Effect.scoped)
)

it.effect("an object is released after its last status", () =>
  Effect.gen(function* () {
    const { api, pod, writer, writes } = yield* world
    writer.setStatus(pod, { phase: "Succeeded" })
    writer.release(pod)
    yield* settle
    assert.isUndefined(api.peek(pods, "p", "n"))
    assert.deepStrictEqual(writes(), ["patch", "delete"])
  }).pipe(Effect.scoped)
)

it.effect("another object of the same name gets neither the status nor the release", () =>
  Effect.gen(function* () {
    const { api, pod, status, writer } = yield* world
    yield* api.delete(pods, "p", { namespace: "n" })
    yield* api.create(pods, { apiVersion: "v1", kind: "Pod", metadata: { name: "p", namespace: "n" }, spec: {} }, "n")
    writer.setStatus(pod, { phase: "Failed" })
    writer.release(pod)
    yield* settle
    assert.isUndefined(status())
    assert.isDefined(api.peek(pods, "p", "n"))
  }).pipe(Effect.scoped)
)

it.effect("ends with its scope, though the server is gone", () =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(
      Effect.gen(function* () {
        const { api, pod, writer } = yield* world
        api.setReachable(false)
        writer.setStatus(pod, { phase: "Pending" })
        yield* Effect.sleep("5 seconds")
      }).pipe(Effect.scoped)
    )
    yield* settle
    yield* Fiber.join(fiber)
  })
)
