/**
 * The state of one pod on this node, and how its status in the store follows from it. `pod-worker.ts` leads the pod
 * through its life.
 */

import * as path from "node:path"
import type { Deferred } from "effect"
import { at } from "../../../src/domain/json.ts"
import type { KubeObject } from "../schema/kube-object.ts"
import { pods } from "../store/resource-refs.ts"
import { find, nameOf, namespaceOf, uidOf } from "../store/store-access.ts"
import type { PodSources } from "./container-env.ts"
import type { NodeContext } from "./node-context.ts"
import { podFiles } from "./pod-files.ts"
import { PodNetwork } from "./pod-network.ts"
import type { PodSpec } from "./pod-spec.ts"
import { type ContainerRecord, newContainerRecord, podStatus } from "./pod-status.ts"

export class PodState {
  readonly node: NodeContext
  /** The pod as it was bound. */
  readonly pod: KubeObject
  readonly spec: PodSpec
  readonly namespace: string
  readonly ip: string
  /** Holds the pod's files; it is removed with the pod. */
  readonly directory: string
  readonly files: ReturnType<typeof podFiles>
  readonly network: PodNetwork
  /** From what the environment and the volumes of its containers are made. */
  readonly sources: PodSources
  readonly initContainers: ReadonlyArray<ContainerRecord>
  readonly containers: ReadonlyArray<ContainerRecord>
  /** Those that were added to the running pod, in order. */
  readonly ephemeralContainers: Array<ContainerRecord> = []
  /** Sidecars that have not started yet. */
  readonly starting = new Map<ContainerRecord, Deferred.Deferred<void>>()
  initialized: boolean
  outcome: "Succeeded" | "Failed" | undefined
  readonly #startedAt: number

  /** @param address where the pod listens; its status shows the published address */
  constructor(node: NodeContext, pod: KubeObject, spec: PodSpec, address: string) {
    this.node = node
    this.pod = pod
    this.spec = spec
    this.namespace = namespaceOf(pod)
    this.ip = node.book.addresses.publish(address)
    this.initContainers = (spec.initContainers ?? []).map(newContainerRecord)
    this.containers = spec.containers.map(newContainerRecord)
    this.initialized = this.initContainers.length === 0
    this.#startedAt = node.now()
    this.network = new PodNetwork(address, node.book, (message) => this.#logAll(`kubelet: ${message}`))
    this.sources = {
      store: node.store,
      pod,
      namespace: this.namespace,
      podIp: this.ip,
      nodeName: node.nodeName,
      serviceAccountName: spec.serviceAccountName ?? "default"
    }
    this.directory = path.join(node.directory, "pods", uidOf(pod))
    this.files = podFiles({
      sources: this.sources,
      spec,
      directory: this.directory,
      nodeDirectory: node.directory,
      issueToken: node.issueToken,
      clusterDomain: node.clusterDomain
    })
  }

  /** The pod's name in warnings. */
  get title(): string {
    return `pod ${this.namespace}/${nameOf(this.pod)}`
  }

  /** All containers, the init containers first. */
  get all(): ReadonlyArray<ContainerRecord> {
    return [...this.initContainers, ...this.containers, ...this.ephemeralContainers]
  }

  #logAll(line: string): void {
    for (const record of this.containers) record.log?.append(line)
  }

  /** The pod in the store; `undefined` once it is gone. Another pod may have its name. */
  #stored(): KubeObject | undefined {
    return find(this.node.store, pods, this.namespace, nameOf(this.pod))
  }

  /** The pod with the containers that were added since it was bound. */
  current(): KubeObject {
    const stored = this.#stored()
    return stored?.metadata.uid === uidOf(this.pod) ? stored : this.pod
  }

  /** Writes the status. */
  publish(): void {
    const { containers, ephemeralContainers, initContainers, initialized, ip, node, outcome, pod } = this
    const status = podStatus({
      ip,
      startedAt: this.#startedAt,
      now: node.now(),
      initialized,
      outcome,
      initContainers,
      containers,
      ephemeralContainers,
      conditions: at(this.#stored(), "status", "conditions")
    })
    node.store.setStatus(pods, pod, status)
  }

  /** Says why a container does not run now. */
  wait(record: ContainerRecord, reason: string, message: string): void {
    record.state = { _tag: "Waiting", reason, message }
    this.publish()
  }

  gracePeriodSeconds(): number {
    const asked = this.#stored()?.metadata.deletionGracePeriodSeconds ?? 0
    // The embedded store knows no graceful deletion and writes 0.
    return this.node.limitGrace(asked > 0 ? asked : (this.spec.terminationGracePeriodSeconds ?? 30))
  }
}
