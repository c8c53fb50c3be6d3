import { Result } from "effect"
import { MemoryObjects } from "../../../../lab/memory/memory-objects.ts"
import {
  copyNamespace,
  type PrimaryIdentity,
  type WrittenGenerations
} from "../../../../src/domain/branches/sync/copy-object.ts"
import { type ObservedCopy, planCopy } from "../../../../src/domain/branches/sync/copy-plan.ts"
import { type ObservedOrigin, type OriginAction, planOrigin } from "../../../../src/domain/branches/sync/origin-plan.ts"
import {
  copyOf,
  type CopyReference,
  originOf,
  ownerOf,
  type SyncedBranch,
  syncedBranches
} from "../../../../src/domain/branches/sync/synced-branch.ts"
import { clusterName } from "../../../../src/domain/fleet/cluster-name.ts"
import type { KubeObject } from "../../../../src/ports/kube-api.ts"

export const name = "mirrord-pg-branch-0123456789abcdef"
export const namespace = "shop"
const primary: PrimaryIdentity = { uid: "uid-of-primary", cluster: "primary", namespace: "mirrord" }
export const cluster = clusterName("a")

export const spec = {
  id: "shop",
  ttlSecs: 300,
  target: { apiVersion: "apps/v1", kind: "Deployment", name: "app", container: "" },
  connectionSource: { url: { env: { container: null, variable: "DATABASE_URL" } } },
  postgresOptions: { copy: { mode: "all" } }
}

/** The action of a plan that changes something. */
type Write = Exclude<OriginAction, { readonly _tag: "RequeueAt" | "TellWaiting" }> | ReturnType<typeof planCopy>[number]

interface Known {
  copy?: CopyReference
  written?: WrittenGenerations
  failedSince?: number
}

/** Both clusters as they are, and the memory of the process between them, which carries out what is planned. */
export class TwoSides {
  readonly primary = new MemoryObjects("primary")
  readonly default = new MemoryObjects("a")
  readonly seenUids = new Set<string>()
  known = new Map<string, Known>()
  now = 1_800_000_000_000
  isDefaultListed = true
  areOriginsComplete = true
  /** All writes at the default cluster. */
  readonly written: Array<Write> = []

  origin(): SyncedBranch | undefined {
    return this.primary.peek(syncedBranches, name, namespace) as SyncedBranch | undefined
  }

  copy(): SyncedBranch | undefined {
    return this.default.peek(syncedBranches, name, namespace) as SyncedBranch | undefined
  }

  #originAt = (address: { readonly namespace: string; readonly name: string }): SyncedBranch | undefined =>
    this.primary.peek(syncedBranches, address.name, address.namespace) as SyncedBranch | undefined

  observedOrigin(origin: SyncedBranch): ObservedOrigin {
    const uid = origin.metadata.uid ?? ""
    const known = this.known.get(uid) ?? {}
    this.known.set(uid, known)
    this.seenUids.add(uid)
    if (origin.status?.["phase"] === "Failed") known.failedSince ??= this.now
    const place = Result.getOrElse(copyNamespace(origin.metadata, primary.namespace), () => "")
    const copy = this.default.peek(syncedBranches, origin.metadata.name, copyOf(origin)?.namespace ?? place) as
      | SyncedBranch
      | undefined
    return {
      resource: syncedBranches,
      origin,
      primary,
      cluster,
      seen: this.isDefaultListed
        ? { _tag: "Listed", found: copy && { copy, owner: ownerOf(copy, primary.uid, this.#originAt) } }
        : { _tag: "Away", why: undefined },
      known: known.copy,
      written: known.written,
      refusal: undefined,
      failedSince: known.failedSince
    }
  }

  observedCopy(copy: SyncedBranch): ObservedCopy {
    const origin = this.origin()
    return {
      copy,
      owner: ownerOf(copy, primary.uid, this.#originAt),
      areOriginsComplete: this.areOriginsComplete,
      wasOriginSeen: this.seenUids.has(originOf(copy)?.uid ?? ""),
      isNameWanted: origin !== undefined && origin.metadata.uid !== originOf(copy)?.uid
    }
  }

  /** The writes that are planned now. */
  plan(): ReadonlyArray<Write> {
    const origins = this.primary.peekAll(syncedBranches) as unknown as ReadonlyArray<SyncedBranch>
    const copies = this.default.peekAll(syncedBranches) as unknown as ReadonlyArray<SyncedBranch>
    return [
      ...origins.flatMap((origin) => planOrigin(this.observedOrigin(origin), this.now)),
      ...(this.isDefaultListed ? copies.flatMap((copy) => planCopy(this.observedCopy(copy))) : [])
    ].filter((action): action is Write => action._tag !== "RequeueAt" && action._tag !== "TellWaiting")
  }

  carryOut(write: Write): void {
    const origin = this.origin()
    const known = this.known.get(origin?.metadata.uid ?? "") ?? {}
    const wrote = (made: KubeObject): void => {
      known.copy ??= { cluster, namespace, uid: made.metadata.uid ?? "" }
      known.written = { origin: origin?.metadata.generation, copy: made.metadata.generation }
    }
    switch (write._tag) {
      case "CreateCopy": {
        this.written.push(write)
        const made = this.default.create(syncedBranches, write.object, write.address.namespace, this.now)
        return Result.isSuccess(made) ? wrote(made.success) : undefined
      }
      case "PatchCopy": {
        this.written.push(write)
        const patch = { ...write.patch, metadata: { ...(write.patch["metadata"] as object), ...write.precondition } }
        const made = this.default.mergePatch(syncedBranches, write.address.name, patch, write.address)
        return Result.isSuccess(made) ? wrote(made.success) : undefined
      }
      case "PatchStatus": {
        const patch = { metadata: write.precondition, status: write.patch }
        this.primary.mergePatch(syncedBranches, name, patch, { namespace, subresource: "status" })
        return undefined
      }
      case "DeleteOrigin":
        this.primary.delete(syncedBranches, name, { namespace, uid: write.uid }, this.now)
        return undefined
      case "DeleteCopy":
        this.written.push(write)
        this.default.delete(syncedBranches, name, { namespace, ...write.precondition }, this.now)
        return undefined
    }
  }

  /** Carries out what is planned until nothing is; `chosen` says in which order. Returns whether it came to rest. */
  rest(chosen: (count: number) => number = () => 0, most = 20): boolean {
    for (let i = 0; i < most; i++) {
      const plan = this.plan()
      const write = plan[chosen(plan.length) % Math.max(1, plan.length)]
      if (write === undefined) return true
      this.carryOut(write)
    }
    return this.plan().length === 0
  }

  /** A user's order at the primary. */
  order(change: object = {}, metadata: object = {}): void {
    this.primary.write(syncedBranches, name, { spec: { ...spec, ...change }, metadata }, { namespace, now: this.now })
  }

  /** The default cluster's operator says how far the branch is. */
  says(status: object): void {
    if (this.copy() !== undefined) this.default.write(syncedBranches, name, { status }, namespace)
  }
}

export const ready = { phase: "Ready", expireTime: "2027-01-15T08:05:00.000Z", podName: "pod", sessionInfo: {} }
