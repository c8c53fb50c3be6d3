import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { dropLeaderLabel, keepLeaderLabel } from "../../../src/app/leadership/leader-label.ts"
import { pods } from "../../../src/domain/resources/core-kinds.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { it } from "../../support/effect-it.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"

const namespace = "mirrord"

const setup = () => {
  const api = new MemoryKubeApi("c")
  const pod = (name: string, labels: object = {}): string =>
    api.write(pods, name, { metadata: { labels: { app: "mirrord-operator", ...labels } } }, namespace).metadata.uid ??
    ""
  const leader = { "mirrord-operator-leader": "true" }
  const uid = pod("one")
  pod("two", leader)
  pod("three")
  api.write(pods, "another-app", { metadata: { labels: { app: "other", ...leader } } }, namespace)
  const labelled = () =>
    api
      .peekAll(pods)
      .flatMap(({ metadata }) => (metadata.labels?.["mirrord-operator-leader"] === "true" ? [metadata.name] : []))
  return { api, labelled, pod, leader, options: { api, namespace, pod: { name: "one", uid } } }
}

describe("the leader's label", () => {
  it.effect("goes to the leader's pod and off every other pod of the operator", function* () {
    const { api, labelled, options } = setup()
    yield* Effect.forkScoped(keepLeaderLabel(options))
    yield* TestClock.adjust(1)
    assert.deepStrictEqual(labelled(), ["one", "another-app"])
    // The other one first: at no time there are two.
    assert.deepStrictEqual(
      api.calls.map(({ name, verb }) => `${verb} ${name}`.trimEnd()),
      ["list", "patch two", "patch one"]
    )
  })

  it.effect("is put right again, and written only then", function* () {
    const { api, labelled, leader, options, pod } = setup()
    yield* Effect.forkScoped(keepLeaderLabel(options))
    yield* TestClock.adjust("5 minutes")
    assert.strictEqual(api.calls.filter(({ verb }) => verb === "patch").length, 2)
    pod("three", leader)
    yield* dropLeaderLabel(options)
    yield* TestClock.adjust("1 minute")
    assert.deepStrictEqual(labelled(), ["one", "another-app"])
  })

  it.effect("is tried again after a failure, and not put on another pod of the same name", function* () {
    const { api, labelled, options } = setup()
    api.before = ({ verb }) =>
      verb === "patch"
        ? Effect.fail(new KubeError({ cluster: "c", operation: "patch", reason: "Unreachable", detail: "cut" }))
        : Effect.void
    yield* Effect.forkScoped(keepLeaderLabel({ ...options, pod: { name: "one", uid: "of another time" } }))
    yield* TestClock.adjust("5 seconds")
    assert.deepStrictEqual(labelled(), ["two", "another-app"])
    api.before = () => Effect.void
    yield* TestClock.adjust("5 seconds")
    assert.deepStrictEqual(labelled(), ["another-app"])
  })
})
