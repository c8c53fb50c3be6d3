/**
 * The content of `braid branches`: one row for each branch of a database, also where it is an object in two clusters.
 *
 * Not here: reading the objects, and the layout of a table (text-table.ts).
 */

import { engines } from "../../branches/engines.ts"
import { spanText } from "../../fleet/credentials/validity.ts"
import type { BranchDatabase } from "../../resources/branches/branch-database.ts"
import type { BranchStatus } from "../../resources/branches/branch-shapes.ts"
import { timeOf } from "../../resources/object-meta.ts"
import { fromKubeTarget } from "../../targets/kube-target.ts"
import { formatTargetPath } from "../../targets/target-path.ts"

/** A branch as `braid branches` shows it; docs/operating/commands.md describes its JSON. */
export interface BranchRow {
  readonly name: string
  /** Where people list and stop it; its database may be in another namespace of another cluster. */
  readonly namespace: string
  /** The cluster with the database. */
  readonly cluster: string
  readonly engine: string
  readonly phase: string
  readonly id: string
  /** `deployment/web/container/app`. */
  readonly target: string
  readonly ttlSecs: number
  /** Epoch ms, if nothing uses it from now on. */
  readonly expiresAt: number | undefined
  /** Users of the cluster, each once. */
  readonly users: ReadonlyArray<string>
  /** Ids of the sessions that use it, as its status has them. */
  readonly sessions: ReadonlyArray<string>
  /** Why it failed; one sentence. */
  readonly reason: string | undefined
  readonly uid: string | undefined
  /** UID of the object in another cluster whose state this one repeats. */
  readonly copyUid: string | undefined
}

/** The engine of the only block of options; a person may have written none, or two. */
const engineOf = (spec: BranchDatabase["spec"]): string => {
  const given = Object.values(engines).filter(({ block }) => (spec[block] ?? undefined) !== undefined)
  const [engine, ...others] = given
  return engine === undefined || others.length > 0 ? "unknown" : engine.name
}

/** The part of a row that the operator's answer says. */
const stateOf = (status: BranchStatus): Pick<BranchRow, "expiresAt" | "users" | "sessions" | "reason" | "copyUid"> => {
  const users = Object.values(status.sessionInfo ?? {}).map(({ owner }) => owner.k8sUsername)
  return {
    expiresAt: timeOf(status.expireTime),
    users: [...new Set(users)].toSorted(),
    sessions: Object.keys(status.sessionInfo ?? {}),
    reason: status.error ?? undefined,
    copyUid: status.copy?.uid
  }
}

const unseen = { expiresAt: undefined, users: [], sessions: [], reason: undefined, copyUid: undefined }

/** The row of an object of a cluster. */
export const branchRow = (cluster: string, { metadata, spec, status }: BranchDatabase): BranchRow => {
  const known = status ?? undefined
  const target = fromKubeTarget(spec.target)
  const isDeleted = (metadata.deletionTimestamp ?? undefined) !== undefined
  return {
    name: metadata.name,
    namespace: metadata.namespace ?? "",
    cluster: known?.copy?.cluster ?? cluster,
    engine: engineOf(spec),
    phase: isDeleted ? "Terminating" : (known?.phase ?? "Unknown"),
    id: spec.id,
    target: target === undefined ? spec.target.name : formatTargetPath(target),
    ttlSecs: spec.ttlSecs,
    uid: metadata.uid,
    ...(known === undefined ? unseen : stateOf(known))
  }
}

/** All rows by cluster, namespace and name. A copy has no row beside the object that its user has ordered. */
export const branchRows = (rows: ReadonlyArray<BranchRow>): ReadonlyArray<BranchRow> => {
  const copies = new Set(rows.flatMap(({ copyUid }) => copyUid ?? []))
  const place = ({ cluster, name, namespace }: BranchRow): string => JSON.stringify([cluster, namespace, name])
  return rows
    .filter(({ uid }) => uid === undefined || !copies.has(uid))
    .toSorted((a, b) => (place(a) < place(b) ? -1 : 1))
}

export const branchHeader = [
  "NAME",
  "NAMESPACE",
  "CLUSTER",
  "ENGINE",
  "PHASE",
  "TTL",
  "EXPIRES",
  "USERS",
  "ID",
  "REASON"
] as const

/** A row as cells, in the order of {@link branchHeader}. */
export const branchCells = (row: BranchRow, now: number): ReadonlyArray<string> => [
  row.name,
  row.namespace,
  row.cluster,
  row.engine,
  row.phase,
  spanText(row.ttlSecs * 1000),
  row.expiresAt === undefined ? "" : spanText(row.expiresAt - now),
  row.users.join(", "),
  row.id,
  row.reason ?? ""
]
