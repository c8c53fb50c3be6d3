/** Branches of a real PostgreSQL at an API server, real or embedded: controller, pods with the engine, expiry. */

import { Clock, Effect, Exit, Logger, Redacted, Scope } from "effect"
import { afterAll, beforeAll, expect, it } from "vitest"
import { shopContent } from "../../../lab/playground/branches/shop-database.ts"
import { makeBranches } from "../../../src/app/branches/branch-controller.ts"
import type { BranchDirectory } from "../../../src/app/branches/branch-directory.ts"
import { makeEventRecorder } from "../../../src/app/kernel/event-recorder.ts"
import { retryingApi } from "../../../src/app/kernel/retrying-api.ts"
import { readEngineSettings } from "../../../src/domain/branches/branch-settings.ts"
import type { BranchAccess } from "../../../src/domain/branches/dialect.ts"
import { events } from "../../../src/domain/events/event-object.ts"
import { asString, at } from "../../../src/domain/json.ts"
import { branchDatabases } from "../../../src/domain/resources/branches/branch-database.ts"
import { deployments, jobs, namespaces, pods, secrets } from "../../../src/domain/resources/core-kinds.ts"
import { defaultBounds } from "../../../src/domain/sessions/session-bounds.ts"
import { protectedNamespaces } from "../../../src/domain/targets/protected-namespaces.ts"
import type { KubeApi, KubeObject, ResourceRef } from "../../../src/ports/kube-api.ts"
import { eventually } from "../../support/eventually.ts"
import { archiveOf } from "./flyway.ts"
import { connectedTo, engineFolder, type Server, startSource } from "./postgresql-server.ts"

/** A cluster whose node runs PostgreSQL. */
export interface BranchWorld {
  readonly api: KubeApi
  /** The address of a pod as this machine dials it. */
  readonly reach: (address: string) => string
  /** An address for the source, which no pod has. */
  readonly sourceAddress: string
}

const namespace = "shop"
const password = "p'a s$(WORD)"

const rules = {
  settings: {
    pg: readEngineSettings(
      "pg",
      {
        _tag: "Parsed",
        value: {
          dbPod: {
            dbServerArgs: ["-c", "max_connections=17"],
            allowedImages: ["docker.io/*", "registry.example.com/*"]
          }
        }
      },
      {}
    )
  },
  protectedNamespaces: protectedNamespaces({ operator: "mirrord", agents: "mirrord", allowed: [] })
}

/** A clock that is so many ms ahead. */
const ahead = (by: number): Clock.Clock => {
  const clock = Effect.runSync(Clock.Clock)
  const millis = (): number => clock.currentTimeMillisUnsafe() + by
  return {
    ...clock,
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis),
    monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
    sleep: (time) => clock.sleep(time)
  }
}

/** Controllers of branches, one after the other. */
class Leaders {
  readonly #api: KubeApi
  #scope: Scope.Closeable | undefined
  #directory: BranchDirectory | undefined

  constructor(api: KubeApi) {
    this.#api = api
  }

  async lead(by = 0): Promise<void> {
    await this.stop()
    const scope = Scope.makeUnsafe()
    this.#scope = scope
    const api = this.#api
    this.#directory = await Effect.runPromise(
      Effect.gen(function* () {
        const recorder = yield* makeEventRecorder(api)
        return yield* makeBranches({ api, awaited: retryingApi(api), rules, events: recorder, bounds: defaultBounds })
      }).pipe(Scope.provide(scope), Effect.provideService(Clock.Clock, ahead(by)), Effect.provide(Logger.layer([])))
    )
  }

  async stop(): Promise<void> {
    const scope = this.#scope
    this.#scope = undefined
    if (scope !== undefined) await Effect.runPromise(Scope.close(scope, Exit.void))
  }

  get directory(): BranchDirectory {
    if (this.#directory === undefined) throw new Error("nobody leads")
    return this.#directory
  }
}

export const branchSuite = (start: () => Promise<BranchWorld>): void => {
  let world: BranchWorld
  let leaders: Leaders
  let source: Server
  const folder = engineFolder()

  const create = (ref: ResourceRef, object: object): Promise<KubeObject> =>
    Effect.runPromise(world.api.create(ref, object, ref.scope === "Namespaced" ? namespace : undefined))
  const found = (ref: ResourceRef, name: string): Promise<KubeObject | undefined> =>
    Effect.runPromise(
      world.api
        .get(ref, name, namespace)
        .pipe(Effect.catch((error) => (error.reason === "NotFound" ? Effect.succeed(undefined) : Effect.fail(error))))
    )
  const listed = async (ref: ResourceRef): Promise<ReadonlyArray<KubeObject>> =>
    (await Effect.runPromise(world.api.list(ref, { namespace }))).items

  /** Orders a branch as the client does. */
  const order = (name: string, change: object = {}): Promise<KubeObject> =>
    create(branchDatabases, {
      apiVersion: "dbs.mirrord.metalbear.co/v1alpha1",
      kind: "BranchDatabase",
      metadata: { name, labels: { "mirrord-branch-id": name } },
      spec: {
        id: name,
        ttlSecs: 300,
        target: { apiVersion: "apps/v1", kind: "Deployment", name: "app", container: "" },
        connectionSource: { url: { env: { container: null, variable: "DATABASE_URL" } } },
        databaseName: "shop",
        postgresOptions: { copy: { mode: "all" } },
        ...change
      }
    })

  const inPhase = (name: string, phase: string): Promise<KubeObject> =>
    eventually(`${name} is ${phase}`, async () => {
      const branch = await found(branchDatabases, name)
      if (branch === undefined || at(branch, "status", "phase") !== phase) throw new Error(JSON.stringify(branch))
      return branch
    })

  const accessTo = (name: string): Promise<BranchAccess> =>
    eventually(`${name} has an address`, () => {
      const access = leaders.directory.find(namespace, name)?.access
      if (access === undefined) throw new Error("not yet")
      return access
    })

  /** The branch's server, by what a session is told. */
  const server = async (name: string): Promise<Server> => {
    const { host, password: secret } = await accessTo(name)
    return connectedTo(world.reach(host), Redacted.value(secret), () => Promise.resolve())
  }

  const gone = (name: string): Promise<void> =>
    eventually(`${name} is gone with all that is its own`, async () => {
      expect(await found(branchDatabases, name)).toBeUndefined()
      const own = [...(await listed(pods)), ...(await listed(secrets))].map(({ metadata }) => metadata.name)
      expect(own.filter((object) => object.startsWith(`${name}-`))).toEqual([])
    })

  beforeAll(async () => {
    world = await start()
    leaders = new Leaders(world.api)
    source = await startSource(folder.path, world.sourceAddress, password)
    await source.query("postgres", "create database shop")
    await source.query("shop", shopContent)
    await create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } })
    const url = (secret: string): string =>
      `postgresql://postgres:${encodeURIComponent(secret)}@${world.sourceAddress}:5432/shop`
    await create(secrets, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "app" },
      stringData: { url: url(password), wrong: url("wrong-secret") }
    })
    const variable = (name: string, key: string) => ({ name, valueFrom: { secretKeyRef: { name: "app", key } } })
    const labels = { app: "app" }
    await create(deployments, {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "app" },
      spec: {
        // A branch needs no pod of its target.
        replicas: 0,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            containers: [
              { name: "app", image: "app", env: [variable("DATABASE_URL", "url"), variable("WRONG_URL", "wrong")] }
            ]
          }
        }
      }
    })
    await leaders.lead()
  })
  afterAll(async () => {
    await leaders?.stop()
    await source?.stop()
    folder.remove()
  })

  it("are copies of their source, which stays as it is, and are at the address that sessions are told", async () => {
    await order("whole")
    const branch = await inPhase("whole", "Ready")
    const own = await server("whole")
    expect(await own.query("shop", "select count(*) from orders join users on buyer = users.id")).toBe("100")
    expect(await own.query("shop", "show max_connections")).toBe("17")
    await own.query("shop", "delete from orders")
    expect(await own.query("shop", "insert into users (name) values ('new') returning id")).toBe("21")
    expect(await source.query("shop", "select count(*) from orders")).toBe("100")
    expect(at(branch, "status", "podName")).toMatch(/^whole-[0-9a-f]{8}$/u)
    await eventually("the Events tell of it", async () => {
      const told = (await listed(events)).filter((event) => at(event, "involvedObject", "name") === "whole")
      expect(told.map((event) => asString(event["reason"])).toSorted()).toEqual(["BranchReady", "Building"])
    })
    expect(JSON.stringify([branch, await listed(events)])).not.toContain(encodeURIComponent(password))
  })

  it("have the rows that filters let through", async () => {
    const items = { orders: { filter: "buyer <= 3" } }
    await order("filtered", { postgresOptions: { copy: { mode: "schema", items } } })
    const own = await server("filtered")
    expect(await own.query("shop", "select count(*), max(buyer) from orders")).toBe("15|3")
    expect(await own.query("shop", "select count(*) from users")).toBe("0")
  })

  it("say why their copy failed, in the engine's words and without credentials", async () => {
    await order("refused", { connectionSource: { url: { env: { container: null, variable: "WRONG_URL" } } } })
    const branch = await inPhase("refused", "Failed")
    const error = asString(at(branch, "status", "error")) ?? ""
    expect(error).toContain('container "copy" ended')
    expect(error).toContain("password authentication failed")
    expect(JSON.stringify(branch)).not.toContain("wrong-secret")
  })

  it("say that their image cannot be pulled", async () => {
    await order("imageless", { image: "registry.example.com/no/postgres:1" })
    const branch = await inPhase("imageless", "Failed")
    expect(asString(at(branch, "status", "error"))).toMatch(
      /container "copy" cannot start \((ErrImagePull|ImagePullBackOff)\)/u
    )
  })

  const migrated = (name: string, generation: number | undefined): Promise<unknown> =>
    eventually(`the migrations of ${name} are over`, async () => {
      const branch = await found(branchDatabases, name)
      const migrations = at(branch, "status", "migrations")
      const isOver = at(migrations, "observedGeneration") === generation && at(migrations, "phase") !== "Running"
      if (!isOver) throw new Error(JSON.stringify(branch?.["status"]))
      return migrations
    })
  const migrate = async (name: string, migrations: object): Promise<unknown> => {
    const patch = { spec: { migrations } }
    const patched = await Effect.runPromise(world.api.mergePatch(branchDatabases, name, patch, { namespace }))
    return migrated(name, patched.metadata.generation)
  }

  it("have the user's migrations, later ones as well, and stay when these fail", async () => {
    const first = { "V1__goods.sql": "create table goods (id int); insert into goods values (1);" }
    await order("migrated", { postgresOptions: {}, migrations: { flavor: "flyway", archive: archiveOf(first) } })
    await inPhase("migrated", "Ready")
    const own = await server("migrated")
    expect(await own.query("shop", "select * from goods")).toBe("1")

    const both = { ...first, "V2__more.sql": "insert into goods values (2);" }
    expect(await migrate("migrated", { archive: archiveOf(both) })).toMatchObject({ phase: "Succeeded" })
    expect(await own.query("shop", "select count(*) from goods")).toBe("2")

    const edited = { ...both, "V1__goods.sql": "create table goods (id text);" }
    const failed = await migrate("migrated", { archive: archiveOf(edited) })
    expect(failed).toMatchObject({ phase: "Failed" })
    expect(at(failed, "error")).toContain("Migration checksum mismatch for migration version 1")
    expect(at(await found(branchDatabases, "migrated"), "status", "phase")).toBe("Ready")
    expect(await own.query("shop", "select count(*) from goods")).toBe("2")
    const made = (await listed(jobs)).filter(({ metadata }) => metadata.name.startsWith("mirrord-migrations-"))
    expect(made).toHaveLength(1)
    expect(JSON.stringify(made)).not.toContain(encodeURIComponent(password))
  })

  it("have a program of the user's image as migrations, with the target's variables that lead to them", async () => {
    const script = 'psql --quiet --command="create table named as select \'$WORD\' as word" "$DATABASE_URL"'
    const program = { flavor: "container", image: "docker.io/library/postgres:17", command: ["sh", "-c", script] }
    await order("programmed", { postgresOptions: {}, migrations: { ...program, env: { WORD: "$(MIRRORD_DB_NAME)" } } })
    await inPhase("programmed", "Ready")
    expect(await (await server("programmed")).query("shop", "select word from named")).toBe("shop")
    expect(await source.query("shop", "select to_regclass('named') is null")).toBe("t")
  })

  it("fail with their migrations, in the words of the tool", async () => {
    const files = { "V1__slip.sql": "creat table goods ();" }
    await order("slipped", { postgresOptions: {}, migrations: { flavor: "flyway", archive: archiveOf(files) } })
    const branch = await inPhase("slipped", "Failed")
    expect(asString(at(branch, "status", "error"))).toMatch(
      /^The migrations failed: .*syntax error at or near "creat"/u
    )
  })

  it("go on under the next leader, whatever they were at, and expire with all that is their own", async () => {
    await order("passed-on")
    await eventually("its pod is there", async () => {
      const made = (await listed(pods)).some(({ metadata }) => metadata.name.startsWith("passed-on-"))
      if (!made) throw new Error("not yet")
    })
    await leaders.lead()
    await inPhase("passed-on", "Ready")
    expect(await (await server("passed-on")).query("shop", "select count(*) from orders")).toBe("100")
    const branch = leaders.directory.find(namespace, "passed-on")
    if (branch === undefined) throw new Error("there is no branch")
    const user = { userId: "u", username: "ann", hostname: "box", k8sUsername: "ann" }
    await Effect.runPromise(leaders.directory.use(branch, { sessionId: "ff", user }))
    // An hour later: a session may return to the one, and nobody uses the others.
    await leaders.lead(3_600_000)
    await gone("whole")
    await gone("filtered")
    expect(await (await server("passed-on")).query("shop", "select count(*) from orders")).toBe("100")
    const later = leaders.directory.find(namespace, "passed-on")
    if (later === undefined) throw new Error("there is no branch any more")
    await Effect.runPromise(leaders.directory.release(later, "ff"))
    await eventually("nobody uses it", async () => {
      expect(at(await found(branchDatabases, "passed-on"), "status", "sessionInfo")).toEqual({})
    })
    await leaders.lead(7_200_000)
    await gone("passed-on")
  })
}
