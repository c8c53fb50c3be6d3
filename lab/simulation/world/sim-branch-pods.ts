/**
 * The nodes of one simulated cluster as far as pods of branches are concerned: containers that copy and serve, and
 * everything that goes wrong with them. The engines themselves are not played.
 */

import { migrationsLabel } from "../../../src/domain/branches/migrations/migration-job.ts"
import { jobs, pods } from "../../../src/domain/resources/core-kinds.ts"
import { timestamp } from "../../../src/domain/resources/object-meta.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"
import type { Kernel } from "../kernel/kernel.ts"
import type { RandomStream } from "../kernel/random-stream.ts"
import type { ApiServer } from "./sim-api-server.ts"
import { copyProblem } from "./source-databases.ts"

/** The fates of new pods. */
export const branchFates = ["works", "fails", "no-image", "killed", "slow"] as const
export type BranchFate = (typeof branchFates)[number]

/** The label of every pod of a branch, by which other programs find it. */
const branchPodLabel = "db-owner-name"

type Span = readonly [least: number, most: number]

/** From the pod to the start of its copy, from there to its end, and from there to a server that takes connections. */
const startTime: Span = [50, 600]
const copyTime: Span = [300, 5_000]
const slowCopyTime: Span = [40_000, 150_000]
const serveTime: Span = [100, 1_500]

export const isBranchPod = ({ metadata }: KubeObject): boolean => metadata.labels?.[branchPodLabel] !== undefined

export const isMigration = ({ metadata }: KubeObject): boolean => metadata.labels?.[migrationsLabel] !== undefined

export class SimBranchPods {
  readonly #kernel: Kernel
  readonly #server: ApiServer
  readonly #random: RandomStream
  /** Pods whose copy is slow, by UID. */
  readonly #slow = new Set<string>()
  #counter = 0
  /** The fate of the pods that are made from now on. */
  fate: BranchFate = "works"

  constructor(kernel: Kernel, server: ApiServer, random: RandomStream) {
    this.#kernel = kernel
    this.#server = server
    this.#random = random
  }

  get isWell(): boolean {
    return this.fate === "works" && this.#slow.size === 0
  }

  heal(): void {
    this.fate = "works"
  }

  /** The pods of branches that are there. */
  get all(): ReadonlyArray<KubeObject> {
    return this.#server.objects.peekAll(pods).filter(isBranchPod)
  }

  made(pod: KubeObject): void {
    const { fate } = this
    const { uid = "" } = pod.metadata
    if (fate === "slow") this.#slow.add(uid)
    this.#after(startTime, pod, () => this.#start(pod, fate))
  }

  /** A Job of migrations ends as new pods do; its own pod is not played. */
  migrating(job: KubeObject): void {
    const { fate } = this
    const { name, namespace, uid } = job.metadata
    const ended = { type: fate === "works" || fate === "slow" ? "Complete" : "Failed", status: "True" }
    // The tool has failed, or the run was lost.
    const reason = fate === "fails" ? { reason: "DeadlineExceeded" } : {}
    this.#kernel.after(this.#random.int(...(fate === "slow" ? slowCopyTime : copyTime)), () => {
      const { objects } = this.#server
      if (objects.peek(jobs, name, namespace)?.metadata.uid !== uid) return
      const lastTransitionTime = timestamp(this.#kernel.now)
      const status = { conditions: [{ ...ended, ...reason, lastTransitionTime }] }
      objects.write(jobs, name, { status }, namespace)
    })
  }

  gone({ metadata: { uid = "" } }: KubeObject): void {
    this.#slow.delete(uid)
  }

  /** The node needs the memory of a pod. */
  evict(pod: KubeObject): void {
    const message = "The node was low on resource: memory."
    this.#say(pod, { phase: "Failed", reason: "Evicted", message, conditions: [{ type: "Ready", status: "False" }] })
  }

  #start(pod: KubeObject, fate: BranchFate): void {
    if (fate === "no-image") {
      const waiting = { reason: "ErrImagePull", message: "manifest unknown" }
      return this.#say(pod, { phase: "Pending", initContainerStatuses: [{ name: "copy", state: { waiting } }] })
    }
    this.#say(pod, { phase: "Pending", initContainerStatuses: [{ name: "copy", state: { running: {} } }] })
    this.#after(fate === "slow" ? slowCopyTime : copyTime, pod, () => this.#copied(pod, fate))
  }

  #copied(pod: KubeObject, fate: BranchFate): void {
    this.#slow.delete(pod.metadata.uid ?? "")
    const failed = (terminated: object): void =>
      this.#say(pod, { phase: "Failed", initContainerStatuses: [{ name: "copy", state: { terminated } }] })
    if (fate === "fails") return failed({ exitCode: 1, reason: "Error", message: copyProblem(this.#server.place) })
    if (fate === "killed") return failed({ exitCode: 137, reason: "OOMKilled" })
    const terminated = { exitCode: 0, reason: "Completed" }
    const initContainerStatuses = [{ name: "copy", state: { terminated } }]
    const podIP = `10.3.0.${++this.#counter}`
    const database = (ready: boolean) => [{ name: "database", ready, state: { running: {} } }]
    this.#say(pod, { phase: "Running", podIP, initContainerStatuses, containerStatuses: database(false) })
    this.#after(serveTime, pod, () =>
      this.#say(pod, { containerStatuses: database(true), conditions: [{ type: "Ready", status: "True" }] })
    )
  }

  #after([least, most]: Span, pod: KubeObject, run: () => void): void {
    this.#kernel.after(this.#random.int(least, most), () => {
      if (this.#isRunning(pod)) run()
    })
  }

  /** Whether a pod is there, and has not failed. */
  #isRunning({ metadata: { name, namespace, uid } }: KubeObject): boolean {
    const now = this.#server.objects.peek(pods, name, namespace)
    const { phase } = (now?.["status"] ?? {}) as { readonly phase?: string }
    return now !== undefined && now.metadata.uid === uid && phase !== "Failed"
  }

  #say(pod: KubeObject, status: object): void {
    const { name, namespace } = pod.metadata
    if (this.#isRunning(pod)) this.#server.objects.write(pods, name, { status }, namespace)
  }
}
