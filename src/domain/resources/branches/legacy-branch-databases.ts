/**
 * The published kinds PgBranchDatabase, MysqlBranchDatabase and MongodbBranchDatabase, which clients made before
 * BranchDatabase.
 */

import * as Schema from "effect/Schema"
import { branching, type BranchEngine } from "../chart-switches.ts"
import type { CustomResource } from "../custom-resource.ts"
import { eachNamed, exactlyOne, nullable } from "../field-schemas.ts"
import { keptBy } from "../kept-fields.ts"
import { ObjectMeta } from "../object-meta.ts"
import type { WatchedResource } from "../resource-descriptor.ts"
import {
  BranchStatus,
  CopiedParts,
  IamAuth,
  allOrNothing,
  branchColumns,
  branchFields,
  copied,
  orderText,
  orderTextMap,
  sqlMode
} from "./branch-shapes.ts"

const workloads = ["deployment", "pod", "rollout", "job", "cron_job", "stateful_set", "service", "replica_set"] as const

/**
 * A target as clients before the unified kind write it (operator-api.md §6.3). The published schema also demands the
 * text `targetless` of this object, so that it refuses every one (published-chart.md §1.11); ours does not, and it
 * knows `labels`.
 */
const LegacyTarget = Schema.Struct({
  ...eachNamed(workloads, (name) => Schema.optionalKey(orderText(`Name of the ${name.replace("_", " ")}.`))),
  labels: Schema.optionalKey(orderTextMap("Labels of the pods.")),
  container: nullable(orderText("Name of the container; the operator chooses it if missing."))
}).annotate({ description: "The workload whose database is branched.", ...exactlyOne(...workloads, "labels") })
export type LegacyTarget = typeof LegacyTarget.Type

const sqlCopy = copied(Schema.Struct({ mode: sqlMode, tables: nullable(CopiedParts) }))

/** `spec` of each kind (published-chart.md §1.11). */
const shared = { ...branchFields, target: LegacyTarget }
const version = nullable(orderText("Tag of the engine's image."))

const description = "What the branch is made of."
const pgSpec = Schema.Struct({
  ...shared,
  copy: sqlCopy,
  postgresVersion: version,
  iamAuth: nullable(IamAuth)
}).annotate({ description })
const mysqlSpec = Schema.Struct({ ...shared, copy: sqlCopy, mysqlVersion: version }).annotate({ description })
const mongodbSpec = Schema.Struct({
  ...shared,
  copy: copied(Schema.Struct({ mode: allOrNothing, collections: nullable(CopiedParts) })),
  mongodbVersion: version
}).annotate({ description })

const branch = <S extends Schema.Constraint>(spec: S) =>
  Schema.Struct({ metadata: ObjectMeta, spec, status: nullable(BranchStatus) })

const PgBranchDatabase = branch(pgSpec)
const MysqlBranchDatabase = branch(mysqlSpec)
const MongodbBranchDatabase = branch(mongodbSpec)
export type PgBranchDatabase = typeof PgBranchDatabase.Type
export type MysqlBranchDatabase = typeof MysqlBranchDatabase.Type
export type MongodbBranchDatabase = typeof MongodbBranchDatabase.Type

/** The engines that have a kind of their own. */
export type OlderBranchEngine = Extract<BranchEngine, "pg" | "mysql" | "mongodb">

const common = {
  group: "dbs.mirrord.metalbear.co",
  version: "v1alpha1",
  scope: "Namespaced",
  columns: branchColumns.filter(({ name }) => name !== "Target"),
  keepsUnknownFields: true
} as const

/** Branches as clients made them before {@link import("./branch-database.ts").BranchDatabase}. */
export const pgBranchDatabases: CustomResource<PgBranchDatabase> & WatchedResource<PgBranchDatabase> = {
  ...common,
  kind: "PgBranchDatabase",
  plural: "pgbranchdatabases",
  schema: PgBranchDatabase,
  keeps: keptBy(PgBranchDatabase),
  description: "A branch of a workload's PostgreSQL database, as older clients make it.",
  installedWith: [branching("pg")]
}

export const mysqlBranchDatabases: CustomResource<MysqlBranchDatabase> & WatchedResource<MysqlBranchDatabase> = {
  ...common,
  kind: "MysqlBranchDatabase",
  plural: "mysqlbranchdatabases",
  schema: MysqlBranchDatabase,
  keeps: keptBy(MysqlBranchDatabase),
  description: "A branch of a workload's MySQL database, as older clients make it.",
  installedWith: [branching("mysql")]
}

export const mongodbBranchDatabases: CustomResource<MongodbBranchDatabase> & WatchedResource<MongodbBranchDatabase> = {
  ...common,
  kind: "MongodbBranchDatabase",
  plural: "mongodbbranchdatabases",
  schema: MongodbBranchDatabase,
  keeps: keptBy(MongodbBranchDatabase),
  description: "A branch of a workload's MongoDB database, as older clients make it.",
  installedWith: [branching("mongodb")]
}
