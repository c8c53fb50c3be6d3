import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Config, ConfigProvider, Effect, Result } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import { branchedEngines, branchEnvironment, readBranchSettings } from "../../../src/app/branches/branch-environment.ts"
import { settingValues } from "../../../src/app/kernel/setting-values.ts"

const folder = mkdtempSync(join(tmpdir(), "braid-branches-"))
afterAll(() => rmSync(folder, { recursive: true }))

const providerOf = (env: Readonly<Record<string, string>>) => ConfigProvider.fromEnv({ env })
const read = (env: Readonly<Record<string, string>>) =>
  Effect.runPromise(
    Config.all({ engines: branchEnvironment, values: settingValues })
      .parse(providerOf(env))
      .pipe(Effect.flatMap(({ engines, values }) => readBranchSettings(engines, values)))
  )

describe("the variables about branches", () => {
  it("switch engines on, none by themselves", async () => {
    expect(await read({})).toEqual({})
    const settings = await read({ OPERATOR_PG_BRANCHING: "true", OPERATOR_MYSQL_BRANCHING: "false" })
    expect(Object.keys(settings)).toEqual(["pg"])
    const on = (env: Readonly<Record<string, string>>) => Effect.runPromise(branchedEngines.parse(providerOf(env)))
    expect([await on({}), await on({ OPERATOR_GENERIC_BRANCHING: "true" })]).toEqual([[], ["generic"]])
  })

  it("name the files and the limits of volumes", async () => {
    const file = join(folder, "pg.yaml")
    writeFileSync(file, "dbPod: {labels: {team: db}}")
    const settings = await read({
      OPERATOR_PG_BRANCHING: "true",
      OPERATOR_PG_BRANCH_CONFIG: file,
      OPERATOR_BRANCH_DEFAULT_DB_VOLUME_SIZE_LIMIT: "5Gi",
      OPERATOR_BRANCH_DEFAULT_INIT_VOLUME_SIZE_LIMIT: "2Gi"
    })
    expect(Result.getOrThrow(settings.pg ?? Result.fail("off")).pod).toMatchObject({
      labels: { team: "db" },
      dataLimit: "5Gi",
      stagingLimit: "2Gi"
    })
  })

  it("refuse branches whose file cannot be read, and read no file of an engine that has none", async () => {
    const missing = join(folder, "none.yaml")
    const pg = await read({ OPERATOR_PG_BRANCHING: "true", OPERATOR_PG_BRANCH_CONFIG: missing })
    expect(pg.pg?._tag).toBe("Failure")
    const spanner = await read({ OPERATOR_SPANNER_BRANCHING: "true", OPERATOR_SPANNER_BRANCH_CONFIG: missing })
    expect(spanner.spanner?._tag).toBe("Success")
  })
})
