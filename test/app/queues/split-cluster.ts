import { Clock, Effect } from "effect"
import { applyJsonPatch } from "../../../lab/cluster/http/patches.ts"
import { MemoryQueues } from "../../../lab/queues/memory-queues.ts"
import { RandomStream } from "../../../lab/simulation/kernel/random-stream.ts"
import { isCopy } from "../../../src/domain/copies/copy-record.ts"
import { asObject, asObjects, asString, at } from "../../../src/domain/json.ts"
import { patchedLabel, type PatchOperation } from "../../../src/domain/queues/pod-patch.ts"
import { splitSessions } from "../../../src/domain/queues/stored-session.ts"
import {
  deployments,
  mutatingWebhookConfigurations,
  pods,
  replicaSets
} from "../../../src/domain/resources/core-kinds.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"
import type { MessageQueues } from "../../../src/ports/message-queues.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"

/** Asks the operator about a new pod, as an API server does: the path, and the review. */
export type AskAboutPod = (uid: string, review: object) => ReadonlyArray<PatchOperation>

const hashOf = (template: unknown): string => {
  let hash = 7
  for (const character of JSON.stringify(template)) hash = (hash * 31 + character.charCodeAt(0)) % 1_000_003
  return hash.toString(36)
}

/**
 * A cluster with Deployments whose pods read SQS: their controller, the webhook phase of its API server, and the
 * programs, all in virtual time.
 */
export class SplitCluster {
  readonly api: MemoryKubeApi
  readonly sqs: MemoryQueues
  readonly queues: MessageQueues["Service"]
  /** The messages that programs have read, with the session's key and the name of the queue, and who read it when. */
  readonly read: Array<{
    readonly by: string
    readonly queue: string
    readonly body: string
    readonly key: string | undefined
    readonly at: number
  }> = []
  /** Answers for the operator; `undefined` while it is away. */
  operator: AskAboutPod | undefined
  /** Local programs by the names of their sessions, with the queues of each. */
  readonly programs = new Map<string, ReadonlyArray<string>>()
  /** Whether new pods become ready. */
  isReady = true
  /** Whether programs read their queues. */
  isReading = true
  #pods = 0

  constructor(
    seed = "splits",
    api = new MemoryKubeApi("here"),
    sqs = new MemoryQueues(new RandomStream(seed)),
    queues = sqs.port()
  ) {
    this.api = api
    this.sqs = sqs
    this.queues = queues
  }

  deploy(name: string, env: ReadonlyArray<object>, replicas = 2): void {
    this.api.write(
      deployments,
      name,
      {
        apiVersion: "apps/v1",
        kind: "Deployment",
        spec: {
          replicas,
          selector: { matchLabels: { app: name } },
          template: {
            metadata: { labels: { app: name } },
            spec: { nodeName: "node", containers: [{ name: "app", env }] }
          }
        }
      },
      "shop"
    )
  }

  pods(name: string): ReadonlyArray<KubeObject> {
    return this.api.peekAll(pods).filter(({ metadata }) => metadata.labels?.["app"] === name)
  }

  /** The values of a variable in the pods of a workload. */
  values(name: string, variable = "ORDERS"): ReadonlyArray<string | undefined> {
    return this.pods(name).map((pod) => variablesOf(pod).get(variable))
  }

  /** Lets the cluster live: one step each half second. */
  readonly live = (now: () => number): Effect.Effect<never> =>
    Effect.gen({ self: this }, function* () {
      this.#collect()
      for (const deployment of this.api.peekAll(deployments)) this.#roll(deployment, now())
      for (const { metadata } of this.api.peekAll(pods).filter(isCopyPod))
        this.api.write(pods, metadata.name, { spec: { nodeName: "node" }, status: running }, metadata.namespace)
      if (this.isReading) yield* this.#consume()
      yield* Effect.sleep(500)
    }).pipe(Effect.forever)

  /** The garbage collector: a part of a split may be ordered when its session is over. */
  #collect(): void {
    for (const { metadata } of this.api.peekAll(splitSessions)) {
      const isOwned = metadata.ownerReferences?.some(({ uid }) => this.api.objects.has(uid)) ?? false
      if (!isOwned) this.api.erase(splitSessions, metadata.name)
    }
  }

  /** One step of the controllers of a Deployment and its ReplicaSets. */
  #roll({ metadata: { name, namespace = "", uid = "" }, ...deployment }: KubeObject, now: number): void {
    const template = at(deployment, "spec", "template")
    const hash = hashOf(template)
    const set = `${name}-${hash}`
    const owner = { apiVersion: "apps/v1", kind: "Deployment", name, uid, controller: true }
    if (this.api.peek(replicaSets, set, namespace) === undefined)
      this.api.write(replicaSets, set, { metadata: { ownerReferences: [owner] } }, namespace)
    const own = this.pods(name)
    for (const pod of own) {
      if (pod.metadata.labels?.["pod-template-hash"] === undefined && pod.metadata.ownerReferences !== undefined) {
        this.api.write(pods, pod.metadata.name, { metadata: { ownerReferences: null } }, namespace)
      }
    }
    const current = own.filter(({ metadata }) => metadata.labels?.["pod-template-hash"] === hash)
    const wanted = Number(at(deployment, "spec", "replicas") ?? 1)
    for (let missing = wanted - current.length; missing > 0; missing--)
      this.#create(namespace, set, hash, template, now)
    const ready = current.filter((pod) => at(pod, "status", "phase") === "Running")
    for (const { metadata } of current.slice(wanted)) this.api.erase(pods, metadata.name, namespace)
    for (const pod of this.isReady ? current : [])
      if (!ready.includes(pod)) this.api.write(pods, pod.metadata.name, { status: running }, namespace)
    if (ready.length < wanted) return
    for (const { metadata } of own) {
      const isOld = metadata.labels?.["pod-template-hash"] !== hash
      if (isOld && metadata.ownerReferences !== undefined) this.api.erase(pods, metadata.name, namespace)
    }
  }

  #create(namespace: string, set: string, hash: string, template: unknown, now: number): void {
    const name = `${set}-${++this.#pods}`
    const labels = { ...asObject(at(template, "metadata", "labels")), "pod-template-hash": hash }
    const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: set, uid: set, controller: true }
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { namespace, labels, ownerReferences: [owner], creationTimestamp: new Date(now).toISOString() },
      spec: at(template, "spec")
    }
    this.api.write(pods, name, this.#admitted(pod), namespace, now)
  }

  /** The pod with the patches of the webhooks; an operator that is away is ignored. */
  #admitted(pod: object): object {
    let made: Record<string, unknown> = { ...pod }
    for (const configuration of this.api.peekAll(mutatingWebhookConfigurations)) {
      for (const { clientConfig, namespaceSelector, objectSelector } of asObjects(configuration["webhooks"])) {
        const wanted = asObject(at(objectSelector, "matchLabels"))
        const labels = asObject(at(made, "metadata", "labels"))
        const isMeant = Object.entries(wanted).every(([key, value]) => labels[key] === value)
        const place = at(namespaceSelector, "matchLabels", "kubernetes.io/metadata.name")
        if (!isMeant || place !== at(made, "metadata", "namespace") || this.operator === undefined) continue
        const uid =
          String(at(clientConfig, "service", "path"))
            .split("/")
            .at(-1) ?? ""
        const request = { uid: "1", operation: "CREATE", kind: { kind: "Pod" }, namespace: place, object: made }
        const review = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request }
        made = applyJsonPatch(made, this.operator(uid, review))
      }
    }
    return made
  }

  /** Each program reads what is in its queue. */
  #consume(): Effect.Effect<void> {
    const readers = [
      ...this.api.peekAll(pods).flatMap((pod) => {
        const values = at(pod, "status", "phase") === "Running" && !isCopyPod(pod) ? [...variablesOf(pod).values()] : []
        const by = pod.metadata.labels?.[patchedLabel] ? "patched" : "pod"
        return values.map((value) => [by, value] as const)
      }),
      ...[...this.programs].flatMap(([by, queues]) => queues.map((queue) => [by, queue] as const))
    ]
    return Effect.forEach(readers, ([by, queue]) => Effect.ignore(this.#readOnce(by, queue)), {
      concurrency: "unbounded",
      discard: true
    })
  }

  readonly #readOnce = Effect.fnUntraced({ self: this }, function* (this: SplitCluster, by: string, queue: string) {
    const url = queue.includes("/") ? queue : yield* this.queues.urlOf(queue)
    const found = yield* this.queues.receive({ url, max: 10, waitSeconds: 0, visibilitySeconds: 30 })
    const now = yield* Clock.currentTimeMillis
    for (const { Body: body = "", MessageAttributes } of found)
      this.read.push({ by, queue, body, key: MessageAttributes?.["mirrord-key"]?.StringValue, at: now })
    const entries = found.flatMap(({ ReceiptHandle = "" }, index) => [{ Id: String(index), ReceiptHandle }])
    if (entries.length > 0) yield* this.queues.deleteBatch(url, entries)
  })
}

/** A copy of a target, whose container sleeps. */
const isCopyPod = ({ metadata }: KubeObject): boolean => isCopy(metadata)

/** The variables of a pod, which all name queues. */
const variablesOf = (pod: KubeObject): ReadonlyMap<string, string> => {
  const [container] = asObjects(at(pod, "spec", "containers"))
  const env = asObjects(container?.["env"])
  return new Map(env.map(({ name, value }) => [asString(name) ?? "", asString(value) ?? ""]))
}

const running = {
  phase: "Running",
  podIPs: [{ ip: "10.0.0.1" }],
  conditions: [{ type: "Ready", status: "True" }],
  containerStatuses: [{ name: "app", ready: true, containerID: "containerd://abc" }]
}
