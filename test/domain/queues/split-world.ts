import * as Result from "effect/Result"
import type {
  DrainTarget,
  ForwardingTable,
  ObservedConfiguration,
  ObservedSplit,
  QueueState,
  RecordedQueue,
  SplitRecord,
  SplitSource,
  SplitTimes,
  WantedSession
} from "../../../src/domain/queues/observed-split.ts"
import { actionKey, type SplitAction } from "../../../src/domain/queues/split-action.ts"
import type { SplitFailure } from "../../../src/domain/queues/split-failure.ts"
import { splitPlan } from "../../../src/domain/queues/split-plan.ts"

type Changing<T> = { -readonly [K in keyof T]: T[K] }

/** A message; the session with this tag in its uid wants it. */
interface Message {
  readonly id: number
  readonly tag: number
}

interface Pod {
  patchedBy: string | undefined
  isReady: boolean
  isTerminating: boolean
  readonly bornAt: number
  goneAt: number
}

interface Forwarder {
  table: ForwardingTable
  isStopping: boolean
  /** Received and not yet sent. */
  batch: Array<{ readonly message: Message; readonly to: ReadonlyArray<string> }>
}

export const source = (name: string, ids: ReadonlyArray<string> = [name]): SplitSource => ({
  identity: `arn:${name}`,
  reference: name,
  name,
  url: `https://sqs.eu-north-1.amazonaws.com/123456789012/${name}`,
  ids
})
export const orders = source("orders")
export const bills = source("bills.fifo")

export const times: SplitTimes = {
  restartMillis: 60_000,
  strategy: "standard",
  waitForPods: 1,
  ttlMillis: 0,
  drainMillis: undefined,
  nameTemplate: undefined
}

/** Other processes send until so long after a crash. */
const fence = 30_000

/** The part of the world that a split is in, with an executor of its actions. It checks the safety rules as it goes. */
export class SplitWorld {
  now = 1_800_000_000_000
  workload: { replicas: number; restartToken: string | undefined } | undefined = {
    replicas: 2,
    restartToken: undefined
  }
  pods: Array<Pod> = []
  sessions: Array<Changing<WantedSession>> = []
  configuration: ObservedConfiguration = { _tag: "Known", digest: "one", sources: [orders, bills], times }
  record: SplitRecord | undefined
  records = new Map<string, Changing<Omit<RecordedQueue, "state">>>()
  webhook: { readonly split: string | undefined; isCurrent: boolean } | undefined
  /** Other webhooks take the label away, or no operator answers ours. */
  isWebhookDown = false
  arePodsReady = true
  graceMillis = 20_000
  readonly broker = new Map<string, Array<Message>>()
  readonly originals = new Map<string, Array<Message>>()
  /** Queues that another cluster made. */
  readonly given = new Set<string>()
  readonly deleted = new Map<string, number>()
  readonly heldUntil = new Map<string, number>()
  /** Actions that fail for good, by the tag. */
  readonly denied = new Set<string>()
  isConsumed = true
  produced = 0
  readonly gone = new Map<number, "consumed" | "lost">()
  known = new Map<string, QueueState>()
  forwarders: Array<Forwarder> = []
  zombies: Array<Forwarder["batch"][number] & { readonly identity: string }> = []
  drains = new Map<string, DrainTarget>()
  failures = new Map<string, SplitFailure>()
  reported = new Map<string, string>()
  fencedUntil = 0
  readonly log: Array<SplitAction> = []
  #count = 0

  constructor() {
    this.tick()
    this.advance(5_000)
  }

  observe(): ObservedSplit {
    const { configuration, fencedUntil, heldUntil, pods, record, webhook, workload } = this
    const state = (name: string): QueueState => this.known.get(name) ?? { _tag: "Unknown" }
    return {
      workload: workload && { ...workload },
      pods: pods.map((pod) => ({ ...pod })),
      sessions: this.sessions.map((session) => ({ ...session })),
      queues: [...this.records.values()].map((queue) => ({ ...queue, state: state(queue.name) })),
      webhook: webhook === undefined ? "Absent" : (["Other", "Current"] as const)[this.#isCurrent() ? 1 : 0],
      forwarders: this.forwarders.map(({ batch, isStopping, table }) => ({
        table,
        isStopping,
        stillSendsTo: batch.flatMap(({ to }) => to)
      })),
      drains: [...this.drains].map(([queue, to]) => ({ queue, to })),
      given: new Map([...this.known].filter(([name]) => name.startsWith("given"))),
      reported: new Set(this.reported.keys()),
      failures: new Map(this.failures),
      queueName: ({ name }, role, seed) =>
        name.length > 70 ? Result.fail(`${name} is too long`) : Result.succeed(`tmp-${role}-${seed}`),
      ...{ configuration, fencedUntil, heldUntil, record }
    }
  }

  #isCurrent = (): boolean => this.webhook?.isCurrent === true && this.webhook.split === this.record?.uid

  plan(): ReadonlyArray<SplitAction> {
    const plan = splitPlan(this.observe(), this.now)
    const count = (fits: (action: SplitAction) => boolean) => plan.filter(fits).length
    if (count(({ _tag }) => _tag === "WriteRecord" || _tag === "DeleteRecord") > 1) throw new Error("two writes")
    for (const { uid } of this.sessions)
      if (count((one) => one._tag === "WriteStatus" && one.uid === uid) > 1) throw new Error("two statuses")
    for (const one of plan) if (one._tag === "RequeueAt" && one.at <= this.now) throw new Error("requeue in the past")
    if (count(({ _tag }) => _tag === "RequeueAt") > 1) throw new Error("two times")
    return plan
  }

  /** Carries one plan out. `fate` may lose or repeat an action, or end the process after it. */
  turn(fate: () => "do" | "lose" | "repeat" | "crash" = () => "do"): ReadonlyArray<SplitAction> {
    const plan = this.plan().filter(({ _tag }) => _tag !== "RequeueAt")
    for (const action of plan) {
      const chosen = fate()
      if (chosen !== "lose") this.perform(action)
      if (chosen === "repeat") this.perform(action)
      if (chosen === "crash") {
        this.crash()
        break
      }
    }
    return plan
  }

  /** Plans until nothing is left to do now. */
  settle(): void {
    for (let turn = 0; turn < 40; turn++) if (this.turn().length === 0) return
    throw new Error(
      `no rest: ${JSON.stringify(this.plan(), (_, value) => (typeof value === "bigint" ? `${value}` : value))}`
    )
  }

  /** Lets time pass, with a look whenever the plan asks for one. */
  advance(millis: number): void {
    const end = this.now + millis
    for (let looks = 0; looks < 5_000; looks++) {
      this.settle()
      const [look] = this.plan().flatMap((one) => (one._tag === "RequeueAt" ? [one.at] : []))
      const steps = [
        look ?? end,
        ...this.pods.map(({ goneAt }) => goneAt),
        this.now + (end - this.now > 7_200_000 ? 1_200_000 : 5_000)
      ]
      this.now = Math.min(end, ...steps.filter((at) => at > this.now))
      this.tick()
      this.settle()
      if (this.now >= end) return
    }
    throw new Error("too many looks")
  }

  crash(): void {
    for (const { batch, table } of this.forwarders)
      this.zombies.push(...batch.map((one) => ({ ...one, identity: table.source.identity })))
    this.forwarders = []
    this.drains.clear()
    this.known.clear()
    this.failures.clear()
    this.reported.clear()
    this.fencedUntil = this.now + fence
  }

  start(tag: number, change: Partial<WantedSession> = {}): Changing<WantedSession> {
    const uid = `${tag}-${++this.#count}`
    const modes = new Map([["orders", "steal" as const]])
    const session = {
      uid,
      id: BigInt(this.#count),
      startedAt: this.now,
      modes,
      problem: undefined,
      isEnding: false,
      ...change
    }
    const wanted = { queues: { _tag: "Own" as const }, phase: undefined, ...session }
    this.sessions.push(wanted)
    return wanted
  }

  vanish(uid: string): void {
    this.sessions = this.sessions.filter((session) => session.uid !== uid)
  }

  /** A session that is ready, with all that it needs. */
  ready(tag: number, change: Partial<WantedSession> = {}): Changing<WantedSession> {
    const session = this.start(tag, change)
    this.advance(60_000)
    if (session.phase !== "ready") throw new Error(`session is ${session.phase}`)
    return session
  }

  produce(identity: string, tag: number): void {
    const queue = this.originals.get(identity) ?? []
    this.originals.set(identity, [...queue, { id: this.produced++, tag }])
  }

  /** One step of everything beside the operator. */
  tick(): void {
    this.#rollOut()
    this.#forward()
    for (const [name, to] of this.drains) {
      const messages = this.broker.get(name)?.splice(0, 2) ?? []
      if (to._tag === "Original")
        this.originals.set(to.source.identity, [...(this.originals.get(to.source.identity) ?? []), ...messages])
      else this.#send(to.name, messages)
    }
    for (const [uid, until] of this.heldUntil)
      for (const { name, owner } of this.records.values())
        if (owner._tag === "Session" && owner.session === uid && this.now < until && this.deleted.has(name))
          throw new Error("deleted under another cluster")
    if (this.isConsumed) this.#consume()
  }

  #rollOut(): void {
    const { workload } = this
    this.pods = this.pods.filter(({ goneAt }) => goneAt > this.now)
    for (const pod of this.pods) pod.isReady = !pod.isTerminating && this.arePodsReady && this.now >= pod.bornAt + 3_000
    const lasting = this.pods.filter(({ isTerminating }) => !isTerminating)
    const wanted = workload?.replicas ?? 0
    for (const pod of lasting.slice(wanted)) this.#terminate(pod)
    for (let have = lasting.length; have < wanted; have++) this.bear()
  }

  bear(): void {
    const patchedBy = this.isWebhookDown ? undefined : this.webhook?.split
    for (const { name, owner } of this.records.values())
      if (owner._tag === "Main" && owner.split === patchedBy && this.deleted.has(name))
        throw new Error("pod with a deleted queue")
    this.pods.push({
      patchedBy,
      isReady: false,
      isTerminating: false,
      bornAt: Math.floor(this.now / 1_000) * 1_000,
      goneAt: Infinity
    })
  }

  #terminate(pod: Pod): void {
    pod.isTerminating = true
    pod.goneAt = this.now + this.graceMillis
  }

  replacePods(bornBefore = Infinity): void {
    for (const pod of this.pods) if (!pod.isTerminating && pod.bornAt <= bornBefore) this.#terminate(pod)
    this.#rollOut()
  }

  #send(name: string, messages: ReadonlyArray<Message>): void {
    if (this.deleted.has(name)) throw new Error(`sent to ${name}, which was deleted`)
    // Another cluster's session reads it.
    if (this.given.has(name)) return this.#take(messages)
    const queue = this.broker.get(name)
    if (queue === undefined) throw new Error(`sent to ${name}, which is not there`)
    queue.push(...messages)
  }

  #forward(): void {
    for (const { identity, message, to } of this.zombies.splice(0)) {
      if (this.now >= this.fencedUntil) this.originals.get(identity)?.unshift(message)
      else for (const name of to) this.#send(name, [message])
    }
    for (const forwarder of this.forwarders) {
      const { isStopping, table } = forwarder
      for (const { message, to } of forwarder.batch) for (const name of to) this.#send(name, [message])
      const received = isStopping ? [] : (this.originals.get(table.source.identity)?.splice(0, 3) ?? [])
      forwarder.batch = received.map((message) => {
        const wanting = table.routes.filter(({ uid }) => uid.startsWith(`${message.tag}-`))
        const taker = wanting.find(({ mode }) => mode === "steal")?.queue ?? table.main
        return { message, to: [taker, ...wanting.flatMap(({ mode, queue }) => (mode === "mirror" ? [queue] : []))] }
      })
    }
    this.forwarders = this.forwarders.filter(({ batch, isStopping }) => !isStopping || batch.length > 0)
  }

  #take(messages: ReadonlyArray<Message> = []): void {
    for (const { id } of messages) {
      if (this.gone.has(id)) throw new Error(`message ${id} was consumed twice`)
      this.gone.set(id, "consumed")
    }
  }

  #consume(): void {
    for (const { name, owner } of this.records.values()) {
      const isServed =
        owner._tag === "Session" && this.sessions.some(({ phase, uid }) => uid === owner.session && phase === "ready")
      if (isServed && owner.mode === "steal") this.#take(this.broker.get(name)?.splice(0, 3))
    }
    for (const { patchedBy } of this.pods) {
      if (patchedBy === undefined) for (const queue of this.originals.values()) this.#take(queue.splice(0, 3))
      for (const { name, owner } of this.records.values())
        if (owner._tag === "Main" && owner.split === patchedBy) this.#take(this.broker.get(name)?.splice(0, 3))
    }
  }

  #fail(action: SplitAction, isLasting: boolean): void {
    this.failures.set(actionKey(action), { at: this.now, isLasting, code: 500, message: `${action._tag} was denied.` })
  }

  perform(action: SplitAction): void {
    this.log.push(action)
    if (this.denied.has(action._tag)) return this.#fail(action, true)
    this.failures.delete(actionKey(action))
    switch (action._tag) {
      case "RecordSplit": {
        const { digest, since, sources, times: given } = action
        const uid = `split-${++this.#count}`
        const precondition = { uid, resourceVersion: "1" }
        this.record ??= {
          uid,
          digest,
          since,
          sources,
          times: given,
          phase: "Starting",
          restart: undefined,
          precondition
        }
        return
      }
      case "WriteRecord":
      case "DeleteRecord":
        return this.#write(action)
      case "WriteStatus":
        return this.#writeStatus(action)
      case "PutWebhook": {
        const mains = [...this.records.values()].filter(
          ({ owner }) => owner._tag === "Main" && owner.split === this.record?.uid
        )
        if (!mains.every(({ name }) => this.broker.has(name))) throw new Error("pods get a queue that is not there")
        this.webhook = { split: this.record?.uid, isCurrent: true }
        return
      }
      case "RemoveWebhook":
        this.webhook = undefined
        return
      case "RestartWorkload":
        if (this.workload === undefined || this.workload.restartToken === action.token) return
        this.workload.restartToken = action.token
        return this.replacePods(action.bornBefore)
      case "StartForwarding": {
        const { identity } = action.table.source
        const running = this.forwarders.find(({ table }) => table.source.identity === identity)
        if (running === undefined) this.forwarders.push({ table: action.table, isStopping: false, batch: [] })
        else Object.assign(running, { table: action.table, isStopping: false })
        return
      }
      case "StopForwarding":
        for (const one of this.forwarders)
          if (one.table.source.identity === action.source.identity) one.isStopping = true
        this.forwarders = this.forwarders.filter(({ batch, isStopping }) => !isStopping || batch.length > 0)
        return
      case "Report":
        this.reported.set(action.key, action.message)
        return
      default:
        return this.#performOnQueue(action)
    }
  }

  #write(action: SplitAction & { readonly _tag: "WriteRecord" | "DeleteRecord" }): void {
    const { record } = this
    if (
      record?.precondition.uid !== action.precondition.uid ||
      record.precondition.resourceVersion !== action.precondition.resourceVersion
    )
      return
    if (action._tag === "DeleteRecord") {
      const isClean = this.webhook === undefined && !this.pods.some(({ patchedBy }) => patchedBy === record.uid)
      if (!isClean || this.forwarders.length > 0) throw new Error("the split was forgotten while it acts")
      this.record = undefined
      return
    }
    if (
      action.change.phase === "Draining" &&
      this.forwarders.length + this.zombies.length > 0 &&
      this.now < this.fencedUntil
    )
      throw new Error("drained while forwarding")
    const resourceVersion = String(Number(record.precondition.resourceVersion) + 1)
    this.record = { ...record, ...action.change, precondition: { uid: record.uid, resourceVersion } }
  }

  #writeStatus({ status, uid }: SplitAction & { readonly _tag: "WriteStatus" }): void {
    const session = this.sessions.find((one) => one.uid === uid)
    if (session === undefined) return
    session.phase = status.phase
    if (!("resources" in status)) return
    const sources = this.record?.sources ?? []
    const named = status.resources.map((resource) => resource.source.identity)
    const isWhole = session.queues._tag === "Given" || sources.every(({ identity }) => named.includes(identity))
    if (!isWhole || status.resources.some(({ queue, source: { name } }) => queue === name))
      throw new Error("the program would read an original")
    if (status.phase !== "ready") return
    for (const { queue, source: from } of status.resources) {
      if (!this.broker.has(queue) && !this.given.has(queue)) throw new Error("ready without a queue")
      const wants = from.ids.some((id) => session.modes.has(id))
      const routes = this.forwarders.flatMap(({ table }) => table.routes)
      if (wants && !routes.some((route) => route.uid === uid && route.queue === queue))
        throw new Error("ready without a route")
    }
  }

  #performOnQueue(action: SplitAction): void {
    const name = "name" in action ? action.name : ""
    switch (action._tag) {
      case "RecordQueue": {
        const { owner, source: from } = action
        if (owner._tag === "Session" && this.sessions.find(({ uid }) => uid === owner.session)?.queues._tag === "Given")
          throw new Error("made a queue that another cluster makes")
        if (!this.records.has(name)) this.records.set(name, { name, owner, source: from, quietSince: undefined })
        if (!this.broker.has(name)) this.known.set(name, { _tag: "Absent" })
        return
      }
      case "CreateQueue":
        if (!this.records.has(name)) throw new Error("created before it was recorded")
        if (this.now < (this.deleted.get(name) ?? 0) + 60_000) return this.#fail(action, false)
        if (!this.broker.has(name)) this.broker.set(name, [])
        this.deleted.delete(name)
        this.known.set(name, { _tag: "Present", counts: [] })
        return
      case "ReadQueue": {
        const { queue } = action
        const before = this.known.get(queue)
        const messages = this.broker.get(queue)?.length ?? (this.given.has(queue) ? 0 : undefined)
        const counts = before?._tag === "Present" ? before.counts : []
        this.known.set(
          queue,
          messages === undefined
            ? { _tag: "Absent" }
            : { _tag: "Present", counts: [...counts, { at: this.now, messages }] }
        )
        return
      }
      case "QuietQueue": {
        const record = this.records.get(name)
        if (record !== undefined) record.quietSince = action.at
        return
      }
      case "DrainQueue":
        if (this.broker.has(action.queue)) this.drains.set(action.queue, action.to)
        return
      case "StopDrain":
        this.drains.delete(action.queue)
        return
      case "DeleteQueue":
        return this.#delete(name)
      case "ForgetQueue":
        if (this.broker.has(name)) throw new Error("a queue without a record")
        this.records.delete(name)
        return
      default:
    }
  }

  #delete(name: string): void {
    const { owner } = this.records.get(name) ?? {}
    const messages = this.broker.get(name)
    if (owner === undefined) throw new Error("deleted a queue of others")
    if (messages === undefined) return
    if (owner._tag === "Main" && this.pods.some(({ patchedBy }) => patchedBy === owner.split))
      throw new Error("deleted under a pod")
    const isSent = [...this.zombies, ...this.forwarders.flatMap(({ batch }) => batch)].some(({ to }) =>
      to.includes(name)
    )
    if (isSent && this.now < this.fencedUntil) throw new Error("deleted under a send")
    const isCopies = owner._tag === "Session" && owner.mode === "mirror"
    const told = Number(/^\d+/u.exec(this.reported.get(`Lost ${name}`) ?? "0")?.[0])
    if (!isCopies && told !== messages.length) throw new Error(`${messages.length} messages lost, ${told} reported`)
    if (!isCopies) for (const { id } of messages) this.gone.set(id, "lost")
    this.broker.delete(name)
    this.drains.delete(name)
    this.deleted.set(name, this.now)
    this.known.set(name, { _tag: "Absent" })
  }

  /** Ids of messages that are somewhere, or were consumed or lost. */
  accounted(): ReadonlyArray<number> {
    const batches = [...this.zombies, ...this.forwarders.flatMap(({ batch }) => batch)].map(({ message }) => message)
    const mirrors = [...this.records.values()].filter(
      ({ owner }) => owner._tag === "Session" && owner.mode === "mirror"
    )
    const copies = new Set(mirrors.map(({ name }) => name))
    const queues = [...this.broker].flatMap(([name, queue]) => (copies.has(name) ? [] : queue))
    const here = [...[...this.originals.values()].flat(), ...queues, ...batches].map(({ id }) => id)
    return [...here, ...this.gone.keys()].toSorted((a, b) => a - b)
  }
}
