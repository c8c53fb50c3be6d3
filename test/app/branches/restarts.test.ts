/** Leaders that end at any moment of a branch's life: the next one goes on, and nothing is made twice or left. */

import { assert, describe } from "@effect/vitest"
import { Effect, Redacted, Result } from "effect"
import { branchDatabases } from "../../../src/domain/resources/branches/branch-database.ts"
import { pods, secrets } from "../../../src/domain/resources/core-kinds.ts"
import { pass } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import type { MemoryCall } from "../../support/memory-kube-api.ts"
import { begin, type Branched, branchName, namespace, ready, user } from "./branched.ts"

const seconds = (count: number) =>
  Effect.gen(function* () {
    for (let i = 0; i < count; i++) yield* pass("1 second")
  })

const session = { sessionId: "ff", user }

/** A branch's life without faults: made, ready, used once, expired. */
const life = (branched: Branched) =>
  Effect.gen(function* () {
    yield* branched.order()
    yield* branched.podsReady()
    const branch = branched.found()
    yield* branched.directory.use(branch, session)
    yield* branched.directory.release(branch, session.sessionId)
    yield* seconds(305)
  })

const isWrite = ({ plural, verb }: MemoryCall): boolean =>
  ["create", "patch", "delete"].includes(verb) &&
  [branchDatabases, pods, secrets].some((kind) => kind.plural === plural)

const writes = [
  "create secrets",
  "create pods",
  "patch branchdatabases",
  "patch branchdatabases",
  "patch branchdatabases",
  "patch branchdatabases",
  "patch branchdatabases",
  "delete branchdatabases"
] as const

const moments = writes.flatMap((write, index) =>
  (["before", "after"] as const).map((when) => ({ name: `${when} write ${index + 1}, ${write}`, index, when }))
)

describe("a leader that ends", () => {
  it.effect("has as many moments of writing as are tried here", () =>
    Effect.gen(function* () {
      const branched = yield* begin()
      yield* life(branched)
      const seen = branched.api.calls.filter(isWrite).map(({ plural, verb }) => `${verb} ${plural}`)
      assert.deepStrictEqual(seen, [...writes])
    })
  )

  it.effect.each(moments)("$name: the next one has the branch ready, once, and takes it away", ({ index, when }) =>
    Effect.gen(function* () {
      const branched = yield* begin()
      const created: Array<string> = []
      let seen = 0
      const hang = (call: MemoryCall) => (isWrite(call) && seen++ === index ? Effect.never : Effect.void)
      const count = (call: MemoryCall) =>
        Effect.sync(() => {
          if (call.verb === "create" && isWrite(call)) created.push(call.plural)
        })
      branched.api.before = (call) => (when === "before" ? hang(call) : Effect.void)
      branched.api.after = (call) => Effect.andThen(count(call), when === "after" ? hang(call) : Effect.void)
      yield* Effect.forkChild(Effect.exit(life(branched)), { startImmediately: true })
      for (let i = 0; i < 400 && seen <= index; i++) yield* seconds(1)
      assert.isAbove(seen, index)
      yield* branched.kill
      branched.api.before = () => Effect.void
      branched.api.after = count
      yield* branched.start()
      yield* seconds(2)
      if (branched.object() !== undefined) {
        yield* branched.podsReady()
        const { access, phase } = branched.found()
        assert.strictEqual(phase, "Ready")
        assert.strictEqual(access === undefined ? "" : Redacted.value(access.password), branched.password())
      }
      assert.deepStrictEqual(created.toSorted(), ["pods", "secrets"])
      yield* seconds(460)
      assert.deepStrictEqual([branched.object(), branched.pods(), branched.secrets()], [undefined, [], []])
    })
  )

  it.effect("leaves a branch in use to sessions that return to the next one", () =>
    Effect.gen(function* () {
      const branched = yield* ready()
      yield* branched.directory.use(branched.found(), session)
      yield* branched.kill
      yield* seconds(60)
      yield* branched.start()
      yield* seconds(140)
      assert.deepStrictEqual(Object.keys(branched.status()?.sessionInfo ?? {}), [session.sessionId])
      yield* branched.directory.use(branched.found(), session)
      yield* seconds(600)
      assert.deepStrictEqual(branched.status()?.phase, "Ready")
      assert.deepStrictEqual(Object.keys(branched.status()?.sessionInfo ?? {}), [session.sessionId])
    })
  )

  it.effect("gives a branch up for sessions that do not return, after its time", () =>
    Effect.gen(function* () {
      const branched = yield* ready()
      yield* branched.directory.use(branched.found(), session)
      yield* branched.kill
      yield* branched.start()
      yield* seconds(148)
      assert.deepStrictEqual(Object.keys(branched.status()?.sessionInfo ?? {}), [session.sessionId])
      yield* seconds(5)
      assert.deepStrictEqual(branched.status()?.sessionInfo, {})
      yield* seconds(302)
      assert.isUndefined(branched.object())
    })
  )

  it.effect("says that a branch whose Secret is gone cannot be used by anybody new", () =>
    Effect.gen(function* () {
      const branched = yield* ready()
      yield* branched.kill
      const [secret] = branched.secrets()
      branched.api.erase(secrets, secret?.metadata.name ?? "", namespace)
      yield* branched.start()
      yield* seconds(1)
      assert.include(branched.status()?.error, "The Secret with the branch's password is gone")
      assert.isUndefined(branched.found().access)
    })
  )

  it.effect("loses no branch while its pods have not been read", () =>
    Effect.gen(function* () {
      const branched = yield* ready()
      yield* branched.kill
      branched.api.before = ({ plural, verb }) =>
        verb === "list" && plural === pods.plural ? Effect.sleep("20 seconds") : Effect.void
      yield* branched.start()
      yield* seconds(10)
      assert.strictEqual(branched.status()?.phase, "Ready")
      assert.isUndefined(branched.directory.find(namespace, branchName)?.access)
      yield* seconds(15)
      assert.isDefined(branched.found().access)
      assert.isTrue(Result.isSuccess(branched.found().request))
    })
  )
})
