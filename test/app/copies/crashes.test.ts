/** Operators that die at any moment of a copy's life: its target has its number of pods in the end. */

import { assert, describe } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { it } from "../../support/effect-it.ts"
import type { MemoryCall } from "../../support/memory-kube-api.ts"
import { begin, type Copied, made, minutes, replicas } from "./copied.ts"

/** One user's copy, from the request to the end of the session and of the copy. */
const life = (copied: Copied, certificate: string) =>
  Effect.gen(function* () {
    const copy = made(yield* copied.post(certificate))
    copied.runCopies()
    yield* minutes(0.1)
    yield* copied.get(copy.metadata.name)
    const connection = yield* Scope.make()
    yield* Scope.provide(copied.connect(certificate, copy), connection)
    yield* minutes(0.1)
    yield* Scope.close(connection, Exit.void)
    yield* minutes(3)
  })

const isWrite = ({ plural, verb }: MemoryCall): boolean =>
  (verb === "create" || verb === "patch" || verb === "delete") && (plural === "pods" || plural === "deployments")

/** The operator's writes of pods and workloads in one life. */
const writes = ["create pods", "patch deployments", "delete pods", "patch deployments"] as const

const moments = writes.flatMap((write, index) =>
  (["before", "after"] as const).map((when) => ({ name: `${when} write ${index + 1}, ${write}`, index, when }))
)

describe("an operator that dies", () => {
  it.effect("has as many moments of writing as are tried here", function* () {
    const copied = yield* begin()
    yield* life(copied, yield* copied.certificate())
    const seen = copied.cluster.api.calls.filter(isWrite).map(({ plural, verb }) => `${verb} ${plural}`)
    assert.deepStrictEqual(seen, [...writes])
  })

  it.effect.each(moments)("$name, leaves a target that the next one gives its pods back", function* ({ index, when }) {
    const copied = yield* begin()
    const certificate = yield* copied.certificate()
    let seen = 0
    copied.cluster.api[when] = (call) => (isWrite(call) && seen++ === index ? Effect.never : Effect.void)
    yield* Effect.forkChild(Effect.exit(life(copied, certificate)), { startImmediately: true })
    for (let i = 0; i < 60 && seen <= index; i++) yield* minutes(0.1)
    assert.isAbove(seen, index)
    yield* copied.kill()
    copied.cluster.api[when] = () => Effect.void
    yield* minutes(1)
    yield* copied.start()
    yield* minutes(6)
    assert.deepStrictEqual(copied.copies(), [])
    assert.deepStrictEqual(copied.workload(), { replicas, labels: {} })
    assert.deepStrictEqual(copied.held(), [])
  })
})
