/** Leaders that end at any moment of a branch's life: the next one goes on, and nothing is made twice or left. */

import { assert, describe } from "@effect/vitest"
import { Clock, Deferred, Effect, Redacted, Result } from "effect"
import { branchDatabases } from "../../../src/domain/resources/branches/branch-database.ts"
import { configMaps, jobs, pods, secrets } from "../../../src/domain/resources/core-kinds.ts"
import { timestamp } from "../../../src/domain/resources/object-meta.ts"
import { pass } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import type { MemoryCall } from "../../support/memory-kube-api.ts"
import { begin, Branched, branchName, jobEnds, namespace, ready, user } from "./branched.ts"

const seconds = Effect.fnUntraced(function* (count: number) {
  for (let i = 0; i < count; i++) yield* pass("1 second")
})

const session = { sessionId: "ff", user }

/** A branch's life without faults: made, ready, used once, expired. */
const life = Effect.fnUntraced(function* (branched: Branched) {
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
  "patch branchdatabases",
  "create secrets",
  "create pods",
  "patch branchdatabases",
  "patch branchdatabases",
  "patch branchdatabases",
  "patch branchdatabases",
  "delete branchdatabases"
] as const

const momentsOf = (all: ReadonlyArray<string>) =>
  all.flatMap((write, index) =>
    (["before", "after"] as const).map((when) => ({ name: `${when} write ${index + 1}, ${write}`, index, when }))
  )

const writesOf = ({ api }: Branched, isOne: (call: MemoryCall) => boolean): ReadonlyArray<string> =>
  api.calls.filter(isOne).map(({ plural, verb }) => `${verb} ${plural}`)

/** A branch with migrations, and later ones: a new branch waits for the first, and the second take their place. */
const migratedLife = Effect.fnUntraced(function* (branched: Branched) {
  yield* branched.order({ migrations: { flavor: "flyway", archive: "aGk=" } })
  yield* branched.podsReady()
  yield* jobEnds(branched, 0)
  const spec = { migrations: { archive: "bXk=" } }
  branched.api.write(branchDatabases, branchName, { spec }, namespace)
  yield* seconds(2)
  yield* jobEnds(branched, 0)
})

const isMigrationWrite = ({ plural, verb }: MemoryCall): boolean =>
  ["create", "patch", "delete"].includes(verb) &&
  [branchDatabases, configMaps, jobs].some((kind) => kind.plural === plural)

const migrationWrites = [
  "patch branchdatabases",
  "patch branchdatabases",
  "patch branchdatabases",
  "create configmaps",
  "create jobs",
  "patch branchdatabases",
  "patch branchdatabases",
  "delete configmaps",
  "delete jobs",
  "create configmaps",
  "create jobs",
  "patch branchdatabases"
] as const

/** Lets the leader end at one of the moments of a life; the next leader has begun, and what both create is noted. */
const restarted = Effect.fnUntraced(function* (
  life: (branched: Branched) => Effect.Effect<void, unknown>,
  isOne: (call: MemoryCall) => boolean,
  { index, when }: { readonly index: number; readonly when: "before" | "after" }
) {
  const branched = yield* begin()
  const created: Array<MemoryCall> = []
  let seen = 0
  const hang = (call: MemoryCall) => (isOne(call) && seen++ === index ? Effect.never : Effect.void)
  const count = (call: MemoryCall) =>
    Effect.sync(() => {
      if (call.verb === "create" && isOne(call)) created.push(call)
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
  return { branched, created }
})

/** The annotations by which a primary has a branch kept for a session. */
const awaited = { by: "operator.metalbear.co/branch-awaited-by", since: "operator.metalbear.co/branch-awaited-since" }

describe("a branch that a primary has had kept for a session", () => {
  it.effect("stays for it under the next leader, but no longer than under the first", function* () {
    const branched = yield* begin()
    yield* branched.order({ ttlSecs: 5 })
    yield* branched.podsReady()
    yield* branched.kill
    // The leader has ended before it could write a later time to expire.
    const annotations = { [awaited.by]: "ff", [awaited.since]: timestamp(yield* Clock.currentTimeMillis) }
    branched.api.write(branchDatabases, branchName, { metadata: { annotations } }, namespace)
    yield* pass("200 seconds")
    yield* branched.start()
    yield* pass("50 seconds")
    assert.isDefined(branched.object())
    yield* branched.kill
    yield* branched.start()
    yield* pass("40 seconds")
    assert.isDefined(branched.object())
    for (let i = 0; i < 4; i++) yield* pass("5 seconds")
    assert.isUndefined(branched.object())
  })

  it.effect("stays no longer than five minutes, however fast the primary's clock is", function* () {
    const branched = yield* begin()
    yield* branched.order({ ttlSecs: 5 })
    yield* branched.podsReady()
    yield* branched.kill
    const since = timestamp((yield* Clock.currentTimeMillis) + 3_600_000)
    const annotations = { [awaited.by]: "ff", [awaited.since]: since }
    branched.api.write(branchDatabases, branchName, { metadata: { annotations } }, namespace)
    yield* branched.start()
    yield* pass("290 seconds")
    assert.isDefined(branched.object())
    for (let i = 0; i < 4; i++) yield* pass("5 seconds")
    assert.isUndefined(branched.object())
  })
})

describe("a leader that ends while migrations run", () => {
  it.effect("has as many moments of writing as are tried here", function* () {
    const branched = yield* begin()
    yield* migratedLife(branched)
    assert.deepStrictEqual(writesOf(branched, isMigrationWrite), [...migrationWrites])
  })

  it.effect.each(momentsOf(migrationWrites))(
    "$name: the next one has the last migrations run, each Job once, and leaves nothing",
    function* (moment) {
      const { branched, created } = yield* restarted(migratedLife, isMigrationWrite, moment)
      yield* branched.podsReady()
      yield* seconds(2)
      for (let run = 0; run < 2; run++) yield* jobEnds(branched, 0)
      const names = created.filter(({ plural }) => plural === jobs.plural).map(({ name }) => name)
      const { uid } = branched.object()?.metadata ?? {}
      assert.deepStrictEqual(branched.status()?.migrations, { observedGeneration: 2, phase: "Succeeded" })
      assert.deepInclude(branched.status(), { phase: "Ready" })
      assert.strictEqual(names.at(-1), `mirrord-migrations-${uid}-2`)
      assert.strictEqual(new Set(names).size, names.length)
      assert.lengthOf(branched.api.peekAll(jobs), 1)
      yield* seconds(310)
      assert.deepStrictEqual([branched.api.peekAll(jobs), branched.api.peekAll(configMaps)], [[], []])
    }
  )
})

describe("a leader that pauses while the next one takes over", () => {
  it.effect("makes one pod and one Secret together with it", function* () {
    const branched = yield* begin()
    const resumed = yield* Deferred.make<void>()
    branched.api.before = ({ plural, verb }) =>
      verb === "create" && plural === pods.plural ? Deferred.await(resumed) : Effect.void
    yield* branched.order()
    const next = new Branched()
    Object.assign(next.api, { objects: branched.api.objects })
    yield* Effect.addFinalizer(() => next.kill)
    yield* next.start()
    yield* seconds(1)
    assert.lengthOf(branched.pods(), 1)
    yield* Deferred.succeed(resumed, undefined)
    yield* seconds(2)
    yield* branched.podsReady()
    assert.deepStrictEqual([branched.pods().length, branched.secrets().length], [1, 1])
    for (const { access, phase } of [branched.found(), next.found()])
      assert.deepStrictEqual([phase, access && Redacted.value(access.password)], ["Ready", branched.password()])
  })
})

describe("a leader that ends", () => {
  it.effect("has as many moments of writing as are tried here", function* () {
    const branched = yield* begin()
    yield* life(branched)
    assert.deepStrictEqual(writesOf(branched, isWrite), [...writes])
  })

  it.effect.each(momentsOf(writes))(
    "$name: the next one has the branch ready, once, and takes it away",
    function* (moment) {
      const { branched, created } = yield* restarted(life, isWrite, moment)
      if (branched.object() !== undefined) {
        yield* branched.podsReady()
        const { access, phase } = branched.found()
        assert.strictEqual(phase, "Ready")
        assert.strictEqual(access === undefined ? "" : Redacted.value(access.password), branched.password())
      }
      assert.deepStrictEqual(created.map(({ plural }) => plural).toSorted(), ["pods", "secrets"])
      yield* seconds(460)
      assert.deepStrictEqual([branched.object(), branched.pods(), branched.secrets()], [undefined, [], []])
    }
  )

  it.effect.each([300, 10])(
    "leaves a branch in use to sessions that return to the next one: TTL %s s",
    function* (ttlSecs) {
      const branched = yield* begin()
      yield* branched.order({ ttlSecs })
      yield* branched.podsReady()
      yield* branched.directory.use(branched.found(), session)
      yield* branched.kill
      yield* seconds(90)
      yield* branched.start()
      yield* seconds(140)
      assert.deepStrictEqual(Object.keys(branched.status()?.sessionInfo ?? {}), [session.sessionId])
      yield* branched.directory.use(branched.found(), session)
      yield* seconds(600)
      assert.deepStrictEqual(branched.status()?.phase, "Ready")
      assert.deepStrictEqual(Object.keys(branched.status()?.sessionInfo ?? {}), [session.sessionId])
    }
  )

  it.effect("gives a branch up for sessions that do not return, after its time", function* () {
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

  it.effect("says that a branch whose Secret is gone cannot be used by anybody new", function* () {
    const branched = yield* ready()
    yield* branched.kill
    const [secret] = branched.secrets()
    branched.api.erase(secrets, secret?.metadata.name ?? "", namespace)
    yield* branched.start()
    yield* seconds(1)
    assert.include(branched.status()?.error, "The Secret with the branch's password is gone")
    assert.isUndefined(branched.found().access)
  })

  it.effect("loses no branch while its pods have not been read", function* () {
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
})
