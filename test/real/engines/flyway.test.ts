/** Migrations by Flyway: what the container of their Job does with real servers, and the reason that users read. */

import { chownSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Result from "effect/Result"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { enginePath } from "../../../lab/playground/engine-programs.ts"
import { migrateProgram } from "../../../src/adapters/engines/programs.ts"
import { branchPodState } from "../../../src/domain/branches/branch-pod-state.ts"
import { readBranchRequest } from "../../../src/domain/branches/branch-request.ts"
import { migrationFiles, migrationJob } from "../../../src/domain/branches/migrations/migration-job.ts"
import { asObjects, asString, asStrings, at } from "../../../src/domain/json.ts"
import { subnetOf } from "../../address-plan.ts"
import { bareBranchSpec } from "../../support/branch-spec.ts"
import { describeWith } from "../../support/describe-with.ts"
import { fromEnv } from "./branch-containers.ts"
import { archiveOf } from "./flyway.ts"
import { type MysqlEngine, mysqlEngines, startMysqlSource } from "./mysql-server.ts"
import { engineFolder, nobody, resolvedEnv, run, type Server, startSource } from "./postgresql-server.ts"

const address = `127.${subnetOf("copies of databases")}.0.9`
const password = "p'a s$(WORD)"

/** An engine that has migrations. */
interface MigratedEngine {
  readonly name: string
  readonly block: "postgresOptions" | MysqlEngine["block"]
  readonly start: (folder: string) => Promise<Server>
  readonly create: (server: Server, database: string) => Promise<string>
}

const postgresql: MigratedEngine = {
  name: "PostgreSQL",
  block: "postgresOptions",
  start: (folder) => startSource(folder, address, password),
  create: (server, database) => server.query("postgres", `create database "${database}"`)
}

const engines: ReadonlyArray<MigratedEngine> = [
  postgresql,
  ...mysqlEngines.map((engine) => ({
    name: engine.name,
    block: engine.block,
    start: (folder: string) => startMysqlSource(engine, folder, address, password),
    create: (server: Server, database: string) => server.query("", `create database \`${database}\``)
  }))
]

/** The container of the Job for these files, and their archive. */
const jobOf = (block: MigratedEngine["block"], database: string, files: Readonly<Record<string, string>>) => {
  const request = Result.getOrThrow(
    readBranchRequest({
      ...bareBranchSpec,
      connectionSource: { url: fromEnv("DATABASE_URL") },
      databaseName: database,
      migrations: { flavor: "flyway", archive: archiveOf(files) },
      [block]: {}
    })
  )
  const { migrations } = request
  if (migrations === undefined) throw new Error("no migrations")
  const options = {
    request,
    migrations,
    program: migrateProgram,
    digest: "d",
    branch: { host: address, secret: "branch-1", database },
    template: { spec: { containers: [{ name: "app" }] } },
    container: undefined,
    namespace: "default",
    owner: { apiVersion: "v1", kind: "BranchDatabase", name: "b", uid: "u" },
    generation: 1
  }
  const pod = { imagePullSecrets: [], labels: {}, annotations: {}, dataLimit: "1Gi", stagingLimit: "1Gi" }
  const settings = { repository: undefined, environment: { inherits: true, env: [], envFrom: [] } }
  const job = Result.getOrThrow(migrationJob(pod, settings, options))
  const [container = {}] = asObjects(at(job, "spec", "template", "spec", "containers"))
  const archive = asString(at(migrationFiles(options), "binaryData", "migrations.tar.gz")) ?? ""
  return { container, archive: Buffer.from(archive, "base64") }
}

/** Runs the migrations to their end: what they say, and why they failed. */
const migrate = async (block: MigratedEngine["block"], database: string, files: Readonly<Record<string, string>>) => {
  const { archive, container } = jobOf(block, database, files)
  const folder = engineFolder()
  try {
    const [ARCHIVE, WORK] = [join(folder.path, "migrations.tar.gz"), join(folder.path, "w")]
    mkdirSync(WORK)
    if (nobody.uid !== undefined) chownSync(WORK, nobody.uid, nobody.gid)
    writeFileSync(ARCHIVE, archive)
    const own = { ARCHIVE, WORK, HOME: WORK, PATH: enginePath(process.env) }
    const [program = "", ...args] = asStrings(container["command"])
    const { err, out, status } = await run(program, args, resolvedEnv(container, { "branch-1": { password } }, own))
    const terminated = { exitCode: status, reason: "Error", message: out + err }
    const state = branchPodState({ status: { containerStatuses: [{ name: "migrations", state: { terminated } }] } })
    return { out, status, reason: status !== 0 && state._tag === "Over" ? state.reason : "" }
  } finally {
    folder.remove()
  }
}

const goods = { "V1__goods.sql": "create table goods (id int);", "V2__one.sql": "insert into goods values (1);" }

/** A server of the engine for the tests of a suite; gives a database of it. */
const useServer = ({ block, create, start }: MigratedEngine) => {
  let server: Server
  const folder = engineFolder()
  beforeAll(async () => {
    server = await start(folder.path)
  })
  afterAll(async () => {
    await server?.stop()
    folder.remove()
  })
  return async (database: string) => {
    await create(server, database)
    return {
      query: (sql: string) => server.query(database, sql),
      migrate: (files: Readonly<Record<string, string>>) => migrate(block, database, files)
    }
  }
}

describeWith(["PostgreSQL", "Flyway"], "migrations by Flyway", () => {
  describe.each(engines)("of $name", (engine) => {
    const databaseOf = useServer(engine)

    it("run in the branch's database, whatever its name is, and fail in the words of the engine", async () => {
      const database = await databaseOf("Shop ü $1")
      expect(await database.migrate(goods)).toMatchObject({ status: 0, reason: "" })
      expect(await database.query("select count(*) from goods")).toBe("1")
      const { reason } = await database.migrate({ ...goods, "V3__slip.sql": "creat table bads (id int);" })
      expect(reason).toContain('container "migrations" ended (exit code 1): ERROR: Failed to execute script V3__slip')
      expect(reason).toMatch(/syntax.* near .creat/u)
      expect(reason).not.toContain(password)
    })
  })

  describe("that are not the first", () => {
    const databaseOf = useServer(postgresql)

    it("run once, and tell of files that were changed since", async () => {
      const database = await databaseOf("again")
      expect(await database.migrate(goods)).toMatchObject({ status: 0 })
      const again = await database.migrate({ ...goods, "notes.txt": "no migration" })
      expect(again).toMatchObject({ status: 0, out: expect.stringContaining("No migration necessary") })
      expect(await database.query("select count(*) from goods")).toBe("1")
      const { reason } = await database.migrate({ ...goods, "V1__goods.sql": "create table goods (id text);" })
      expect(reason).toContain("Migration checksum mismatch for migration version 1")
    })

    it("leave tables alone of which they have no history", async () => {
      const database = await databaseOf("filled")
      await database.query("create table own (id int)")
      const { reason } = await database.migrate(goods)
      expect(reason).toContain('Found non-empty schema(s) "public" but no schema history table')
      expect(await database.query("select to_regclass('goods') is null")).toBe("t")
    })
  })
})
