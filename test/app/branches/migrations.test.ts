/** Migrations of branches at one API server: a new branch waits for them, another one stays whatever happens. */

import { assert, describe } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { events } from "../../../src/domain/events/event-object.ts"
import { asObjects, at } from "../../../src/domain/json.ts"
import { branchDatabases } from "../../../src/domain/resources/branches/branch-database.ts"
import { configMaps, jobs, pods } from "../../../src/domain/resources/core-kinds.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { pass } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import { begin, type Branched, branchName, jobEnds, jobRuns, namespace, ready, user } from "./branched.ts"

const flyway = (archive = "aGk=") => ({ migrations: { flavor: "flyway", archive } })
const program = { migrations: { flavor: "container", image: "docker.io/library/postgres:17", command: ["migrate"] } }

/** A client that asks for migrations of a branch that is there; the result is the generation. */
const patch = Effect.fnUntraced(function* (branched: Branched, spec: object) {
  branched.api.write(branchDatabases, branchName, { spec }, namespace)
  yield* pass("1 second")
  return branched.object()?.metadata.generation ?? 0
})

/** The controller of Jobs has told why it made no pod. `uid`: of the Job. */
const tell = (
  { api }: Branched,
  name: string,
  { message, uid }: { readonly message: string; readonly uid?: string | undefined }
) =>
  api.write(
    events,
    name,
    {
      type: "Warning",
      reason: "FailedCreate",
      message,
      involvedObject: { uid },
      lastTimestamp: "2026-01-01T00:00:00Z"
    },
    namespace
  )

const names = (branched: Branched): ReadonlyArray<string> =>
  branched.api.peekAll(jobs).map(({ metadata }) => metadata.name)

describe("migrations of a new branch", () => {
  it.effect("run once its server is up, and it is ready when they have succeeded", function* () {
    const branched = yield* begin()
    yield* branched.order(flyway())
    assert.deepStrictEqual(names(branched), [])
    yield* branched.podsReady()
    const uid = branched.object()?.metadata.uid
    assert.deepStrictEqual(names(branched), [`mirrord-migrations-${uid}-1`])
    assert.deepInclude(branched.status(), { phase: "Pending" })
    assert.deepStrictEqual(branched.status()?.migrations, { observedGeneration: 1, phase: "Running" })
    assert.isUndefined(branched.found().access)
    const [job] = branched.api.peekAll(jobs)
    const [container] = asObjects(at(job, "spec", "template", "spec", "containers"))
    assert.deepInclude(asObjects(container?.["env"]), {
      name: "FLYWAY_URL",
      value: "jdbc:postgresql://10.0.0.7:5432/shop?sslmode=disable"
    })
    const [files] = branched.api.peekAll(configMaps)
    assert.deepStrictEqual(files?.["binaryData"], { "migrations.tar.gz": "aGk=" })
    for (const object of [job, files])
      assert.strictEqual(object?.metadata.ownerReferences?.[0]?.uid, uid, "both are the branch's own")
    assert.notInclude(JSON.stringify([job, files]), branched.password())
    yield* jobEnds(branched, 0)
    assert.deepInclude(branched.status(), { phase: "Ready" })
    assert.deepStrictEqual(branched.status()?.migrations, { observedGeneration: 1, phase: "Succeeded" })
    yield* pass("299 seconds")
    yield* pass("3 seconds")
    assert.isUndefined(branched.object())
    assert.deepStrictEqual([branched.api.peekAll(jobs), branched.api.peekAll(configMaps)], [[], []])
  })

  it.effect("fail within seconds with the reason for which their pod cannot be made", function* () {
    const branched = yield* begin()
    yield* branched.order(flyway())
    yield* branched.podsReady()
    const [job] = branched.api.peekAll(jobs)
    const message = 'Error creating: pods "x" is forbidden: exceeded quota: few, requested: pods=1, used: pods=1'
    tell(branched, "others", { uid: "another", message: "Error creating: another Job's" })
    yield* pass("5 seconds")
    assert.deepInclude(branched.status(), { phase: "Pending" })
    tell(branched, "refused", { uid: job?.metadata.uid, message })
    for (let second = 0; second < 5; second++) yield* pass("1 second")
    assert.deepInclude(branched.status(), {
      phase: "Failed",
      error:
        'The migrations failed: their pod cannot be made: pods "x" is forbidden: exceeded quota: few, ' +
        "requested: pods=1, used: pods=1."
    })
  })

  it.effect("wait for a pod that could not be made once, and are told so of a branch that stays", function* () {
    const branched = yield* ready()
    const generation = yield* patch(branched, program)
    const job = branched.api.peekAll(jobs).at(-1)
    tell(branched, "refused", { uid: job?.metadata.uid, message: "Error creating: the webhook is away" })
    yield* pass("2 seconds")
    assert.deepStrictEqual(branched.status()?.migrations, { observedGeneration: generation, phase: "Running" })
    for (let second = 0; second < 4; second++) yield* pass("1 second")
    const failed = { observedGeneration: generation, phase: "Failed" as const }
    const error = "their pod cannot be made: the webhook is away."
    assert.deepInclude(branched.status(), { phase: "Ready", migrations: { ...failed, error } })
    yield* jobRuns(branched)
    assert.deepStrictEqual(branched.status()?.migrations, { observedGeneration: generation, phase: "Running" })
  })

  it.effect("are those of its own Job, whoever gives another object their label", function* () {
    const branched = yield* begin()
    yield* branched.order(flyway())
    const { uid = "" } = branched.object()?.metadata ?? {}
    const metadata = { labels: { "operator.metalbear.co/branch-migrations": uid } }
    const status = { conditions: [{ type: "Complete", status: "True" }], phase: "Running" }
    branched.api.write(configMaps, "settings", {}, namespace)
    for (const kind of [jobs, pods]) branched.api.write(kind, "settings", { metadata, status }, "other")
    branched.api.write(jobs, "settings", { metadata, status }, namespace)
    yield* branched.podsReady()
    assert.include(names(branched), `mirrord-migrations-${uid}-1`)
    assert.strictEqual(branched.status()?.phase, "Pending")
    assert.isDefined(branched.api.peek(configMaps, "settings", namespace))
  })

  it.effect("never run the files of another object that has their name, and never delete it", function* () {
    const branched = yield* begin()
    yield* branched.order(flyway())
    const name = `mirrord-migrations-${branched.object()?.metadata.uid}-1`
    branched.api.write(configMaps, name, { binaryData: { "migrations.tar.gz": "b3RoZXI=" } }, namespace)
    yield* branched.podsReady()
    assert.strictEqual(
      branched.status()?.error,
      `The migrations failed: There is an object ${name} among the configmaps of namespace ${namespace} that ` +
        "belongs to no branch of this name: delete it, and run the command again."
    )
    assert.deepStrictEqual(names(branched), [])
    yield* pass("21 seconds")
    yield* pass("1 second")
    assert.isUndefined(branched.object())
    assert.isDefined(branched.api.peek(configMaps, name, namespace))
  })

  it.effect("are not those of somebody else's Job, whatever it is called", function* () {
    const branched = yield* begin()
    yield* branched.order(flyway())
    const { uid = "" } = branched.object()?.metadata ?? {}
    const name = `mirrord-migrations-${uid}-1`
    const metadata = { labels: { "operator.metalbear.co/branch-migrations": uid } }
    const status = { conditions: [{ type: "Complete", status: "True" }] }
    branched.api.write(jobs, name, { metadata, status }, namespace)
    yield* branched.podsReady()
    assert.include(branched.status()?.error, `There is an object ${name} among the jobs of namespace ${namespace}`)
    assert.isDefined(branched.api.peek(jobs, name, namespace))
  })

  it.effect("take no other object's files away with a run that is over", function* () {
    const branched = yield* ready()
    const generation = yield* patch(branched, program)
    const name = `mirrord-migrations-${branched.object()?.metadata.uid}-${generation}`
    branched.api.write(configMaps, name, {}, namespace)
    yield* jobEnds(branched, 0)
    yield* patch(branched, flyway())
    assert.notInclude(names(branched), name)
    assert.isDefined(branched.api.peek(configMaps, name, namespace))
  })

  it.effect("fail it with the words of the tool", function* () {
    const branched = yield* begin()
    yield* branched.order(flyway())
    yield* branched.podsReady()
    yield* jobEnds(branched, 1, "ERROR: Validate failed\nMigration V1__a.sql failed at postgres://u:secret@h\n")
    assert.strictEqual(
      branched.status()?.error,
      'The migrations failed: container "migrations" ended (exit code 1): ERROR: Validate failed Migration ' +
        "V1__a.sql failed at postgres://…."
    )
    assert.deepInclude(branched.status()?.migrations, { observedGeneration: 1, phase: "Failed" })
    assert.notInclude(branched.told(), "u:secret")
    yield* pass("21 seconds")
    yield* pass("1 second")
    assert.isUndefined(branched.object())
    assert.deepStrictEqual(branched.api.peekAll(jobs), [])
  })

  it.effect("fail it where the cluster does not take them", function* () {
    const branched = yield* begin()
    branched.api.before = ({ plural, verb }) =>
      plural === jobs.plural && verb === "create"
        ? new KubeError({ cluster: "a", operation: "create", reason: "Forbidden", code: 403, detail: "no quota" })
        : Effect.void
    yield* branched.order(flyway())
    yield* branched.podsReady()
    assert.strictEqual(
      branched.status()?.error,
      "The migrations failed: The Job of the migrations cannot be made: no quota."
    )
  })
})

const session = { sessionId: "ff", user }

describe("migrations of a branch that is there", () => {
  it.effect("run for each generation, one after the other", function* () {
    const branched = yield* ready()
    const first = yield* patch(branched, flyway())
    assert.deepStrictEqual(branched.status()?.migrations, { observedGeneration: first, phase: "Running" })
    assert.deepInclude(branched.status(), { phase: "Ready" })
    yield* jobRuns(branched)
    const second = yield* patch(branched, flyway("bXk="))
    assert.lengthOf(names(branched), 1)
    assert.deepStrictEqual(branched.status()?.migrations, { observedGeneration: second, phase: "Running" })
    yield* jobEnds(branched, 0)
    assert.deepStrictEqual(names(branched), [`mirrord-migrations-${branched.object()?.metadata.uid}-${second}`])
    assert.lengthOf(branched.api.peekAll(configMaps), 1)
    assert.deepStrictEqual(branched.status()?.migrations, { observedGeneration: second, phase: "Running" })
    yield* jobEnds(branched, 0)
    assert.deepStrictEqual(branched.status()?.migrations, { observedGeneration: second, phase: "Succeeded" })
    assert.deepStrictEqual(branched.events().slice(-1), [`BranchMigrated in ${namespace}`])
  })

  it.effect("fail alone, with the words of the tool, and run again once the spec is another one", function* () {
    const branched = yield* ready()
    yield* branched.directory.use(branched.found(), session)
    const first = yield* patch(branched, flyway())
    yield* jobEnds(branched, 1, "Migration checksum mismatch")
    assert.deepStrictEqual(branched.status()?.migrations, {
      observedGeneration: first,
      phase: "Failed",
      error: 'container "migrations" ended (exit code 1): Migration checksum mismatch.'
    })
    assert.deepInclude(branched.status(), { phase: "Ready" })
    assert.isDefined(branched.found().access, "other sessions go on")
    assert.deepStrictEqual(branched.events().slice(-1), [`MigrationsFailed in ${namespace}`])
    const second = yield* patch(branched, flyway("bXk="))
    yield* jobEnds(branched, 0)
    assert.deepStrictEqual(branched.status()?.migrations, { observedGeneration: second, phase: "Succeeded" })
  })

  it.effect("say what is wrong with them, and are run when it is put right", function* () {
    const branched = yield* ready()
    const first = yield* patch(branched, { migrations: { flavor: "flyway" } })
    assert.deepInclude(branched.status()?.migrations, { observedGeneration: first, phase: "Failed" })
    assert.include(branched.status()?.migrations?.error, "needs the files of Flyway")
    yield* patch(branched, program)
    assert.lengthOf(names(branched), 1)
    // The flavor's own keys count, whatever an earlier session has left.
    const third = yield* patch(branched, { migrations: { flavor: "flyway", archive: "aGk=", image: null } })
    assert.deepStrictEqual(branched.status()?.migrations, { observedGeneration: third, phase: "Running" })
    yield* jobEnds(branched, 0)
    const last = yield* patch(branched, { migrations: { locations: ["filesystem:/sql"] } })
    assert.deepInclude(branched.status()?.migrations, { observedGeneration: last, phase: "Failed" })
    assert.include(branched.status()?.migrations?.error, "stop the branch")
    assert.deepInclude(branched.status(), { phase: "Ready" })
  })

  it.effect("go on by themselves when their image comes, and when their pod was lost", function* () {
    const branched = yield* ready()
    yield* patch(branched, program)
    yield* jobRuns(branched, { waiting: { reason: "ErrImagePull", message: "no such image" } })
    assert.deepInclude(branched.status()?.migrations, { phase: "Running" })
    yield* pass("31 seconds")
    assert.include(branched.status()?.migrations?.error, "cannot start (ErrImagePull)")
    yield* jobRuns(branched)
    assert.deepInclude(branched.status()?.migrations, { phase: "Running" })
    for (const { metadata } of branched.api.peekAll(pods))
      if (metadata.labels?.["db-owner-name"] === undefined) branched.api.erase(pods, metadata.name, namespace)
    const lastTransitionTime = new Date(yield* Clock.currentTimeMillis).toISOString()
    const conditions = [{ type: "Failed", status: "True", reason: "BackoffLimitExceeded", lastTransitionTime }]
    branched.api.write(jobs, names(branched)[0] ?? "", { status: { conditions } }, namespace)
    yield* pass("1 second")
    assert.strictEqual(branched.status()?.migrations?.error, "their pod is gone.")
    yield* pass("31 seconds")
    assert.deepInclude(branched.status()?.migrations, { phase: "Running" })
    yield* jobEnds(branched, 0)
    assert.deepInclude(branched.status()?.migrations, { phase: "Succeeded" })
  })

  it.effect("are tried again where the cluster did not take them", function* () {
    const branched = yield* ready()
    branched.api.before = ({ plural, verb }) =>
      plural === configMaps.plural && verb === "create"
        ? new KubeError({ cluster: "a", operation: "create", reason: "Forbidden", code: 403, detail: "no quota" })
        : Effect.void
    const generation = yield* patch(branched, flyway())
    assert.deepStrictEqual(branched.status()?.migrations, {
      observedGeneration: generation,
      phase: "Failed",
      error: "The ConfigMap of the migrations cannot be made: no quota."
    })
    branched.api.before = () => Effect.void
    yield* pass("61 seconds")
    yield* pass("1 second")
    assert.deepInclude(branched.status()?.migrations, { phase: "Running" })
    assert.lengthOf(names(branched), 1)
  })

  it.effect("keep an unused branch alive while they run, and write nothing meanwhile", function* () {
    const branched = yield* ready()
    yield* patch(branched, flyway())
    yield* jobRuns(branched)
    for (let i = 0; i < 20; i++) yield* pass("1 minute")
    assert.deepInclude(branched.status(), { phase: "Ready" })
    yield* jobEnds(branched, 0)
    yield* pass("5 seconds")
    const before = branched.api.calls.length
    yield* pass("250 seconds")
    assert.deepStrictEqual(branched.api.calls.slice(before), [])
    yield* pass("50 seconds")
    assert.isUndefined(branched.object())
  })

  it.effect("never have a program beside one that may not have ended", function* () {
    const branched = yield* ready()
    yield* patch(branched, program)
    yield* jobRuns(branched)
    const [job = ""] = names(branched)
    // Somebody deletes the Job, and its pod takes a while.
    branched.api.write(pods, `${job}-pod`, { metadata: { ownerReferences: [] } }, namespace)
    branched.api.erase(jobs, job, namespace)
    yield* pass("10 seconds")
    assert.deepStrictEqual(names(branched), [])
    assert.deepInclude(branched.status()?.migrations, { phase: "Running" })
    branched.api.erase(pods, `${job}-pod`, namespace)
    yield* pass("1 second")
    assert.deepStrictEqual(names(branched), [job])
  })

  it.effect("are run by the next leader, once", function* () {
    const branched = yield* ready()
    yield* patch(branched, program)
    const before = names(branched)
    yield* branched.kill
    yield* branched.start()
    yield* pass("1 second")
    assert.deepStrictEqual(names(branched), before)
    yield* branched.kill
    // A Job that has not been read would count as none.
    branched.api.before = ({ plural, verb }) =>
      verb === "list" && plural === jobs.plural ? Effect.sleep("20 seconds") : Effect.void
    const calls = branched.api.calls.length
    yield* branched.start()
    yield* pass("10 seconds")
    assert.isFalse(
      branched.api.calls.slice(calls).some(({ plural, verb }) => verb === "create" && plural === jobs.plural)
    )
    assert.deepInclude(branched.status(), { phase: "Ready" })
  })
})
