/**
 * Everything that has become of the branches of databases of a story, for the rules about them (S-B1 to L-B7): read
 * from the objects and never from an operator's state, so that a mistake of an operator cannot hide itself.
 */

import { migrationsLabel, migrationsName } from "../../../src/domain/branches/migrations/migration-job.ts"
import { originAnnotations } from "../../../src/domain/branches/sync/synced-branch.ts"
import { identityNamespace } from "../../../src/domain/fleet/cluster-identity.ts"
import { asObject, asObjects, asString, at, isObject } from "../../../src/domain/json.ts"
import { branchDatabases } from "../../../src/domain/resources/branches/branch-database.ts"
import { jobs, namespaces, pods, secrets } from "../../../src/domain/resources/core-kinds.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"
import type { Commit } from "../../memory/memory-objects.ts"
import { phaseOfBranch } from "../world/branch-order.ts"
import type { PortCall, TimedEvent } from "../world/world-event.ts"
import type { SimCluster, World } from "../world/world.ts"
import type { Checker, Invariant } from "./invariant.ts"

/** One branch, by its UID, from its creation on; it stays when the object has gone. */
export interface BranchRecord {
  readonly cluster: string
  readonly uid: string
  object: KubeObject
  /** When it was created, virtual ms. */
  readonly madeAt: number
  /** Specs of all generations, as comparable texts. */
  readonly specs: Set<string>
  /** Its statuses in their order, as comparable texts. */
  readonly statuses: Array<string>
  /** When it got the last of them, virtual ms. */
  statusAt: number
  /** When it got its phase, virtual ms. */
  phaseAt: number
  wasReady: boolean
  /** Its pod was ready once. */
  wasPodReady: boolean
  /** The migrations that the spec of each generation asks for, as comparable texts; `undefined` if none. */
  readonly migrations: Map<number, string | undefined>
  /** Those of them of which a run has succeeded. */
  readonly migrated: Set<string>
  /** Why it could fail after it was ready: its pod or its Secret was lost, or a developer changed its spec. */
  isLost: boolean
  goneAt: number | undefined
  /** Whether an operator asked for its deletion. */
  wasDeletedByOperator: boolean
}

/** Texts are equal if the values are, whatever the order of their fields; a field that is null counts as missing. */
export const comparable = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(comparable).join()}]`
  if (!isObject(value)) return JSON.stringify(value) ?? ""
  const fields = Object.entries(value).filter(([, field]) => field !== null && field !== undefined)
  return `{${fields
    .map(([name, field]) => `${name}:${comparable(field)}`)
    .toSorted()
    .join()}}`
}

/** The parts of a status that travel from a copy to its origin. */
export const statusText = (branch: KubeObject): string => {
  const { error, expireTime, phase, podName, sessionInfo } = asObject(branch["status"])
  return comparable({ error, expireTime, phase, podName, sessions: Object.keys(asObject(sessionInfo)).toSorted() })
}

export const sessionsOf = (branch: KubeObject): ReadonlyArray<string> =>
  Object.keys(asObject(at(branch, "status", "sessionInfo")))

/** The UIDs of the cluster and of the object that a copy names as its origin. */
export const marksOf = (
  branch: Pick<KubeObject, "metadata">
): { readonly cluster: string; readonly uid: string } | undefined => {
  const annotations = branch.metadata.annotations ?? {}
  const [cluster, uid] = [annotations[originAnnotations.clusterUid], annotations[originAnnotations.uid]]
  return cluster === undefined || uid === undefined ? undefined : { cluster, uid }
}

/** `status.copy` of an origin. */
export const copyReference = (
  branch: KubeObject
): { readonly cluster: string; readonly uid: string; readonly borrowed: boolean } | undefined => {
  const copy = at(branch, "status", "copy")
  const [cluster, uid] = [asString(at(copy, "cluster")), asString(at(copy, "uid"))]
  return cluster === undefined || uid === undefined
    ? undefined
    : { cluster, uid, borrowed: at(copy, "borrowed") === true }
}

/** Whether a cluster only orders branches, which another one makes. */
export const isOrdering = ({ defaultCluster, plan }: World, cluster: string): boolean =>
  cluster === plan.secondPrimary || (cluster === plan.primary && plan.primary !== defaultCluster)

export const isBranchCall = ({ resource }: PortCall): boolean => resource === branchDatabases.plural

export const isBranch = ({ ref }: Commit): boolean => ref.plural === branchDatabases.plural

/** The UID that a call's precondition names. */
export const namedUid = ({ body, verb }: PortCall): string | undefined =>
  asString(verb === "delete" ? at(body, "preconditions", "uid") : at(body, "metadata", "uid"))

/** The branches of a cluster as they are now. */
export const branchesIn = ({ server }: SimCluster): ReadonlyArray<KubeObject> => server.objects.peekAll(branchDatabases)

/** The branch that a call is about, unless the server refuses it for its precondition. */
export const calledBranch = (world: World, call: PortCall): KubeObject | undefined => {
  const found = world.clusters.get(call.to)?.server.objects.peek(branchDatabases, call.name, call.namespace)
  const uid = namedUid(call)
  const version = call.verb === "delete" ? at(call.body, "preconditions", "resourceVersion") : undefined
  const isOther = version !== undefined && found?.metadata.resourceVersion !== version
  return isOther || (uid !== undefined && found?.metadata.uid !== uid) ? undefined : found
}

/** The UID by which the copies of a primary name its cluster. */
export const primaryUid = (world: World, primary = world.plan.primary): string | undefined =>
  world.cluster(primary).server.objects.peek(namespaces, identityNamespace)?.metadata.uid

/** A branch as a person reads of it. */
export const branchPath = ({ metadata }: KubeObject): string => `${metadata.namespace ?? ""}/${metadata.name}`

/** The migrations that a branch asks for, as a comparable text; `undefined` if none. */
export const migrationsOf = (branch: KubeObject): string | undefined => {
  const migrations = at(branch, "spec", "migrations") ?? undefined
  return migrations === undefined ? undefined : comparable(migrations)
}

const hasCondition = (object: KubeObject | undefined, type: string): boolean =>
  asObjects(at(object, "status", "conditions")).some((one) => one["type"] === type && one["status"] === "True")

export class BranchHistory {
  readonly records = new Map<string, BranchRecord>()
  /** When the story last brought a fault about, or an operator ended. */
  faultAt = -Infinity
  /** The kinds of faults so far. */
  readonly faults = new Set<string>()
  #last: TimedEvent | undefined

  /** Takes an event. Several rules hand in the same event; it counts once. */
  take(event: TimedEvent): this {
    if (event === this.#last) return this
    this.#last = event
    switch (event._tag) {
      case "Fault":
        this.faultAt = event.at
        this.faults.add(event.kind)
        break
      case "Operator":
        if (event.change !== "started") this.faultAt = event.at
        break
      case "Called":
        if (event.call.verb === "delete" && isBranchCall(event.call)) {
          const record = this.records.get(namedUid(event.call) ?? "")
          if (record !== undefined) record.wasDeletedByOperator = true
        }
        break
      case "Committed":
        if (isBranch(event.commit)) this.#changed(event.cluster, event.commit, event.at)
        else if (event.commit.ref.plural === jobs.plural) this.#runChanged(event.commit)
        else this.#partChanged(event.commit)
        break
      default:
    }
    return this
  }

  of(branch: KubeObject | undefined): BranchRecord | undefined {
    return this.records.get(branch?.metadata.uid ?? "")
  }

  /** A run of a branch's migrations changes; its name says of which generation it is. */
  #runChanged({ after }: Commit): void {
    const uid = after?.metadata.labels?.[migrationsLabel] ?? ""
    const record = this.records.get(uid)
    if (after === undefined || record === undefined || !hasCondition(after, "Complete")) return
    const text = record.migrations.get(Number(after.metadata.name.slice(migrationsName(uid, 0).length - 1)))
    if (text !== undefined) record.migrated.add(text)
  }

  /** The pods and Secrets of a branch change. */
  #partChanged({ after, before, ref }: Commit): void {
    if (ref.plural !== pods.plural && ref.plural !== secrets.plural) return
    const owner = (after ?? before)?.metadata.ownerReferences?.find(({ kind }) => kind === branchDatabases.kind)
    const record = owner === undefined ? undefined : this.records.get(owner.uid)
    if (record === undefined) return
    if (after === undefined || at(after, "status", "phase") === "Failed") record.isLost = true
    if (hasCondition(after, "Ready")) record.wasPodReady = true
  }

  #changed(cluster: string, { after, before }: Commit, now: number): void {
    const object = after ?? before
    const uid = object?.metadata.uid ?? ""
    if (object === undefined) return
    const record: BranchRecord = this.records.get(uid) ?? {
      cluster,
      uid,
      object,
      madeAt: now,
      specs: new Set(),
      statuses: [],
      statusAt: now,
      phaseAt: now,
      wasReady: false,
      wasPodReady: false,
      migrations: new Map(),
      migrated: new Set(),
      isLost: false,
      goneAt: undefined,
      wasDeletedByOperator: false
    }
    this.records.set(uid, record)
    record.object = object
    if (after === undefined) {
      record.goneAt = now
      return
    }
    const spec = comparable(after["spec"])
    if (record.specs.size > 0 && !record.specs.has(spec)) record.isLost = true
    record.specs.add(spec)
    record.migrations.set(after.metadata.generation ?? 0, migrationsOf(after))
    const phase = phaseOfBranch(after)
    if (phase !== phaseOfBranch(before)) record.phaseAt = now
    if (phase === "Ready") record.wasReady = true
    const status = statusText(after)
    if (record.statuses.at(-1) === status) return
    record.statuses.push(status)
    record.statusAt = now
  }
}

const stories = new WeakMap<() => World, BranchHistory>()

/** The branches of one story; the same for every rule that was begun with the same world. */
export const branchHistory = (world: () => World): BranchHistory => {
  const known = stories.get(world)
  if (known !== undefined) return known
  const made = new BranchHistory()
  stories.set(world, made)
  return made
}

/** A rule about branches, whose checker knows their history up to each event. */
export const branchRule = ({
  begin,
  ...rule
}: Pick<Invariant, "id" | "sentence"> & {
  readonly begin: (world: () => World, history: BranchHistory) => Checker
}): Invariant => ({
  ...rule,
  ofBranches: true,
  begin: (world) => {
    const history = branchHistory(world)
    const checker = begin(world, history)
    return { ...checker, each: (event) => history.take(event) && checker.each?.(event) }
  }
})
