/** Random stories of a split, under virtual time, and what they break of the rules about splits. */

import { Clock, Effect, Exit, Layer, Logger, Scope } from "effect"
import fc from "fast-check"
import { at } from "../../../src/domain/json.ts"
import { queueRecords } from "../../../src/domain/queues/stored-queue.ts"
import { deployments, pods } from "../../../src/domain/resources/core-kinds.ts"
import type { MirrordClusterSession } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordSplitConfigs } from "../../../src/domain/resources/queues/mirrord-split-config.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { pass } from "../../support/connect-request.ts"
import { virtualTime } from "../../support/virtual-time.ts"
import type { SplitCluster } from "./split-cluster.ts"
import {
  begin,
  clusterWith,
  configure,
  end,
  leftOf,
  makeSession,
  operate,
  put,
  shareQueues,
  type SharingReplica,
  wanted
} from "./split-life.ts"

/** The attribute `to` of messages. Cyd wants Bob's messages too, unless a program chooses. */
const names = ["ann", "bob", "cyd"] as const
const patterns = { ann: "^ann$", bob: "^bob$", cyd: "^(bob|cyd)$" } as const
type Name = (typeof names)[number]

const time = fc.integer({ min: 0, max: 40 })
const chance = (probability: number) => fc.constantFrom(0, probability)
/** An incident, and how many seconds then pass. Some of it lasts for `seconds`. */
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      _tag: fc.constant("Join" as const),
      name: fc.constantFrom(...names),
      mode: fc.constantFrom("steal" as const, "steal" as const, "mirror" as const),
      hasProgram: fc.boolean()
    })
  },
  { weight: 4, arbitrary: fc.record({ _tag: fc.constant("Leave" as const), name: fc.constantFrom(...names) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      _tag: fc.constantFrom("Kill" as const, "Deaf" as const, "Unreachable" as const),
      seconds: time
    })
  },
  { weight: 1, arbitrary: fc.record({ _tag: fc.constant("Scale" as const), replicas: fc.nat(3) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      _tag: fc.constantFrom(
        "Edit" as const,
        "Unconfigure" as const,
        "Configure" as const,
        "Rollout" as const,
        "Undeploy" as const,
        "Deploy" as const
      )
    })
  },
  {
    weight: 1,
    arbitrary: fc.record({
      _tag: fc.constant("Faults" as const),
      throttles: chance(0.3),
      outages: chance(0.3),
      partial: chance(0.2),
      conflicts: chance(0.3)
    })
  }
)

/** A story: a configuration, and incidents with the seconds that pass after each. */
export const splitStory = fc.record({
  isFifo: fc.boolean(),
  ids: fc.constantFrom(["orders"], ["orders", "refunds"]),
  /** The end and the restart of the split, as its configuration says them. */
  spec: fc.record(
    {
      drainTimeout: fc.constantFrom(0, 30),
      ttl: fc.constantFrom(0, 30),
      restart: fc.record({ strategy: fc.constantFrom("standard", "standard", "isolatePods") })
    },
    { requiredKeys: ["restart"] }
  ),
  seed: fc.string({ maxLength: 4 }),
  steps: fc.array(fc.tuple(step, time), { minLength: 1, maxLength: 14 })
})
export type SplitStory = typeof splitStory extends fc.Arbitrary<infer S> ? S : never
type Step = SplitStory["steps"][number][0]

/** The story of a number in the series of stories that planted mistakes are looked for with. */
export const splitStoryOf = (number: number): SplitStory => {
  const [story] = fc.sample(splitStory, { seed: number, numRuns: 1 })
  if (story === undefined) throw new Error(`there is no story ${number}`)
  return story
}

/** A rule about splits that a story broke: its id in docs/concepts/failures.md, and what happened. */
export interface BrokenRule {
  readonly id: "S-Q1" | "S-Q2" | "S-Q3" | "S-Q4" | "S-Q5" | "S-Q6" | "L-Q1" | "L-Q2"
  readonly detail: string
}

/** A session, as its user sees it. Times are epoch ms. */
interface Joined {
  readonly name: Name
  readonly session: MirrordClusterSession
  readonly mode: "steal" | "mirror"
  readonly hasProgram: boolean
  readonly at: number
  /** Whether its order was accepted; `undefined` while it is not answered. */
  isOrdered: boolean | undefined
  servedAt: number
  leftAt: number
}

const wants = ({ hasProgram, name }: Joined, to: string): boolean =>
  name === to || (!hasProgram && name === "cyd" && to === "bob")

class Player {
  readonly cluster: SplitCluster
  readonly story: SplitStory
  readonly joined: Array<Joined> = []
  readonly bodies: Array<{ readonly body: string; readonly to: string; readonly at: number }> = []
  readonly #broken = new Map<string, BrokenRule>()
  operator: Effect.Success<ReturnType<typeof operate>> | undefined
  readonly #isShared: boolean
  /** Where queues are shared: the replicas that run, the leader first. */
  readonly #replicas: Array<SharingReplica> = []
  #begun = 0
  isPutting = true
  conflicts = 0

  /** `isShared`: two replicas share the queues. */
  constructor(given: SplitStory, isShared: boolean) {
    this.story = given
    this.#isShared = isShared
    this.cluster = clusterWith(given)
    let random = 7
    this.cluster.api.before = ({ name, verb }) => {
      random = (random * 31 + 11) % 1_009
      const isWrite = verb === "patch" || verb === "create" || verb === "delete"
      if (!isWrite || random >= this.conflicts * 1_009) return Effect.void
      const reason = random % 2 === 0 ? "Conflict" : "Unreachable"
      return Effect.fail(new KubeError({ cluster: "here", operation: `${verb} ${name}`, reason, detail: "planted" }))
    }
  }

  /** Whether a reader is a session that gets copies alone. */
  mirrors(by: string): boolean {
    return this.joined.some(({ mode, session }) => session.metadata.name === by && mode === "mirror")
  }

  /** The broken rules that were seen, each once. */
  get broken(): ReadonlyArray<BrokenRule> {
    return [...this.#broken.values()]
  }

  #note(id: BrokenRule["id"], detail: string): void {
    this.#broken.set(detail, { id, detail })
  }

  /** The sessions that are there. */
  get sessions(): ReadonlyArray<Joined> {
    return this.joined.filter(({ leftAt }) => leftAt === Infinity)
  }

  /** One second: messages are put, programs begin to read, and users go whose sessions fail. */
  readonly tick = Effect.gen({ self: this }, function* () {
    const now = yield* Clock.currentTimeMillis
    const { cluster, operator, story } = this
    for (const id of this.isPutting ? story.ids : []) {
      const count = this.bodies.length
      const to = [...names, "none"][Math.floor(count / story.ids.length) % 4] ?? ""
      const body = `${id} ${to} ${count}`
      this.bodies.push({ body, to, at: now })
      put(cluster, body, to, now, id)
    }
    for (const one of operator === undefined ? [] : this.sessions) {
      const { name } = one.session.metadata
      if (one.isOrdered === false || (one.isOrdered === undefined && now > one.at + 60_000)) this.#leave(one, now)
      const requirement = one.isOrdered === true ? operator?.splits.requirement(one.session) : undefined
      if (requirement?._tag === "Failed") this.#leave(one, now)
      if (requirement?._tag !== "Met" || one.servedAt < Infinity) continue
      one.servedAt = now
      const values = [...(operator?.splits.variables(name).values() ?? [])]
      cluster.programs.set(name, values)
      if (values.length !== story.ids.length || !values.every((value) => value.startsWith("mirrord-tmp-")))
        this.#note("S-Q5", `${name} reads ${values.join()}`)
    }
    this.#look()
  })

  /** Every temporary queue has a record, and pods read what is there. */
  #look(): void {
    const { api, sqs } = this.cluster
    const records = api.peekAll(queueRecords).map((record) => String(at(record, "spec", "sqsQueue", "nameOrUrl")))
    const named = new Set(records.map((url) => url.split("/").at(-1)))
    for (const queue of sqs.names)
      if (queue.startsWith("mirrord-tmp-") && !named.has(queue)) this.#note("S-Q4", `${queue} has no record`)
    const values = this.story.ids.flatMap((id) => this.cluster.values("consumer", id.toUpperCase()))
    for (const value of values)
      if (!sqs.names.includes(value ?? "")) this.#note("S-Q5", `a pod reads ${value}, which is not there`)
    for (const overlap of this.#replicas.flatMap(({ overlaps }) => overlaps)) this.#note("S-Q6", overlap)
  }

  #leave(one: Joined, now: number): void {
    one.leftAt = now
    end(this.cluster, one.session.metadata.name)
  }

  readonly pass = Effect.fnUntraced({ self: this }, function* (this: Player, seconds: number) {
    for (let left = seconds; left > 0; left--) {
      yield* this.tick
      yield* pass("1 second")
    }
  })

  readonly operate = Effect.gen({ self: this }, function* () {
    while (this.#isShared && this.#replicas.length < 2)
      this.#replicas.push(yield* shareQueues(this.cluster, `replica-${this.#begun++}`))
    this.operator ??= yield* operate(this.cluster, this.#replicas[0])
  })

  /** An operator is killed: where queues are shared the leader or the other replica, which may also be stopped. */
  readonly #kill = Effect.fnUntraced({ self: this }, function* (this: Player, seconds: number) {
    const index = this.#isShared && seconds % 3 > 0 ? 1 : 0
    const [replica] = this.#replicas.splice(index, 1)
    if (index === 0) {
      this.operator?.process.kill()
      this.operator = undefined
    } else if (seconds % 3 === 1) replica?.process.kill()
    else if (replica !== undefined) yield* Effect.forkScoped(Scope.close(replica.scope, Exit.void))
  })

  /** Changes the Deployment if there is one. */
  change(spec: object): void {
    const { api } = this.cluster
    if (api.peek(deployments, "consumer", "shop") !== undefined) api.write(deployments, "consumer", { spec }, "shop")
  }

  deploy(): void {
    const { ids, isFifo } = this.story
    const env = ids.map((id) => ({ name: id.toUpperCase(), value: isFifo ? `${id}.fifo` : id }))
    if (this.cluster.api.peek(deployments, "consumer", "shop") === undefined) this.cluster.deploy("consumer", env)
  }

  readonly #join = Effect.fnUntraced({ self: this }, function* (this: Player, one: Extract<Step, { _tag: "Join" }>) {
    const { hasProgram, mode, name } = one
    if (this.sessions.some((other) => other.name === name) || this.operator === undefined) return
    const now = yield* Clock.currentTimeMillis
    const session = makeSession(this.cluster, this.joined.length.toString(16).padStart(16, "0"), now)
    const filter = hasProgram
      ? { attributes: {}, program: ` ${name} ` }
      : { attributes: { to: patterns[name] }, program: undefined }
    const split = wanted("", {
      filters: new Map(this.story.ids.map((id) => [id, filter])),
      modes: new Map(this.story.ids.map((id) => [id, mode]))
    })
    const rest = { at: now, isOrdered: undefined, servedAt: Infinity, leftAt: Infinity }
    const joined: Joined = { name, session, mode, hasProgram, ...rest }
    this.joined.push(joined)
    const answered = (isOrdered: boolean) => () => {
      joined.isOrdered = isOrdered
    }
    const order = this.operator.splits.order(session, split)
    yield* Effect.forkScoped(Effect.match(order, { onSuccess: answered(true), onFailure: answered(false) }))
  })

  /** Something is away for a while. */
  readonly #without = Effect.fnUntraced(
    { self: this },
    function* (this: Player, { _tag, seconds }: Extract<Step, { seconds: number }>) {
      const { cluster } = this
      const answers = cluster.operator
      cluster.operator = _tag === "Unreachable" ? answers : undefined
      cluster.api.setReachable(_tag !== "Unreachable")
      if (_tag === "Kill") yield* this.#kill(seconds)
      yield* this.pass(seconds)
      cluster.api.setReachable(true)
      cluster.operator = answers
      if (_tag === "Kill") yield* this.operate
    }
  )

  readonly play = Effect.fnUntraced({ self: this }, function* (this: Player, one: Step) {
    const { cluster, story } = this
    const now = yield* Clock.currentTimeMillis
    switch (one._tag) {
      case "Join":
        return yield* this.#join(one)
      case "Leave":
        for (const left of this.sessions) if (left.name === one.name) this.#leave(left, now)
        return
      case "Kill":
      case "Deaf":
      case "Unreachable":
        return yield* this.#without(one)
      case "Scale":
        return this.change({ replicas: one.replicas })
      case "Rollout":
        return this.change({ template: { metadata: { annotations: { at: String(now) } } } })
      case "Edit":
        return configure(cluster, "consumer", story.ids, {
          ...story.spec,
          tmpNameTemplate: `mirrord-tmp-${now}-{{RANDOM}}{{FALLBACK}}{{ORIGINAL}}`
        })
      case "Unconfigure":
        return cluster.api.erase(mirrordSplitConfigs, "consumer", "shop")
      case "Configure":
        return configure(cluster, "consumer", story.ids, story.spec)
      case "Undeploy":
        cluster.api.erase(deployments, "consumer", "shop")
        for (const { metadata } of cluster.pods("consumer")) cluster.api.erase(pods, metadata.name, "shop")
        return
      case "Deploy":
        return this.deploy()
      case "Faults": {
        const { conflicts, outages, partial, throttles } = one
        Object.assign(cluster.sqs.faults, { outages, partial, throttles })
        this.conflicts = conflicts
      }
    }
  })
}

/** Plays a story to its end, when all is well again and the sessions are over. */
const play = Effect.fnUntraced(function* (given: SplitStory, isShared: boolean) {
  const player = new Player(given, isShared)
  const { cluster } = player
  yield* begin(cluster)
  yield* player.operate
  for (const [one, seconds] of given.steps) {
    yield* player.play(one)
    yield* player.pass(seconds)
  }
  yield* player.play({ _tag: "Faults", throttles: 0, outages: 0, partial: 0, conflicts: 0 })
  player.deploy()
  player.change({ replicas: 2 })
  yield* player.play({ _tag: "Configure" })
  yield* player.pass(130)
  for (const name of names) yield* player.play({ _tag: "Leave", name })
  yield* player.pass(60)
  player.isPutting = false
  const isClean = () => leftOf(cluster).length === 0 && cluster.sqs.bodies.length === 0
  for (let left = 360; left > 0 && !isClean() && player.broken.length === 0; left--) {
    yield* player.tick
    yield* pass("10 seconds")
  }
  return player
})

/**
 * Messages that took another way than to one reader that wants them, as far as nothing in the story excuses it: those
 * that others got, and those that came twice.
 */
const strayed = ({ bodies, cluster, joined, story: { steps } }: Player): ReadonlyArray<BrokenRule> => {
  const has = (...tags: ReadonlyArray<Step["_tag"]>) => steps.some(([{ _tag }]) => tags.includes(_tag))
  const isWhole = !has("Kill", "Unreachable", "Faults")
  // Pods that are born while nobody answers read the originals.
  const isSteady = isWhole && !has("Deaf", "Scale", "Rollout", "Undeploy", "Deploy")
  const putAs = new Map(bodies.map((one) => [one.body, one]))
  const isSeen = new Set<string>()
  return cluster.read.flatMap(({ at: readAt, body, by }): ReadonlyArray<BrokenRule> => {
    const { at: putAt = 0, to = "" } = putAs.get(body) ?? {}
    const reader = joined.find(({ session }) => session.metadata.name === by)
    const detail = `${by} read ${body} at ${readAt}`
    if (reader !== undefined && !wants(reader, to)) return [{ id: "S-Q2", detail }]
    if (reader?.mode === "mirror") return []
    const isTwice = isWhole && isSeen.has(body)
    isSeen.add(body)
    const isTaken = joined.some(
      (one) => one.mode === "steal" && wants(one, to) && putAt > one.servedAt + 3_000 && readAt < one.leftAt
    )
    if (isSteady && reader === undefined && isTaken) return [{ id: "S-Q2", detail }]
    return isTwice ? [{ id: "S-Q3", detail }] : []
  })
}

/** Tells a story. Gives all that it broke, in the order in which it was seen. `isShared`: replicas share the queues. */
export const tellSplitStory = (given: SplitStory, isShared = false): Promise<ReadonlyArray<BrokenRule>> =>
  Effect.gen(function* () {
    const player = yield* play(given, isShared)
    const { bodies, broken, cluster } = player
    const isRead = new Set(cluster.read.filter(({ by }) => !player.mirrors(by)).map(({ body }) => body))
    const lost = bodies.filter(({ body }) => !isRead.has(body))
    const count = cluster.pods("consumer").length
    return [
      ...broken,
      ...strayed(player),
      ...lost.map(({ body }) => ({ id: "S-Q1", detail: `${body} was read by no program` }) as const),
      ...leftOf(cluster).map((name) => ({ id: "L-Q1", detail: `${name} is left` }) as const),
      ...(count === 2 ? [] : [{ id: "L-Q2", detail: `the workload has ${count} pods` } as const])
    ]
  }).pipe(Effect.scoped, Effect.provide([Layer.fresh(virtualTime), Logger.layer([])]), Effect.runPromise)
