/**
 * The kinds of resources that ask for a branch: BranchDatabase, and one for each engine that clients knew before it.
 * Objects of all kinds are read as a BranchDatabase, so that a single controller makes all branches. No object is
 * converted to another kind.
 *
 * Not here: what a spec asks for (branch-request.ts).
 */

import * as Schema from "effect/Schema"
import * as SchemaGetter from "effect/SchemaGetter"
import { BranchDatabase, branchDatabases, type BranchDatabaseSpec } from "../resources/branches/branch-database.ts"
import {
  type LegacyTarget,
  mongodbBranchDatabases,
  mysqlBranchDatabases,
  type OlderBranchEngine,
  pgBranchDatabases
} from "../resources/branches/legacy-branch-databases.ts"
import type { BranchEngine } from "../resources/chart-switches.ts"
import type { WatchedResource } from "../resources/resource-descriptor.ts"
import type { KubeResourceTarget } from "../resources/session-shapes.ts"
import { toKubeTarget } from "../targets/kube-target.ts"
import type { Target, TargetKind } from "../targets/target.ts"

/** A kind whose objects are read as branches. */
export interface BranchKind {
  readonly resource: WatchedResource<BranchDatabase>
  /** The only engine of an older kind; `undefined` for BranchDatabase, which has all. */
  readonly engine: OlderBranchEngine | undefined
  /** A sentence about a spec, with the field at its beginning named as the kind's objects have it. */
  readonly inOwnWords: (sentence: string) => string
}

const workloads: Readonly<Record<Exclude<keyof LegacyTarget, "labels" | "container">, TargetKind>> = {
  deployment: "deployment",
  pod: "pod",
  rollout: "rollout",
  job: "job",
  cron_job: "cronjob",
  stateful_set: "statefulset",
  service: "service",
  replica_set: "replicaset"
}

const targetOf = ({ container, labels, ...named }: LegacyTarget): Target => {
  const chosen = container ?? ""
  const place = { container: chosen === "" ? undefined : chosen }
  for (const [field, kind] of Object.entries(workloads)) {
    const name = Object.entries(named).find(([given]) => given === field)?.[1]
    if (name !== undefined) return { _tag: "Workload", kind, name, ...place }
  }
  return labels === undefined ? { _tag: "Targetless" } : { _tag: "Label", labels, ...place }
}

/** A target that is no workload is refused later, with a sentence. */
const noTarget: KubeResourceTarget = { apiVersion: "", kind: "targetless", name: "", container: "" }

type Field = "id" | "connectionSource" | "databaseName" | "ttlSecs"

/** The fields of a spec that the kinds have in common, but for the target's form and the version's name. */
const commonFields = (
  { connectionSource, databaseName, id, target, ttlSecs }: Pick<BranchDatabaseSpec, Field> & { target: LegacyTarget },
  version: string | null | undefined
): Pick<BranchDatabaseSpec, Field | "target" | "version"> => ({
  id,
  connectionSource,
  databaseName: databaseName ?? null,
  ttlSecs,
  target: toKubeTarget(targetOf(target)) ?? noTarget,
  version: version ?? null
})

/** An object of an older kind: its metadata and its status are those of a BranchDatabase. */
type OlderBranch<Spec> = Omit<BranchDatabase, "spec"> & { readonly spec: Spec }

interface OlderKind<Spec> {
  readonly resource: WatchedResource<OlderBranch<Spec>>
  readonly engine: OlderBranchEngine
  readonly specOf: (spec: Spec) => BranchDatabaseSpec
  /** Fields of a BranchDatabase that have another name in the kind. */
  readonly fields: Readonly<Record<string, string>>
}

const readAs = Schema.toType(BranchDatabase)

const olderKind = <Spec>({ engine, fields, resource, specOf }: OlderKind<Spec>): BranchKind => ({
  engine,
  resource: {
    ...resource,
    schema: Schema.decodeTo<typeof readAs, Schema.ConstraintDecoder<OlderBranch<Spec>>>(readAs, {
      decode: SchemaGetter.transform(({ metadata, spec, status }) => ({
        metadata,
        spec: specOf(spec),
        status: status ?? null
      })),
      encode: SchemaGetter.forbiddenEncoding
    })(resource.schema)
  },
  inOwnWords: (sentence) => {
    const field = Object.entries(fields).find(([name]) => sentence.startsWith(name))
    return field === undefined ? sentence : field[1] + sentence.slice(field[0].length)
  }
})

/** BranchDatabase, in which a name is looked up first. */
export const unifiedKind: BranchKind = { resource: branchDatabases, engine: undefined, inOwnWords: (text) => text }

/** The older kinds. */
export const olderKinds: Readonly<Record<OlderBranchEngine, BranchKind>> = {
  pg: olderKind({
    resource: pgBranchDatabases,
    engine: "pg",
    specOf: ({ copy, iamAuth, postgresVersion, ...spec }) => ({
      ...commonFields(spec, postgresVersion),
      postgresOptions: {
        ...(copy === undefined ? {} : { copy: { mode: copy.mode, items: copy.tables ?? null } }),
        iamAuth: iamAuth ?? null
      }
    }),
    fields: {
      "spec.postgresOptions.copy.items": "spec.copy.tables",
      "spec.postgresOptions.": "spec.",
      "spec.postgresOptions": "The object",
      "spec.version": "spec.postgresVersion"
    }
  }),
  mysql: olderKind({
    resource: mysqlBranchDatabases,
    engine: "mysql",
    specOf: ({ copy, mysqlVersion, ...spec }) => ({
      ...commonFields(spec, mysqlVersion),
      mysqlOptions: copy === undefined ? {} : { copy: { mode: copy.mode, items: copy.tables ?? null } }
    }),
    fields: {
      "spec.mysqlOptions.copy.items": "spec.copy.tables",
      "spec.mysqlOptions.": "spec.",
      "spec.mysqlOptions": "The object",
      "spec.version": "spec.mysqlVersion"
    }
  }),
  mongodb: olderKind({
    resource: mongodbBranchDatabases,
    engine: "mongodb",
    specOf: ({ copy, mongodbVersion, ...spec }) => ({
      ...commonFields(spec, mongodbVersion),
      mongodbOptions: copy === undefined ? {} : { copy: { mode: copy.mode, items: copy.collections ?? null } }
    }),
    fields: {
      "spec.mongodbOptions.copy.items": "spec.copy.collections",
      "spec.mongodbOptions.": "spec.",
      "spec.mongodbOptions": "The object",
      "spec.version": "spec.mongodbVersion"
    }
  })
}

/** All kinds of which a cluster has branches while these engines are switched on. A name is looked up in this order. */
export const branchKinds = (switchedOn: ReadonlyArray<BranchEngine>): ReadonlyArray<BranchKind> => [
  unifiedKind,
  ...Object.values(olderKinds).filter(({ engine }) => engine !== undefined && switchedOn.includes(engine))
]
