import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { admittedBranch } from "../../../src/domain/branches/branch-admission.ts"
import { olderKinds, unifiedKind } from "../../../src/domain/branches/branch-kinds.ts"
import { maxSpecBytes } from "../../../src/domain/branches/kept-branch.ts"
import { migrationDigest, readMigrations } from "../../../src/domain/branches/migrations/migration-request.ts"
import { originAnnotations } from "../../../src/domain/branches/sync/synced-branch.ts"
import {
  branchPods,
  migrationJobs,
  migrationPods,
  watchedBranches,
  watchedOrders
} from "../../../src/domain/branches/watched-branches.ts"
import { asObject, at } from "../../../src/domain/json.ts"
import { type StoredObject, weightOf } from "../../../src/domain/resources/kept-fields.ts"
import { readResource } from "../../../src/domain/resources/resource-descriptor.ts"
import { bareBranchSpec } from "../../support/branch-spec.ts"

const archive = Buffer.alloc(900_000, 7).toString("base64")
const migrations = { flavor: "flyway", archive, image: "docker.io/flyway/flyway:12" }
const spec = { ...bareBranchSpec, databaseName: "shop", postgresOptions: { copy: { mode: "schema" } }, migrations }
const metadata = { name: "a", namespace: "default", uid: "u", resourceVersion: "1", generation: 2 }
const branch = { metadata, spec, status: { phase: "Pending", expireTime: "2026-01-01T00:00:00Z", sessionInfo: {} } }
const text = (length: number): string => "x".repeat(length)

const [order] = watchedOrders({}, sha256Hex)
const kinds = [
  ["that its own cluster makes", watchedBranches(unifiedKind, sha256Hex)],
  ["that is kept the same in two clusters", order ?? watchedBranches(unifiedKind, sha256Hex)],
  ["of an older kind", watchedBranches(olderKinds.pg, sha256Hex)]
] as const

const olderSpec = { ...bareBranchSpec, target: { deployment: "app" }, postgresVersion: "17" }
const ofKind = (kind: string, object: StoredObject): StoredObject =>
  kind === "PgBranchDatabase" ? { ...object, spec: { ...asObject(object["spec"]), ...olderSpec } } : object

describe.each(kinds)("a branch %s", (_what, resource) => {
  const keep = (object: StoredObject): StoredObject | undefined => resource.keeps(ofKind(resource.kind, object))

  it("takes a small part of its object's memory, and is kept the same if taken twice", () => {
    const swollen: StoredObject = {
      metadata: {
        ...metadata,
        finalizers: Array.from({ length: 9_000 }, (_, at) => `example.com/${at}`),
        labels: Object.fromEntries(Array.from({ length: 9_000 }, (_, at) => [`l${at}`, text(63)])),
        annotations: { other: text(200_000), [originAnnotations.uid]: text(60_000) },
        ownerReferences: Array.from({ length: 9_000 }, () => ({ apiVersion: "v1", kind: "Pod", name: "p", uid: "q" }))
      },
      spec,
      status: branch.status
    }
    const kept = keep(swollen)
    expect(weightOf(kept)).toBeLessThan(10_000)
    expect(resource.keeps(kept ?? swollen)).toEqual(kept)
    expect(Result.isSuccess(readResource(resource, kept))).toBe(true)
  })

  it.each([
    ["fields that nobody knows", { ...spec, unknown: text(1_400_000) }],
    ["a database's name without end", { ...spec, databaseName: text(1_400_000) }],
    ["sources of any shape", { ...spec, connectionSource: { url: Array.from({ length: 300_000 }, () => []) } }],
    ["an archive of another type", { ...spec, migrations: { ...migrations, archive: [text(1_400_000)] } }],
    ["an id without end", { ...spec, id: text(1_400_000) }]
  ])("takes little memory with %s", (_name, heavy) => {
    const kept = keep({ ...branch, spec: heavy })
    expect(weightOf(kept)).toBeLessThan(maxSpecBytes)
    expect(resource.keeps(kept ?? branch)).toEqual(kept)
    expect(Result.isSuccess(readResource(resource, kept))).toBe(true)
  })

  it("takes no memory for its spec once it has failed, and none at all while it is being deleted", () => {
    const failed = keep({ ...branch, status: { ...branch.status, phase: "Failed", error: "why" } })
    expect(weightOf(failed)).toBeLessThan(2_000)
    expect(Result.isSuccess(readResource(resource, failed))).toBe(true)
    expect(keep({ ...branch, metadata: { ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } })).toBeUndefined()
  })
})

describe("a branch that is kept", () => {
  const keep = (object: object): unknown =>
    watchedBranches(unifiedKind, sha256Hex).keeps({ ...branch, ...object }) ?? {}
  const read = (object: object) => Result.getOrThrow(readResource(unifiedKind.resource, keep(object)))

  it("asks for the same migrations as the whole branch does", () => {
    const digest = (found: unknown): string =>
      migrationDigest(Result.getOrThrow(readMigrations(asObject(found))), sha256Hex)
    expect(digest(at(keep({}), "spec", "migrations"))).toBe(digest(migrations))
    const others = { ...spec, migrations: { ...migrations, archive: `AAAA${archive.slice(4)}` } }
    expect(digest(at(keep({ spec: others }), "spec", "migrations"))).not.toBe(digest(migrations))
  })

  it("is refused with its weight if its spec is too heavy, and is not otherwise", () => {
    const rules = { settings: {}, protectedNamespaces: new Map<string, string>() }
    const tables = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`table_${at}`, { filter: text(900) }]))
    const copy = { mode: "empty", items: tables }
    const why = admittedBranch(rules, read({ spec: { ...spec, postgresOptions: { copy } } }))
    expect(Result.isFailure(why) && why.failure).toMatch(/^The spec takes 9\d KiB of the operator's memory, and .* 64/u)
    const usual = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`table_${at}`, { filter: text(300) }]))
    const other = admittedBranch(
      rules,
      read({ spec: { ...spec, postgresOptions: { copy: { ...copy, items: usual } } } })
    )
    expect(Result.isFailure(other) && other.failure).toMatch(/switched off/u)
  })
})

describe("the pods and Jobs of branches", () => {
  const owner = { apiVersion: "dbs.mirrord.metalbear.co/v1alpha1", kind: "BranchDatabase", name: "a", uid: "u" }
  const pod = (owners: ReadonlyArray<typeof owner>): StoredObject => ({
    metadata: { ...metadata, labels: { "db-owner-name": "a", other: text(60) }, ownerReferences: owners },
    spec: { containers: [{ name: "app", env: [{ name: "A", value: text(1_000_000) }] }] },
    status: { phase: "Running", podIP: "10.0.0.1" }
  })

  it.each([
    ["a branch's pod", branchPods],
    ["a Job of migrations", migrationJobs],
    ["a pod of migrations", migrationPods]
  ])("are kept without their specs: %s", (_what, { keeps }) => {
    const kept = keeps(pod([owner]))
    expect(weightOf(kept)).toBeLessThan(2_000)
    expect(kept).toMatchObject({ metadata: { uid: "u", ownerReferences: [owner] } })
    expect(keeps(kept ?? pod([]))).toEqual(kept)
  })

  it("are none of them without a branch, whatever label they have", () => {
    expect(branchPods.keeps(pod([]))).toBeUndefined()
    expect(migrationJobs.keeps(pod([{ ...owner, kind: "Deployment" }]))).toBeUndefined()
  })
})
