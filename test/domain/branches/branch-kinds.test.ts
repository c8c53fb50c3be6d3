import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { branchKinds, olderKinds, unifiedKind } from "../../../src/domain/branches/branch-kinds.ts"
import { readBranchRequest } from "../../../src/domain/branches/branch-request.ts"
import { readResource } from "../../../src/domain/resources/resource-descriptor.ts"

/** The fields that clients before BranchDatabase write, with their explicit nulls. */
const common = {
  id: "b",
  connectionSource: { url: { env: { container: null, variable: "DATABASE_URL" } } },
  databaseName: "shop",
  ttlSecs: 300
}
const target = { deployment: "app", container: null }
const read = (engine: keyof typeof olderKinds, spec: object, more: object = {}) =>
  Result.getOrThrow(readResource(olderKinds[engine].resource, { metadata: { name: "x" }, spec, ...more }))
const unified = (spec: object) =>
  Result.getOrThrow(readResource(unifiedKind.resource, { metadata: { name: "x" }, spec })).spec

const copies = fc.record(
  {
    mode: fc.constantFrom("empty", "schema", "all"),
    parts: fc.option(fc.dictionary(fc.constantFrom("users", "Orders", "a.b"), fc.constant({ filter: "id < 3" })))
  },
  { requiredKeys: ["mode"] }
)

describe("an object of an older kind", () => {
  it.each([
    ["pg", "postgresOptions", "postgresVersion"],
    ["mysql", "mysqlOptions", "mysqlVersion"]
  ] as const)("of %s asks for the branch that a BranchDatabase would ask for", (engine, block, version) => {
    const request = (spec: Parameters<typeof readBranchRequest>[0]): unknown => readBranchRequest(spec)
    fc.assert(
      fc.property(copies, fc.constantFrom(null, "16"), ({ mode, parts }, tag) => {
        const older = { ...common, target, copy: { mode, tables: parts ?? null }, [version]: tag }
        const newer = {
          ...common,
          target: { apiVersion: "apps/v1", kind: "Deployment", name: "app", container: "" },
          version: tag,
          [block]: { copy: { mode, items: parts ?? null } }
        }
        expect(request(read(engine, older).spec)).toEqual(request(unified(newer)))
      })
    )
  })

  it("of MongoDB has its collections as parts", () => {
    const copy = { mode: "all", collections: { users: { filter: "{}" } } }
    expect(read("mongodb", { ...common, target, copy, mongodbVersion: "7" }).spec).toMatchObject({
      version: "7",
      mongodbOptions: { copy: { mode: "all", items: copy.collections } }
    })
  })

  it.each([
    [
      { deployment: "app", container: "db" },
      { apiVersion: "apps/v1", kind: "Deployment", name: "app", container: "db" }
    ],
    [{ stateful_set: "app" }, { apiVersion: "apps/v1", kind: "StatefulSet", name: "app", container: "" }],
    [{ cron_job: "app" }, { apiVersion: "batch/v1", kind: "CronJob", name: "app", container: "" }],
    [{ pod: "app" }, { apiVersion: "v1", kind: "Pod", name: "app", container: "" }],
    [{ labels: { app: "a" } }, { apiVersion: "meta/v1", kind: "LabelSelector", name: "app=a", container: "" }]
  ])("with the target %j names it as a BranchDatabase does", (given, expected) =>
    expect(read("pg", { ...common, target: given }).spec.target).toEqual(expected)
  )

  it("has the status that it has", () => {
    const status = { phase: "Ready", expireTime: "2026-01-01T00:00:00Z", sessionInfo: {} }
    expect(read("pg", { ...common, target }, { status }).status).toEqual(status)
    expect(read("pg", { ...common, target }).status).toBeNull()
  })

  it("is refused with the names that its own fields have", () => {
    const refusal = (engine: keyof typeof olderKinds, spec: object): string =>
      Result.match(readBranchRequest(read(engine, { ...common, target, ...spec }).spec), {
        onSuccess: () => "",
        onFailure: olderKinds[engine].inOwnWords
      })
    expect(refusal("pg", { copy: { mode: "schema", tables: { a: { filter: "1; drop" } } } })).toMatch(
      /^spec\.copy\.tables for table "a" /u
    )
    expect(refusal("pg", { postgresVersion: "a b" })).toMatch(/^spec\.postgresVersion is "a b"/u)
    expect(refusal("pg", { iamAuth: { type: "aws_rds" } })).toMatch(/^spec\.iamAuth asks for a cloud identity/u)
    expect(refusal("mysql", { copy: { mode: "all" }, databaseName: "" })).toMatch(/^spec\.databaseName is ""/u)
    const sentence = "spec.mongodbOptions asks for a branch of MongoDB."
    expect(olderKinds.mongodb.inOwnWords(sentence)).toBe("The object asks for a branch of MongoDB.")
  })
})

it("the older kind of an engine belongs to the engine alone, after BranchDatabase", () => {
  const plurals = (...engines: Parameters<typeof branchKinds>[0]) =>
    branchKinds(engines).map(({ resource }) => resource.plural)
  expect(plurals("redis")).toEqual(["branchdatabases"])
  expect(plurals("redis", "mongodb", "pg")).toEqual(["branchdatabases", "pgbranchdatabases", "mongodbbranchdatabases"])
})
