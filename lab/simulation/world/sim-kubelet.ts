/**
 * The nodes of one simulated cluster: pods of workloads, and agents' Jobs, whose pods become processes. The API
 * server's objects decide: a change of an object changes the process. A kubelet for real processes is in
 * `lab/cluster/node`.
 */

import { isCopy } from "../../../src/domain/copies/copy-record.ts"
import {
  deployments,
  jobs,
  pods,
  replicaSets,
  services,
  statefulSets
} from "../../../src/domain/resources/core-kinds.ts"
import { kindAddress } from "../../../src/domain/targets/target.ts"
import type { KubeObject, ResourceRef } from "../../../src/ports/kube-api.ts"
import type { Commit } from "../../memory/memory-objects.ts"
import type { Cancel, Kernel } from "../kernel/kernel.ts"
import type { RandomStream } from "../kernel/random-stream.ts"
import { SimProcess } from "../kernel/sim-process.ts"
import { operatorNamespace } from "./operator-replica.ts"
import { type Answered, type PodRequest, SimAgent } from "./sim-agent.ts"
import type { ApiServer } from "./sim-api-server.ts"
import { isBranchPod, isMigration, SimBranchPods } from "./sim-branch-pods.ts"
import { sourceVariables, templateVariables } from "./source-databases.ts"
import type { WorldEvent } from "./world-event.ts"

const workloadNamespace = "default"
/** Least and most time from a Job to a running agent, ms. */
const agentStart: readonly [number, number] = [300, 1_500]
/** After so long without a first client an agent ends, ms (agent.md §3.3). */
const firstClientTimeout = 30_000
const idleTtl = 60_000
/** Least and most time from a pod of a copy to its running container, ms. */
const copyStart: readonly [number, number] = [400, 2_500]
/** Least and most time until a workload has the number of pods that is wanted, ms. */
const scaling: readonly [number, number] = [100, 900]
/** After so long an object is collected whose owners do not exist, ms. */
const collectAfter = 2_000
/** Time between two attempts to pull an image, ms. */
const pullRetry = 5_000
/** How long a finished Job of an agent stays, ms, as its `ttlSecondsAfterFinished` says. */
const finishedJobStays = 60_000
/** After so long the cluster says of a lost node's pods that they are not ready, ms. */
const missedAfter = 40_000
/** After so long the pods of a lost node are replaced, ms. */
const evictedAfter = 300_000

/** Least and most time that an agent thinks before an answer, ms. */
const defaultAgentDelay: readonly [number, number] = [0, 2]

export interface KubeletOptions {
  readonly kernel: Kernel
  readonly server: ApiServer
  readonly emit: (event: WorldEvent) => void
  /** Whether `deployment/myapp` has databases, of which there may be branches. */
  readonly hasDatabases: boolean
}

interface RunningAgent {
  readonly name: string
  readonly ip: string
  readonly agent: SimAgent
  readonly process: SimProcess
  /** The container whose traffic the agent handles; undefined for a targetless agent. */
  readonly containerId: string | undefined
  /** An agent that is an ephemeral container of this pod. */
  readonly within?: { readonly pod: string; readonly container: string }
  /** The API server has forgotten the pod that the agent works on, and nothing ends the agent. */
  readonly isForgotten?: true
}

interface WorkloadPod {
  readonly name: string
  readonly containerId: string
  readonly isCopy?: true
}

/** Kinds of workloads that copies are made of in stories. */
export const workloadKinds = ["deployment", "statefulset", "job", "cronjob"] as const

/** A workload beside `deployment/myapp`. A job or cron job has no pods here. */
export interface WorkloadPlan {
  readonly kind: (typeof workloadKinds)[number]
  readonly name: string
  readonly pods: number
}

/** Whether the number of a workload's pods can be set. */
const isScalable = (kind: WorkloadPlan["kind"]): boolean => kind === "deployment" || kind === "statefulset"

const refOf = (kind: WorkloadPlan["kind"]): ResourceRef => ({ ...kindAddress(kind), scope: "Namespaced" })

/** A deployment whose pods the selectors of `deployment/myapp` and `service/web` cover too. */
const canary = "myapp-canary"
const canaryLabels = { app: "myapp", track: "canary" }

/** The workload of a pod. The canary's pods are told from others by their owner. */
const workloadOf = ({ labels, ownerReferences }: KubeObject["metadata"]): string | undefined =>
  ownerReferences?.some(({ kind, name }) => kind === "ReplicaSet" && name === canary) === true
    ? canary
    : labels?.["app"]

/** A pod of a workload, and no copy: copies have their target's labels too. */
const isOf = ({ metadata }: KubeObject, workload: string): boolean =>
  workloadOf(metadata) === workload && !isCopy(metadata)

export class SimKubelet {
  readonly #options: KubeletOptions
  readonly #random: RandomStream
  /** Of copies and of what they do to workloads: stories without copies draw nothing here. */
  readonly #copyRandom: RandomStream
  /** The pods of branches. */
  readonly branches: SimBranchPods
  readonly #agents = new Map<string, RunningAgent>()
  readonly #starting = new Map<string, Cancel>()
  /** Pods that wait for the next attempt to pull their image. They say until then that the image cannot be pulled. */
  readonly #unpulled = new Set<string>()
  /** Containers on lost nodes, with what waits for the node's return. */
  readonly #lost = new Map<string, Set<() => void>>()
  /** Addresses of agents that were on lost nodes. */
  readonly #lostIps = new Set<string>()
  #counter = 0
  /** A workload is being scaled by hand, and gets its pods at once. */
  #isScaling = false
  /** The protocol version that new agents speak. */
  agentVersion = "1.29.0"
  /** Least and most time that every agent thinks before an answer, ms. */
  agentDelay = defaultAgentDelay
  /** Why new agents' images cannot be pulled; undefined if they can. */
  pullProblem: string | undefined

  constructor(options: KubeletOptions) {
    this.#options = options
    this.#random = options.kernel.random.split(`kubelet ${options.server.place}`)
    this.#copyRandom = this.#random.split("copies")
    this.branches = new SimBranchPods(options.kernel, options.server, this.#random.split("branches"))
  }

  /** Ends all faults here: images can be pulled, pods are ready, agents run and answer fast. */
  heal(): void {
    this.pullProblem = undefined
    this.agentDelay = defaultAgentDelay
    this.branches.heal()
    this.returnNodes()
    this.setReady("myapp", true)
    for (const { process } of this.agents) process.resume()
  }

  /**
   * Whether there is no fault here: images can be pulled and are, pods are ready, agents run and answer fast. Having no
   * pods is no fault, because a person may want it so.
   */
  get isWell(): boolean {
    const isReady =
      this.#options.server.objects.peekAll(pods).filter((pod) => isOf(pod, "myapp")).length ===
      this.podsOf("myapp").length
    const isPulled = this.pullProblem === undefined && this.#unpulled.size === 0
    return (
      isPulled &&
      this.branches.isWell &&
      this.agentDelay === defaultAgentDelay &&
      isReady &&
      this.agents.every(({ process }) => process.state === "running")
    )
  }

  get agents(): ReadonlyArray<RunningAgent> {
    return [...this.#agents.values()]
  }

  /** Follows what happens to the API server's objects. */
  committed({ after, before, ref }: Commit): void {
    if (before === undefined && after !== undefined) this.#made(ref, after)
    if (ref.plural === pods.plural && before !== undefined) {
      if (after === undefined) this.#podGone(before)
      else this.#podChanged(before, after)
    }
    if (ref.plural === deployments.plural || ref.plural === statefulSets.plural)
      this.#replicasChanged(ref, before, after)
  }

  #made(ref: ResourceRef, object: KubeObject): void {
    this.#collectIfOrphan(ref, object)
    if (ref.plural === jobs.plural) {
      if (isMigration(object)) this.branches.migrating(object)
      else this.#jobMade(object)
    }
    if (ref.plural !== pods.plural) return
    if (isCopy(object.metadata)) this.#copyMade(object)
    if (isBranchPod(object)) this.branches.made(object)
  }

  /** Collects an object whose owner is gone already when it is made, as the garbage collector does. */
  #collectIfOrphan(ref: ResourceRef, { metadata }: KubeObject): void {
    const { objects } = this.#options.server
    const isOrphan = ({ ownerReferences = [] }: KubeObject["metadata"]): boolean =>
      ownerReferences.length > 0 && !ownerReferences.some(({ uid }) => objects.has(uid))
    if (!isOrphan(metadata)) return
    this.#options.kernel.after(collectAfter, () => {
      // An owner may have been added or created meanwhile.
      const now = objects.peek(ref, metadata.name, metadata.namespace)?.metadata
      if (now !== undefined && now.uid === metadata.uid && isOrphan(now))
        objects.erase(ref, metadata.name, metadata.namespace)
    })
  }

  // Workloads

  /** A Deployment and its pods. */
  deploy(name: string, replicas: number): void {
    const labels = { app: name }
    const { objects } = this.#options.server
    const spec = {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [this.#container] } }
    }
    objects.write(deployments, name, { spec }, { namespace: workloadNamespace, now: this.#options.kernel.now })
    for (let i = 0; i < replicas; i++) this.#startPod(name)
  }

  get #container(): object {
    return { name: "app", ...(this.#options.hasDatabases ? { env: templateVariables } : {}) }
  }

  /** A workload that copies are made of, with its pods. */
  deployOther({ kind, name, pods: count }: WorkloadPlan): void {
    if (kind === "deployment") return this.deploy(name, count)
    const template = { metadata: { labels: { app: name } }, spec: { containers: [{ name: "app" }] } }
    const { objects } = this.#options.server
    const specs = {
      statefulset: { replicas: count, selector: { matchLabels: { app: name } }, template },
      job: { template },
      cronjob: { jobTemplate: { spec: { template } } }
    }
    objects.write(
      refOf(kind),
      name,
      { spec: specs[kind] },
      { namespace: workloadNamespace, now: this.#options.kernel.now }
    )
    for (let i = 0; i < count && isScalable(kind); i++) this.#startPod(name)
  }

  hasWorkload(kind: WorkloadPlan["kind"], name: string): boolean {
    return this.#options.server.objects.peek(refOf(kind), name, workloadNamespace) !== undefined
  }

  /** A person or the operator sets the number of pods of a workload that is there. Jobs have no such number. */
  scaleOther(kind: WorkloadPlan["kind"], name: string, replicas: number): void {
    if (isScalable(kind))
      this.#options.server.objects.write(refOf(kind), name, { spec: { replicas } }, workloadNamespace)
  }

  /** A developer deletes a workload. */
  deleteOther(kind: WorkloadPlan["kind"], name: string): void {
    this.#options.server.objects.erase(refOf(kind), name, workloadNamespace)
  }

  /** Pods that are copies. */
  get copies(): ReadonlyArray<KubeObject> {
    return this.#options.server.objects.peekAll(pods).filter(({ metadata }) => isCopy(metadata))
  }

  /** The workload's controller: it has as many pods as it should a moment after that number was set. */
  #replicasChanged(ref: ResourceRef, before: KubeObject | undefined, after: KubeObject | undefined): void {
    if (this.#isScaling || before === undefined || replicasOf(before) === replicasOf(after)) return
    const { kernel, server } = this.#options
    const { name, uid } = before.metadata
    const [least, most] = scaling
    kernel.after(this.#copyRandom.int(least, most), () => {
      const workload = server.objects.peek(ref, name, workloadNamespace)
      // Of a workload that was deleted and made again, the new one is looked at.
      if (workload !== undefined && workload.metadata.uid !== uid) return
      this.#adjust(name, replicasOf(workload))
    })
  }

  /** Starts or deletes pods until their number is right. */
  #adjust(workload: string, replicas: number): void {
    const { objects } = this.#options.server
    const running = objects.peekAll(pods).filter((pod) => isOf(pod, workload))
    for (const pod of running.slice(replicas)) objects.erase(pods, pod.metadata.name, workloadNamespace)
    for (let i = running.length; i < replicas; i++) this.#startPod(workload)
  }

  /** The node of a copy pulls its image and starts its container. */
  #copyMade({ metadata: { name, uid } }: KubeObject): void {
    const { kernel, server } = this.#options
    const [least, most] = copyStart
    const start = (): void => {
      if (server.objects.peek(pods, name, workloadNamespace)?.metadata.uid !== uid) return
      if (this.pullProblem !== undefined) return void kernel.after(pullRetry, start)
      const ip = `10.1.1.${++this.#counter}`
      const containerID = `containerd://${name}-${this.#counter}`
      const containerStatuses = [{ name: "app", ready: true, containerID, state: { running: {} } }]
      server.objects.write(
        pods,
        name,
        { spec: { nodeName: "node" }, status: { phase: "Running", podIP: ip, podIPs: [{ ip }], containerStatuses } },
        workloadNamespace
      )
    }
    kernel.after(this.#copyRandom.int(least, most), start)
  }

  #startPod(workload: string): void {
    this.#writePod(`${workload}-${++this.#counter}`, workload)
  }

  #writePod(name: string, workload: string): void {
    const { kernel, server } = this.#options
    const ip = `10.1.0.${++this.#counter}`
    const containerID = `containerd://${name}-${this.#counter}`
    server.objects.write(
      pods,
      name,
      {
        metadata: workload === canary ? this.#ofCanary() : { labels: { app: workload } },
        spec: { nodeName: "node", containers: [{ name: "app" }] },
        status: {
          phase: "Running",
          podIP: ip,
          podIPs: [{ ip }],
          containerStatuses: [{ name: "app", ready: true, containerID, state: { running: {} } }]
        }
      },
      { namespace: workloadNamespace, now: kernel.now }
    )
  }

  /** Pods of a workload that are ready. */
  podsOf(workload: string): ReadonlyArray<WorkloadPod> {
    return this.#options.server.objects.peekAll(pods).flatMap((pod) => {
      const id = containerIdOf(pod)
      const isReady = statusOf(pod).containerStatuses?.[0]?.ready === true
      return isOf(pod, workload) && id !== undefined && isReady && !this.#lost.has(id)
        ? [{ name: pod.metadata.name, containerId: id }]
        : []
    })
  }

  /** Deletes a pod of the workload and starts another pod under a new name. */
  reschedule(workload: string): void {
    const pod = this.#random.pick(this.podsOf(workload))
    if (pod === undefined) return
    this.#options.server.objects.erase(pods, pod.name, workloadNamespace)
    this.#startPod(workload)
  }

  /** Replaces a pod of the workload by another under the same name, as a StatefulSet does. */
  replaceUnderSameName(workload: string): void {
    const pod = this.#random.pick(this.podsOf(workload))
    if (pod === undefined) return
    this.#options.server.objects.erase(pods, pod.name, workloadNamespace)
    this.#writePod(pod.name, workload)
  }

  /** A developer sets the number of pods of `deployment/<workload>`, and it has them at once. */
  scale(workload: string, replicas: number): void {
    const { objects } = this.#options.server
    if (objects.peek(deployments, workload, workloadNamespace) === undefined) return this.deploy(workload, replicas)
    this.#isScaling = true
    objects.write(deployments, workload, { spec: { replicas } }, workloadNamespace)
    this.#isScaling = false
    this.#adjust(workload, replicas)
  }

  /** Sets the number of pods of `deployment/myapp-canary`, which is made with a Service if it is not there. */
  scaleCanary(replicas: number): void {
    const { objects } = this.#options.server
    const at = { namespace: workloadNamespace, now: this.#options.kernel.now }
    if (objects.peek(deployments, canary, workloadNamespace) === undefined) {
      const spec = { selector: { matchLabels: canaryLabels }, template: { spec: { containers: [this.#container] } } }
      const { uid = "" } = objects.write(deployments, canary, { spec }, at).metadata
      const ownerReferences = [{ apiVersion: "apps/v1", kind: "Deployment", name: canary, uid, controller: true }]
      objects.write(replicaSets, canary, { metadata: { labels: canaryLabels, ownerReferences }, spec }, at)
      objects.write(services, "web", { spec: { selector: { app: "myapp" } } }, at)
    }
    this.#adjust(canary, replicas)
  }

  /** The metadata of the canary's pods. */
  #ofCanary(): object {
    const uid = this.#options.server.objects.peek(replicaSets, canary, workloadNamespace)?.metadata.uid ?? ""
    const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: canary, uid, controller: true }
    return { labels: canaryLabels, ownerReferences: [owner] }
  }

  /** The owner of the pods of a container, as `kind/name`; `undefined` for pods without an owner. */
  ownerOf(containerId: string | undefined): string | undefined {
    const isCanarys = this.podsOf(canary).some((pod) => pod.containerId === containerId)
    return isCanarys ? `deployment/${canary}` : undefined
  }

  setReady(workload: string, ready: boolean): void {
    const { objects } = this.#options.server
    for (const pod of objects.peekAll(pods)) {
      if (!isOf(pod, workload)) continue
      const containerStatuses = (statusOf(pod).containerStatuses ?? []).map((status) => ({ ...status, ready }))
      objects.write(pods, pod.metadata.name, { status: { containerStatuses } }, workloadNamespace)
    }
  }

  /** Copies that run, which Services take for pods of the workload. */
  #copiesOf(workload: string): ReadonlyArray<WorkloadPod & { readonly isCopy: true }> {
    return this.copies.flatMap((pod) => {
      const id = containerIdOf(pod)
      return pod.metadata.labels?.["app"] === workload && id !== undefined
        ? [{ name: pod.metadata.name, containerId: id, isCopy: true }]
        : []
    })
  }

  /** A request from outside enters one ready pod. The result is the pod's name, or undefined if no pod is ready. */
  request(workload: string, request: PodRequest, answered: (answer: Answered | undefined) => void): string | undefined {
    const pod = this.#random.pick([...this.podsOf(workload), ...this.#copiesOf(workload)])
    if (pod === undefined) return undefined
    const running = this.agents.find(
      ({ containerId, process }) => containerId === pod.containerId && process.state !== "dead"
    )
    // The container of a copy sleeps: only an agent listens there.
    if (pod.isCopy === true && running?.agent.subscribedPorts.has(request.port) !== true) {
      this.#options.kernel.after(1, () => answered(undefined))
    } else if (running === undefined) {
      const body = `hello from ${this.#options.server.place}: ${request.method} ${request.path}`
      this.#options.kernel.after(1, () => answered({ by: "workload", status: 200, body }))
    } else {
      let isOver = false
      const once = (answer: Answered | undefined): void => {
        if (isOver) return
        isOver = true
        forget()
        // Even the fastest answer comes after the request.
        this.#options.kernel.soon(() => answered(answer))
      }
      const forget = running.process.whenDead(() => once(undefined))
      running.agent.request(request, once)
    }
    return pod.name
  }

  // Nodes; each pod has a node of its own.

  /** Whether an address is on a lost node, so that nothing comes back from it. */
  isLost(ip: string): boolean {
    return this.#lostIps.has(ip)
  }

  /**
   * The node of a pod is lost without a word. After a while the cluster notices and replaces the pod. The result is the
   * agent that was there; its connections must have gone silent before.
   */
  loseNode({ containerId, name }: WorkloadPod): void {
    const { emit, kernel, server } = this.#options
    const { objects } = server
    this.#lost.set(containerId, new Set())
    for (const agent of this.agents.filter((other) => other.containerId === containerId)) {
      this.#agents.delete(agent.name)
      this.#lostIps.add(agent.ip)
      agent.process.kill()
      emit({ _tag: "AgentEnded", cluster: server.place, agent: agent.name, pod: "" })
    }
    const isStillLost = (): boolean => {
      const pod = objects.peek(pods, name, workloadNamespace)
      return this.#lost.has(containerId) && pod !== undefined && containerIdOf(pod) === containerId
    }
    kernel.after(missedAfter, () => {
      if (!isStillLost()) return
      objects.write(pods, name, { status: { conditions: [{ type: "Ready", status: "False" }] } }, workloadNamespace)
    })
    kernel.after(evictedAfter, () => {
      if (!isStillLost()) return
      const pod = objects.peek(pods, name, workloadNamespace)
      const workload = pod && workloadOf(pod.metadata)
      objects.erase(pods, name, workloadNamespace)
      if (workload !== undefined) this.#startPod(workload)
    })
  }

  /** Lost nodes are back: their containers are started again, and their agents have failed. */
  returnNodes(): void {
    const { objects } = this.#options.server
    for (const [containerId, waiting] of this.#lost) {
      const pod = objects.peekAll(pods).find((object) => containerIdOf(object) === containerId)
      this.#lost.delete(containerId)
      if (pod !== undefined) {
        const containerID = `containerd://${pod.metadata.name}-${++this.#counter}`
        const containerStatuses = [{ name: "app", ready: true, containerID, state: { running: {} } }]
        const conditions = [{ type: "Ready", status: "True" }]
        objects.write(pods, pod.metadata.name, { status: { conditions, containerStatuses } }, workloadNamespace)
        for (const { name, state } of statusOf(pod).ephemeralContainerStatuses ?? [])
          if (state?.running !== undefined)
            this.#sayOfContainer({ pod: pod.metadata.name, container: name }, { terminated: { exitCode: 137 } })
      }
      for (const run of waiting) run()
    }
    const agentPods = objects.peekAll(pods).filter(({ metadata }) => metadata.labels?.["job-name"] !== undefined)
    for (const pod of agentPods) {
      const { phase, podIP } = statusOf(pod)
      if (phase === "Running" && podIP !== undefined && this.#lostIps.has(podIP))
        this.#ended(pod.metadata.name, "Failed")
    }
    this.#lostIps.clear()
  }

  /**
   * The API server forgets a pod of the workload and another starts, but the pod's node runs on: the pod was deleted by
   * force.
   */
  forgetPod(workload: string): void {
    const pod = this.#random.pick(this.podsOf(workload))
    if (pod === undefined) return
    const working = this.agents.filter(({ containerId }) => containerId === pod.containerId)
    for (const agent of working) this.#agents.set(agent.name, { ...agent, isForgotten: true })
    this.#options.server.objects.erase(pods, pod.name, workloadNamespace)
    this.#startPod(workload)
  }

  // Agents

  /** The agent that listens at an address. */
  agentAt(ip: string): RunningAgent | undefined {
    return this.agents.find((agent) => agent.ip === ip)
  }

  /** Kills an agent as by SIGKILL; its pod and Job fail. */
  crashAgent(name: string): void {
    const agent = this.#agents.get(name)
    if (agent === undefined) return
    agent.process.kill()
    this.#ended(name, "Failed")
  }

  #jobMade(job: KubeObject): void {
    const { kernel, server } = this.#options
    const { name, uid } = job.metadata
    const [least, most] = agentStart
    const podName = `${name}-${++this.#counter}`
    const owner = { apiVersion: "batch/v1", kind: "Job", name, uid: uid ?? "" }
    kernel.soon(() => {
      // The Job may be gone already.
      if (server.objects.peek(jobs, name, operatorNamespace)?.metadata.uid !== uid) return
      server.objects.write(
        pods,
        podName,
        { metadata: { labels: { "job-name": name }, ownerReferences: [owner] }, status: { phase: "Pending" } },
        { namespace: operatorNamespace, now: kernel.now }
      )
      const cancel = kernel.after(this.#random.int(least, most), () => {
        this.#starting.delete(podName)
        this.#run(job, podName)
      })
      this.#starting.set(podName, cancel)
    })
  }

  // Ephemeral containers

  #podChanged(before: KubeObject, after: KubeObject): void {
    const known = new Set(ephemeralOf(before).map(({ name }) => name))
    const { kernel } = this.#options
    const [least, most] = agentStart
    const id = containerIdOf(after)
    for (const { name } of ephemeralOf(after).filter((container) => !known.has(container.name))) {
      const within = { pod: after.metadata.name, container: name }
      kernel.after(this.#random.int(least, most), () => this.#runContainer(within, after.metadata.uid, id))
    }
  }

  /** Starts an agent in its target's pod, unless the pod or the container that it was added for is gone. */
  #runContainer(within: Within, uid: string | undefined, containerId: string | undefined): void {
    const { kernel, server } = this.#options
    const pod = server.objects.peek(pods, within.pod, workloadNamespace)
    if (pod === undefined || pod.metadata.uid !== uid) return
    const again = (): void => this.#runContainer(within, uid, containerId)
    const waiting = this.#lost.get(containerId ?? "")
    if (waiting !== undefined) return void waiting.add(again)
    const key = `${within.pod}/${within.container}`
    this.#unpulled.delete(key)
    if (containerId === undefined || containerIdOf(pod) !== containerId)
      return this.#sayOfContainer(within, { terminated: { exitCode: 137 } })
    if (this.pullProblem !== undefined) {
      this.#sayOfContainer(within, { waiting: { reason: "ErrImagePull", message: this.pullProblem } })
      this.#unpulled.add(key)
      return void kernel.after(pullRetry, again)
    }
    const ip = statusOf(pod).podIP ?? ""
    this.#begin({ name: key, ip, pod: within.pod, containerId, within })
    this.#sayOfContainer(within, { running: {} })
  }

  /** Writes what the kubelet knows of an ephemeral container. */
  #sayOfContainer({ container, pod: name }: Within, state: ContainerState): void {
    const { objects } = this.#options.server
    const pod = objects.peek(pods, name, workloadNamespace)
    if (pod === undefined) return
    const others = (statusOf(pod).ephemeralContainerStatuses ?? []).filter((status) => status.name !== container)
    const ephemeralContainerStatuses = [...others, { name: container, state }]
    objects.write(pods, name, { status: { ephemeralContainerStatuses } }, workloadNamespace)
  }

  /** Starts the process of an agent. */
  #begin(of: {
    readonly name: string
    readonly ip: string
    readonly pod: string | undefined
    readonly containerId: string | undefined
    readonly within?: Within
  }): void {
    const { emit, kernel, server } = this.#options
    const { containerId, ip, name, pod = "", within } = of
    const process = new SimProcess(kernel, `agent ${server.place}/${name}`, (line) =>
      emit({ _tag: "Log", process: name, line })
    )
    const agent = new SimAgent({
      cluster: server.place,
      pod,
      version: this.agentVersion,
      process,
      delay: () => {
        const [least, most] = this.agentDelay
        return least === most ? least : this.#random.int(least, most)
      },
      maxDelay: () => this.agentDelay[1],
      firstClientTimeout,
      idleTtl,
      exited: () => this.#ended(name, "Succeeded"),
      ...(this.#options.hasDatabases ? { environment: sourceVariables(server.place) } : {})
    })
    this.#agents.set(name, { name, ip, agent, process, containerId, ...(within === undefined ? {} : { within }) })
    emit({ _tag: "AgentStarted", cluster: server.place, agent: name, pod })
  }

  #run(job: KubeObject, podName: string): void {
    const { kernel, server } = this.#options
    if (this.pullProblem !== undefined) {
      const containerStatuses = [
        {
          name: "mirrord-agent",
          ready: false,
          state: { waiting: { reason: "ErrImagePull", message: this.pullProblem } }
        }
      ]
      server.objects.write(pods, podName, { status: { containerStatuses } }, operatorNamespace)
      this.#unpulled.add(podName)
      this.#starting.set(
        podName,
        kernel.after(pullRetry, () => {
          this.#starting.delete(podName)
          this.#unpulled.delete(podName)
          this.#run(job, podName)
        })
      )
      return
    }
    const { args = [] } = (job as AgentJob).spec?.template?.spec?.containers?.[0] ?? {}
    const containerId = args.includes("--container-id") ? args[args.indexOf("--container-id") + 1] : undefined
    const waiting = this.#lost.get(containerId ?? "")
    if (waiting !== undefined) {
      const start = (): void => {
        this.#starting.delete(podName)
        this.#run(job, podName)
      }
      waiting.add(start)
      this.#starting.set(podName, () => waiting.delete(start))
      return
    }
    const pod = this.#podOfContainer(containerId)
    if (containerId !== undefined && pod === undefined) return this.#ended(podName, "Failed")
    const ip = `10.2.0.${++this.#counter}`
    this.#begin({ name: podName, ip, pod, containerId })
    const containerStatuses = [{ name: "mirrord-agent", ready: true, state: { running: {} } }]
    server.objects.write(
      pods,
      podName,
      { status: { phase: "Running", podIP: ip, containerStatuses } },
      operatorNamespace
    )
  }

  #podOfContainer(containerId: string | undefined): string | undefined {
    if (containerId === undefined) return undefined
    return this.#options.server.objects.peekAll(pods).find((pod) => containerIdOf(pod) === containerId)?.metadata.name
  }

  #podGone(pod: KubeObject): void {
    const { name } = pod.metadata
    this.branches.gone(pod)
    this.#starting.get(name)?.()
    this.#starting.delete(name)
    this.#unpulled.delete(name)
    const agent = this.#agents.get(name)
    if (agent !== undefined) {
      this.#agents.delete(name)
      agent.process.kill()
      this.#options.emit({ _tag: "AgentEnded", cluster: this.#options.server.place, agent: name, pod: "" })
    }
    // A Job whose pod is deleted has failed, because agents' Jobs have no back-off.
    const job = pod.metadata.labels?.["job-name"]
    if (job !== undefined) return this.#finish(job, "Failed")
    // An agent lives in its target's namespaces, so it ends with the container.
    const id = containerIdOf(pod)
    if (id !== undefined) this.#lost.delete(id)
    for (const { containerId, isForgotten, name: agentName, process } of this.agents) {
      if (id === undefined || containerId !== id || isForgotten === true) continue
      process.kill()
      this.#ended(agentName, "Failed")
    }
  }

  /** An agent's process has ended while its pod still exists. */
  #ended(podName: string, phase: "Succeeded" | "Failed"): void {
    const { emit, server } = this.#options
    const within = this.#agents.get(podName)?.within
    // An agent whose target is gone ends before it begins, and was never in the list.
    if (this.#agents.delete(podName)) emit({ _tag: "AgentEnded", cluster: server.place, agent: podName, pod: "" })
    if (within !== undefined)
      return this.#sayOfContainer(within, { terminated: { exitCode: phase === "Succeeded" ? 0 : 137 } })
    const pod = server.objects.peek(pods, podName, operatorNamespace)
    const jobName = pod?.metadata.labels?.["job-name"]
    if (pod === undefined || jobName === undefined) return
    server.objects.write(pods, podName, { status: { phase } }, operatorNamespace)
    this.#finish(jobName, phase)
  }

  #finish(jobName: string, phase: "Succeeded" | "Failed"): void {
    const { kernel, server } = this.#options
    const job = server.objects.peek(jobs, jobName, operatorNamespace)
    if (job === undefined) return
    server.objects.write(
      jobs,
      jobName,
      { status: phase === "Failed" ? { failed: 1 } : { succeeded: 1 } },
      operatorNamespace
    )
    kernel.after(finishedJobStays, () => {
      const now = server.objects.peek(jobs, jobName, operatorNamespace)
      if (now?.metadata.uid === job.metadata.uid) server.objects.erase(jobs, jobName, operatorNamespace)
    })
  }
}

/** An ephemeral container, and the pod that it is in. */
type Within = NonNullable<RunningAgent["within"]>
type ContainerState = Partial<Readonly<Record<"running" | "waiting" | "terminated", object>>>
interface PodStatus {
  readonly phase?: string
  readonly podIP?: string
  readonly containerStatuses?: ReadonlyArray<{ readonly ready?: boolean; readonly containerID?: string }>
  readonly ephemeralContainerStatuses?: ReadonlyArray<{ readonly name: string; readonly state?: ContainerState }>
}
interface AgentJob {
  readonly spec?: {
    readonly template?: {
      readonly spec?: { readonly containers?: ReadonlyArray<{ readonly args?: ReadonlyArray<string> }> }
    }
  }
}

const ephemeralOf = (pod: KubeObject): ReadonlyArray<{ readonly name: string }> =>
  (pod["spec"] as { readonly ephemeralContainers?: ReadonlyArray<{ readonly name: string }> } | undefined)
    ?.ephemeralContainers ?? []

/** The number of pods that a workload is to have; none if there is no workload. */
const replicasOf = (workload: KubeObject | undefined): number =>
  workload === undefined ? 0 : ((workload["spec"] as { readonly replicas?: number }).replicas ?? 1)

const statusOf = (pod: KubeObject): PodStatus => (pod["status"] ?? {}) as PodStatus
const containerIdOf = (pod: KubeObject): string | undefined =>
  statusOf(pod).containerStatuses?.[0]?.containerID?.replace("containerd://", "")
