/** A world for tests of rules about branches: branches are written by hand, and everything that happens is kept. */

import type { TimedEvent } from "../../../../lab/simulation/world/world-event.ts"
import { type WorldPlan, defaultPlan, World } from "../../../../lab/simulation/world/world.ts"
import { originAnnotations } from "../../../../src/domain/branches/sync/synced-branch.ts"
import { identityNamespace } from "../../../../src/domain/fleet/cluster-identity.ts"
import { branchDatabases } from "../../../../src/domain/resources/branches/branch-database.ts"
import { namespaces, pods } from "../../../../src/domain/resources/core-kinds.ts"
import { timestamp } from "../../../../src/domain/resources/object-meta.ts"
import type { KubeObject, ResourceRef } from "../../../../src/ports/kube-api.ts"
import { called } from "./fixture.ts"

export const branchName = "mirrord-pg-branch-1"
const namespace = "default"

/** The default cluster is a, and primary orders branches there. */
export class BranchWorld {
  readonly events: Array<TimedEvent> = []
  readonly world: World

  constructor(more: Partial<WorldPlan> = {}) {
    const clusters = [
      { name: "a", pods: 1 },
      { name: "b", pods: 1 }
    ]
    const plan = { ...defaultPlan, seed: "test", clusters, defaultCluster: "a", branches: true, ...more }
    this.world = new World(plan, [(event) => void this.events.push(event)])
  }

  /** Somebody writes an object. `age`: how old it is then, ms. */
  write(cluster: string, ref: ResourceRef, name: string, change: object, age = 0): KubeObject {
    const { objects } = this.world.cluster(cluster).server
    return objects.write(ref, name, change, { namespace, now: this.world.now - age })
  }

  branch(cluster: string, change: object = {}, age = 0): KubeObject {
    const spec = { id: "shop", ttlSecs: 60, postgresOptions: {} }
    const isThere = this.world.cluster(cluster).server.objects.peek(branchDatabases, branchName, namespace)
    return this.write(cluster, branchDatabases, branchName, isThere ? change : { spec, ...change }, age)
  }

  /** A branch in a that names an origin. */
  copy(origin: string, change: object = {}, age = 0): KubeObject {
    return this.branch("a", { metadata: this.marks(origin), ...change }, age)
  }

  /** The metadata of a copy; of this primary unless another cluster is given. */
  marks(origin: string, cluster = this.primaryUid): object {
    return { annotations: { [originAnnotations.clusterUid]: cluster, [originAnnotations.uid]: origin } }
  }

  get primaryUid(): string {
    return this.world.primary.server.objects.peek(namespaces, identityNamespace)?.metadata.uid ?? ""
  }

  erase(cluster: string): void {
    this.world.cluster(cluster).server.objects.erase(branchDatabases, branchName, namespace)
  }

  /** A pod that belongs to a branch. */
  pod(cluster: string, owner: KubeObject, change: object = {}, name = "branch-pod"): KubeObject {
    const ownerReferences = [{ kind: branchDatabases.kind, name: branchName, uid: owner.metadata.uid }]
    const metadata = { labels: { "db-owner-name": branchName }, ownerReferences }
    return this.write(cluster, pods, name, { metadata, spec: {}, ...change })
  }

  /** Events so far, and a call of an operator about the branch now. */
  calling(to: string, verb: "create" | "delete" | "patch", body: object, operator = "primary", ms = this.world.now) {
    const call = { verb, operator, to, resource: branchDatabases.plural, namespace, name: branchName, body }
    return [...this.events, called(ms, call, `operator-${operator}-1`)]
  }

  /** The time so many ms from now, as resources have it. */
  timeIn(ms: number): string {
    return timestamp(this.world.now + ms)
  }
}

/** The body of a delete of exactly this object. */
export const deletionOf = ({ metadata: { uid } }: KubeObject): object => ({ preconditions: { uid } })

/** Where an origin's copy is. */
export const copyIn = (cluster: string, { metadata: { uid } }: KubeObject): object => ({ cluster, namespace, uid })

export const podReady = { status: { conditions: [{ type: "Ready", status: "True" }] } }
