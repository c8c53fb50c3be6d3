import * as Result from "effect/Result"
import { applyMergePatch } from "../../../lab/cluster/http/patches.ts"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { clusterName, type ClusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { isObject } from "../../../src/domain/json.ts"
import {
  mirrordMultiClusterSessions,
  type MirrordMultiClusterSession
} from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { timeOf, timestamp } from "../../../src/domain/resources/object-meta.ts"
import { readResource } from "../../../src/domain/resources/resource-descriptor.ts"
import type { SessionFailure } from "../../../src/domain/resources/session-failure.ts"
import type { ChildObservation } from "../../../src/domain/sessions/child-observation.ts"
import { noSockets, type SocketPresence } from "../../../src/domain/sessions/liveness.ts"
import type { ClusterReach, ObservedSession, SessionSettings } from "../../../src/domain/sessions/observed-session.ts"
import { conditionSince, parentConditions } from "../../../src/domain/sessions/parent-view.ts"
import type { SessionAction } from "../../../src/domain/sessions/session-action.ts"
import { plan } from "../../../src/domain/sessions/session-plan.ts"

export const a = clusterName("cluster-a")
export const b = clusterName("cluster-b")
export const c = clusterName("cluster-c")

type Json = Record<string, unknown>

interface Child {
  readonly name: string
  readonly uid: string
  ready: boolean
  deleting: boolean
  failure: SessionFailure | undefined
  readonly parentName: string | undefined
  readonly parentUid: string | undefined
  madeQueues?: string
}

/**
 * A primary and its members as `plan` sees them, with an executor for its actions. Checks the safety rules as it goes.
 */
export class SessionWorld {
  now = 1_000_000_000_000
  parent: Json | undefined
  readonly members = new Map<
    ClusterName,
    {
      reachable: boolean
      /** Nobody knows yet whether it answers. */
      isConnecting?: boolean
      /** When the look at it was begun that found it lost; `undefined` if that is known without one. */
      askedAt?: number
      /** Its API server answers, but nobody behind it does. */
      operatorGone?: boolean
      silentSince: number | undefined
      child: Child | undefined
      confirmed: boolean
      refusal: SessionFailure | undefined
      refusedAt: number | undefined
    }
  >()
  readonly debts = new Set<string>()
  sockets: SocketPresence = { open: 1, lastClosedAt: undefined }
  leaderSince: number
  settings: SessionSettings = { sessionStart: "default", sessionTtlSecs: 60, remoteSessionTimeoutSecs: 300 }
  readonly log: Array<SessionAction> = []
  #version = 1
  #uid = 0

  constructor(clusters: ReadonlyArray<ClusterName> = [a, b]) {
    this.leaderSince = this.now - 3_600_000
    for (const name of clusters) this.join(name)
    this.parent = {
      metadata: {
        name: "mc-4dbe55ab68bba16c",
        uid: "parent-uid",
        resourceVersion: "1",
        generation: 1,
        creationTimestamp: timestamp(this.now)
      },
      spec: {
        owner: { userId: "u", username: "dev", hostname: "laptop", k8sUsername: "dev@corp" },
        namespace: "default",
        target: { apiVersion: "apps/v1", kind: "Deployment", name: "myapp", container: "" },
        targetAlias: "deployment.myapp",
        clusters,
        primaryCluster: "primary",
        defaultCluster: clusters[0],
        fieldOfTheFuture: { kept: true }
      }
    }
  }

  view(): MirrordMultiClusterSession | undefined {
    return this.parent === undefined
      ? undefined
      : Result.getOrThrow(readResource(mirrordMultiClusterSessions, this.parent))
  }

  status(): Json {
    const status = this.parent?.["status"]
    return isObject(status) ? status : {}
  }

  phase(): unknown {
    return this.status()["phase"]
  }

  entry(cluster: ClusterName): Json {
    const sessions = this.status()["clusterSessions"]
    const entry = isObject(sessions) ? sessions[cluster] : undefined
    return isObject(entry) ? entry : {}
  }

  recordedNames(): ReadonlyArray<string> {
    return Object.values(this.view()?.status?.clusterSessions ?? {}).map((entry) => entry.sessionName)
  }

  #observeChild(name: ClusterName): ChildObservation {
    const member = this.member(name)
    if (member.silentSince !== undefined) return { _tag: "Unknown", since: member.silentSince }
    if (member.child !== undefined) return { _tag: "Present", ...member.child }
    if (member.refusal !== undefined && member.refusedAt !== undefined && !member.confirmed)
      return { _tag: "Refused", at: member.refusedAt, failure: member.refusal }
    return { _tag: "Absent", confirmed: member.confirmed }
  }

  member(name: ClusterName) {
    const member = this.members.get(name)
    if (member === undefined) throw new Error(`no member ${name}`)
    return member
  }

  child(name: ClusterName): Child {
    const { child } = this.member(name)
    if (child === undefined) throw new Error(`no child in ${name}`)
    return child
  }

  observe(): ObservedSession {
    const reach = (reachable: boolean, askedAt: number | undefined, isConnecting: boolean): ClusterReach => ({
      reachable,
      error: reachable ? undefined : "connection refused",
      ...(reachable || askedAt === undefined ? {} : { askedAt }),
      ...(isConnecting ? { isConnecting } : {})
    })
    const parent = this.view()
    return {
      parent,
      createdSeenAt: timeOf(parent?.metadata.creationTimestamp) ?? this.now,
      deletedSeenAt: timeOf(parent?.metadata.deletionTimestamp),
      failedSeenAt: conditionSince(parent?.status?.conditions, parentConditions.failed, "True"),
      children: new Map([...this.members.keys()].map((name) => [name, this.#observeChild(name)])),
      fleet: {
        defaultCluster: [...this.members.keys()][0],
        clusters: new Map(
          [...this.members].map(([name, member]) => [
            name,
            reach(member.reachable && member.operatorGone !== true, member.askedAt, member.isConnecting === true)
          ])
        )
      },
      settings: this.settings,
      leaderSince: this.leaderSince,
      sockets: this.sockets,
      heartbeatSeenAt: undefined,
      debts: this.debts,
      sha256Hex
    }
  }

  plan(): ReadonlyArray<SessionAction> {
    return plan(this.observe(), this.now)
  }

  #touch(change: (metadata: Json) => void = () => undefined): void {
    const metadata = this.parent?.["metadata"]
    if (!isObject(metadata)) throw new Error("no parent to write")
    this.#version += 1
    change(metadata)
    metadata["resourceVersion"] = String(this.#version)
  }

  metadata(): Json {
    const metadata = this.parent?.["metadata"]
    return isObject(metadata) ? metadata : {}
  }

  spec(): Json {
    const spec = this.parent?.["spec"]
    return isObject(spec) ? spec : {}
  }

  /** A cluster joins the fleet. */
  join(name: ClusterName): void {
    this.members.set(name, {
      reachable: true,
      silentSince: undefined,
      child: undefined,
      confirmed: false,
      refusal: undefined,
      refusedAt: undefined
    })
  }

  patchStatus(patch: object): void {
    if (this.parent === undefined) throw new Error("no parent")
    this.parent["status"] = applyMergePatch(this.parent["status"], patch)
    this.#touch()
  }

  /** Somebody (a user, or a plan) deletes the parent. */
  deleteParent(): void {
    const finalizers = this.metadata()["finalizers"]
    if (Array.isArray(finalizers) && finalizers.length > 0) {
      this.#touch((metadata) => (metadata["deletionTimestamp"] ??= timestamp(this.now)))
    } else this.parent = undefined
  }

  execute(action: SessionAction): void {
    this.log.push(action)
    switch (action._tag) {
      case "AddFinalizer":
        return this.#touch((metadata) => (metadata["finalizers"] = [action.finalizer]))
      case "RemoveFinalizer":
        for (const name of this.recordedNames()) {
          const left = [...this.members.values()].some(
            (member) => member.child?.name === name && member.child.parentName === this.metadata()["name"]
          )
          if (left && !this.debts.has(name))
            throw new Error(`the finalizer goes although ${name} is there and not owed`)
        }
        this.#touch((metadata) => (metadata["finalizers"] = []))
        if (this.metadata()["deletionTimestamp"] !== undefined) this.parent = undefined
        return
      case "JoinClusters":
        this.parent = { ...this.parent, spec: { ...this.spec(), clusters: action.clusters } }
        return this.#touch()
      case "RecordChild":
      case "PatchStatus":
        return this.patchStatus(action.patch)
      case "CreateChild": {
        const member = this.member(action.cluster)
        // S5 and "recorded before created".
        if (this.parent === undefined) throw new Error("a child without a parent")
        if (!this.recordedNames().includes(action.child.metadata.name))
          throw new Error("a child is created before it is recorded")
        if (!member.reachable || member.silentSince !== undefined) return
        member.confirmed = false
        if (member.refusal !== undefined) member.refusedAt = this.now
        else if (member.child === undefined) {
          this.#uid += 1
          member.child = {
            name: action.child.metadata.name,
            uid: `child-${this.#uid}`,
            ready: false,
            deleting: false,
            failure: undefined,
            parentName: action.child.spec.multiClusterParentName ?? undefined,
            parentUid: action.child.metadata.annotations["operator.metalbear.co/multi-cluster-parent-uid"]
          }
        }
        return
      }
      case "DeleteChild": {
        if (!this.recordedNames().includes(action.childName))
          throw new Error(`${action.childName} is deleted but not named in the status`)
        const member = this.member(action.cluster)
        if (!member.reachable || member.silentSince !== undefined) return
        if (member.child !== undefined && action.uid !== undefined && action.uid !== member.child.uid) return
        member.child = undefined
        member.confirmed = true
        return
      }
      case "RecordDebt":
        this.debts.add(action.childName)
        return
      case "DeleteParent":
        return this.deleteParent()
      case "RequeueAt":
        if (action.at <= this.now) throw new Error("a requeue that is not in the future")
        return
    }
  }

  /**
   * Plans and executes until nothing is left to do now; fails when that does not come to an end. Returns the time to
   * plan again.
   */
  settle(): number | undefined {
    for (let round = 0; round < 30; round += 1) {
      const actions = this.plan()
      const writes = actions.filter((action) => action._tag !== "RequeueAt")
      const parentWrites = writes.filter((action) => "precondition" in action)
      if (parentWrites.length > 1) throw new Error("two writes of the parent in one plan")
      const isSilent = (name: ClusterName): boolean =>
        !this.member(name).reachable || this.member(name).silentSince !== undefined
      const stuck = writes.every((action) => action._tag === "DeleteChild" && isSilent(action.cluster))
      for (const action of actions) this.execute(action)
      if (writes.length === 0 || stuck)
        return actions.flatMap((action) => (action._tag === "RequeueAt" ? [action.at] : []))[0]
    }
    throw new Error(`no fixed point: ${JSON.stringify(this.plan())}`)
  }

  /** Lets time pass, planning whenever a plan asked for it. */
  advance(milliseconds: number): void {
    const end = this.now + milliseconds
    for (let round = 0; round < 500; round += 1) {
      const at = this.settle()
      if (at === undefined || at > end) {
        this.now = end
        this.settle()
        return
      }
      this.now = at
    }
    throw new Error("hot loop: too many plans")
  }

  /** One member's agents become usable. */
  makeReady(name: ClusterName): void {
    const child = this.child(name)
    child.ready = true
    child.failure = undefined
    this.settle()
  }

  fail(name: ClusterName, failure: SessionFailure): void {
    const child = this.child(name)
    child.ready = false
    child.failure = failure
    this.settle()
  }

  heartbeat(): void {
    this.patchStatus({ connectedTimestamp: timestamp(this.now) })
  }

  closeSockets(): void {
    this.sockets = { open: 0, lastClosedAt: this.now }
  }

  forgetSockets(): void {
    this.sockets = noSockets
  }
}
