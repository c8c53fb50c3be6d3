/** A primary with the members `a` (default) and `b`, whose workloads read SQS, and a user who splits queues. */

import { Clock, Effect, Exit, Fiber, Result, Scope } from "effect"
import { MemoryQueues } from "../../../lab/queues/memory-queues.ts"
import { RandomStream } from "../../../lab/simulation/kernel/random-stream.ts"
import { makeConfigurationSource } from "../../../src/app/fleet/configuration-source.ts"
import { clientMessage } from "../../../src/domain/protocol/client-message.ts"
import type { DaemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import type { PatchOperation } from "../../../src/domain/queues/pod-patch.ts"
import type { CopyTarget } from "../../../src/domain/resources/copy-target.ts"
import { apiServices, deployments, namespaces, pods } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { mirrordSplitConfigs } from "../../../src/domain/resources/queues/mirrord-split-config.ts"
import type { MessageQueues } from "../../../src/ports/message-queues.ts"
import { ChangingFiles, documentsOf } from "../../support/changing-files.ts"
import { pass, request } from "../../support/connect-request.ts"
import { configurationOf } from "../../support/fleet.ts"
import { memberOf, startWorld } from "../../support/memory-session.ts"
import { type MemoryCluster, openConnection } from "../../support/memory-world.ts"
import { certificateOf } from "../../support/user-certificate.ts"
import { client } from "../policies/policed.ts"
import { SplitCluster } from "./split-cluster.ts"
import { configure, leftOf, put } from "./split-life.ts"
import { jq, noObjects } from "./split-world.ts"

export interface SplitFleetOptions {
  /** The queue that the workload of each cluster reads; `orders` unless given. */
  readonly queues?: Readonly<Record<string, string>>
  /** Further ids of queues that the workload of `b` reads; each is the name of its queue. */
  readonly more?: ReadonlyArray<string>
  /** Fields of the configuration of `a`. */
  readonly spec?: object
  /** The clusters that the fleet begins with. */
  readonly begins?: ReadonlyArray<string>
  /** Whether `b` has another account in another region. */
  readonly isElsewhere?: boolean
  /** The deeds that the credentials of `b` permit with queues of `a`'s account. */
  readonly allows?: (operation: string, name: string) => boolean
  /** The clusters where configurations are written. */
  readonly configured?: ReadonlyArray<string>
  /** The clusters whose operators split queues. */
  readonly splitting?: Iterable<string>
  readonly sessionTtlSecs?: number
}

/** The port for an operator that finds names in its own account, and URLs wherever they lead. */
const routed = (own: MemoryQueues, other: MemoryQueues, allows?: SplitFleetOptions["allows"]) => {
  const [here, there] = [own.port(), other.port(allows)]
  const of = (url: string): MessageQueues["Service"] => (url.startsWith(other.base) ? there : here)
  return {
    receive: (receive) => of(receive.url).receive(receive),
    sendBatch: (url, entries) => of(url).sendBatch(url, entries),
    deleteBatch: (url, entries) => of(url).deleteBatch(url, entries),
    urlOf: here.urlOf,
    attributes: (url) => of(url).attributes(url),
    tags: (url) => of(url).tags(url),
    create: (queue) => of(queue.beside).create(queue),
    delete: (url) => of(url).delete(url)
  } satisfies MessageQueues["Service"]
}

/** Asks the operator of a cluster about pods, as its API server does. */
const asking = (member: MemoryCluster) => (uid: string, review: object) => {
  if (member.operator === undefined) return []
  const answer = Effect.runSync(member.operator.reviewPod(uid, () => Effect.succeed(review))) as {
    readonly response: { readonly patch?: string }
  }
  const { patch } = answer.response
  return patch === undefined
    ? []
    : (JSON.parse(Buffer.from(patch, "base64").toString()) as ReadonlyArray<PatchOperation>)
}

export const sessionName = "mc-00000000000000ff"

/** Lets time pass when an operator that started before this is to end, which it does once its calls are answered. */
const answerAtEnd = Effect.addFinalizer(() => Effect.forkDetach(Effect.repeat(pass("1 second"), { times: 60 })))

/** Ends the operator of a cluster, while its last calls are answered. */
export const killOperator = Effect.fnUntraced(function* ({ world }: SplitFleet, member: MemoryCluster) {
  yield* Effect.forkDetach(world.kill(member))
  yield* passMinutes(0.5)
})

/** Ends the operator of a cluster, and starts the next one. */
export const restartOperator = Effect.fnUntraced(function* (fleet: SplitFleet, member: MemoryCluster) {
  yield* killOperator(fleet, member)
  yield* Effect.orDie(fleet.world.start(member))
  yield* answerAtEnd
  yield* passMinutes(0.2)
})

/** Lets minutes pass in small steps, between which everything may answer. */
export const passMinutes = (minutes: number) =>
  Effect.repeat(pass("2 seconds"), { times: Math.ceil((minutes * 60) / 2) - 1 })

/** A fleet whose clusters live. */
export const splitFleet = Effect.fnUntraced(function* ({
  allows,
  begins = ["a", "b"],
  configured = ["a", "b"],
  isElsewhere = false,
  more = [],
  queues = {},
  sessionTtlSecs = 60,
  spec,
  splitting = ["primary", "a", "b"]
}: SplitFleetOptions = {}) {
  const home = new MemoryQueues(new RandomStream("home"))
  const away = isElsewhere
    ? new MemoryQueues(new RandomStream("away"), "https://sqs.us-east-1.amazonaws.com/999999999999/")
    : home
  const ports = new Map([
    ["a", routed(home, away)],
    ["b", isElsewhere ? routed(away, home, allows) : home.port()]
  ])
  const times = { remoteSessionTimeoutSecs: 120, sessionTtlSecs }
  const files = new ChangingFiles(documentsOf(begins, times))
  const known = configurationOf(begins, times)
  const { certificate, world } = yield* startWorld(known, {
    configuration: yield* makeConfigurationSource(files, known),
    splitting: (cluster) =>
      [...splitting].includes(cluster)
        ? {
            settings: { lingerSeconds: 60, isolatesPods: false, waitsForPods: true },
            queues: ports.get(cluster) ?? home.port(() => false),
            jq,
            storedObjects: noObjects,
            endpoint: undefined
          }
        : undefined
  })
  const clock = yield* Clock.Clock
  for (const { trusted } of [world.primary, ...world.members.values()]) trusted.add("ann")
  for (const name of ["shop", "kube-system"]) world.primary.api.write(namespaces, name, {})
  const clusterOf = Effect.fnUntraced(function* (name: string, sqs: MemoryQueues) {
    const member = memberOf(world, name)
    const cluster = new SplitCluster(name, member.api, sqs, ports.get(name))
    const queue = queues[name] ?? "orders"
    member.api.erase(deployments, "myapp", "default")
    member.api.erase(pods, "myapp-1", "default")
    member.api.write(namespaces, "shop", {})
    member.api.write(apiServices, "v1.operator.metalbear.co", {
      spec: { service: { name: "mirrord-operator", namespace: "mirrord", port: 443 }, caBundle: "Y2E=" }
    })
    member.variables.set("ORDERS", queue)
    sqs.add(queue, queue.endsWith(".fifo") ? { FifoQueue: "true" } : {})
    const others = name === "b" ? more : []
    for (const other of others) sqs.add(other)
    const variables = others.map((other) => ({ name: other.toUpperCase(), value: other }))
    cluster.deploy("consumer", [{ name: "ORDERS", value: queue }, ...variables])
    cluster.operator = asking(member)
    if (configured.includes(name)) configure(cluster, "consumer", ["orders", ...others], name === "a" ? spec : {})
    yield* Effect.forkScoped(cluster.live(() => clock.currentTimeMillisUnsafe()))
    return { name, member, queue, split: cluster }
  })
  const a = yield* clusterOf("a", home)
  const b = yield* clusterOf("b", away)
  if (configured.includes("primary")) {
    const targetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "consumer" }
    const orders = { id: "orders", kind: "sqs", appConfig: { queue: [{ env: "ORDERS" }] } }
    const spec = { targetRef, queues: [orders], restart: { strategy: "standard" } }
    world.primary.api.write(mirrordSplitConfigs, "consumer", { spec }, "shop")
  }
  yield* passMinutes(0.2)
  yield* answerAtEnd
  const join = Effect.suspend(() => {
    files.write(documentsOf(["a", "b"], times))
    return passMinutes(1)
  })
  return { a, b, world, certificate, join }
})

export type SplitFleet = Effect.Success<ReturnType<typeof splitFleet>>
export type FleetMember = SplitFleet["a"]

/** Waits for an answer of an operator; gives also how many seconds that took. */
const answerOf = Effect.fnUntraced(function* <A, E>(asking: Effect.Effect<A, E, Scope.Scope>) {
  const fiber = yield* Effect.forkScoped(Effect.result(asking), { startImmediately: true })
  let secs = 0
  for (; secs < 400 && fiber.pollUnsafe() === undefined; secs++) yield* pass("1 second")
  if (fiber.pollUnsafe() === undefined) throw new Error("the operator did not answer")
  return { secs, result: yield* Fiber.join(fiber) }
})

/** A copy of the target for a user's sessions, and the cluster whose operator is asked. */
export interface SplitCopy {
  readonly at: MemoryCluster
  readonly certificate: string
  readonly name: string
  readonly sessionId?: string
}

const splitSpec = {
  target: { deployment: "consumer", container: null },
  idle_ttl: 30,
  scale_down: false,
  split_queues: { orders: { queue_type: "SQS", message_filter: { to: "^ann$" } } }
}

/** Posts a copy of the target, and waits until it is ready, as the client does. */
export const copy = Effect.fnUntraced(function* ({ world }: SplitFleet, spec: object = {}, at = world.primary) {
  const certificate = yield* certificateOf(at)
  const asked = { ...request(certificate), namespace: "shop", body: { spec: { ...splitSpec, ...spec } } }
  const { operator } = at
  if (operator === undefined) return yield* Effect.die("no operator")
  const { result } = yield* answerOf(operator.createCopyTarget(asked))
  if (Result.isFailure(result)) return Result.fail(result.failure)
  const { metadata } = result.success as CopyTarget
  for (let tries = 0; tries < 60; tries++) {
    const { result: made } = yield* answerOf(operator.copyTarget("shop", metadata.name, asked.caller))
    if (Result.isSuccess(made) && (made.success as CopyTarget).status.phase !== "InProgress") break
    yield* pass("1 second")
  }
  return Result.succeed<SplitCopy>({ at, certificate, name: metadata.name })
})

/** Connects to the target, or to a copy of it, whose splits the connect does not name. */
export const connect = Effect.fnUntraced(function* (
  { certificate, world }: SplitFleet,
  params: object = {},
  copied?: SplitCopy,
  newId = "255"
) {
  const split = copied === undefined ? { sqs_splits: JSON.stringify({ orders: { to: "^ann$" } }) } : {}
  const query = new URLSearchParams({ connect: "true", key: "ann-key", ...split, ...params }).toString()
  const { name: target = "deployment.consumer", sessionId = newId } = copied ?? {}
  const isCopy = copied !== undefined
  const wanted = request(copied?.certificate ?? certificate, { namespace: "shop", query, target, sessionId, isCopy })
  const scope = yield* Scope.fork(yield* Effect.scope)
  const opening = openConnection(copied?.at ?? world.primary, wanted).pipe(Scope.provide(scope))
  return { ...(yield* answerOf(opening)), close: Scope.close(scope, Exit.void) }
})

/** The value of a variable of the target, as the user's program got it. */
export const variableIn = (got: ReadonlyArray<DaemonMessage>, name: string): string | undefined => {
  for (const message of got.toReversed())
    if (message._tag === "GetEnvVarsResponse" && message.value._tag === "Ok") return message.value.value.get(name)
  return undefined
}

/** A user whose session has begun, and whose program reads the queue that the operator named. */
export const begun = Effect.fnUntraced(function* (fleet: SplitFleet, params: object = {}, copied?: SplitCopy) {
  const { close, result, secs } = yield* connect(fleet, params, copied)
  if (Result.isFailure(result)) throw result.failure
  const channel = result.success
  const user = yield* client(channel)
  yield* user.say({
    _tag: "GetEnvVarsRequest",
    value: { envVarsFilter: new Set(), envVarsSelect: new Set(["*"]) }
  })
  const queue = variableIn(user.got, "ORDERS") ?? ""
  fleet.a.split.programs.set("ann", [queue])
  yield* Effect.forkScoped(
    Effect.forever(
      Effect.andThen(
        Effect.sleep(20_000),
        Effect.sync(() => channel.send(clientMessage.encode({ _tag: "Ping" })))
      )
    )
  )
  const leave = Effect.suspend(() => {
    channel.close()
    fleet.a.split.programs.delete("ann")
    return close
  })
  return { ...user, secs, queue, leave }
})

/** Producers put a message into the queue of a cluster. */
export const sendTo = ({ queue, split }: FleetMember, body: string, to: string) =>
  Effect.map(Clock.currentTimeMillis, (now) => put(split, body, to, now, queue))

/** The readers of messages with this beginning: the user's program, or pods of a cluster; in order of bodies. */
export const readBy = ({ a, b }: SplitFleet, start: string): ReadonlyArray<string> =>
  [a, b]
    .flatMap(({ name, split: { read } }) =>
      read.flatMap(({ body, by }) => (body.startsWith(start) ? [`${body}: ${by === "ann" ? by : name}`] : []))
    )
    .toSorted()

/** All that is left of sessions and splits. */
export const leftIn = ({ a, b, world }: SplitFleet): ReadonlyArray<string> => [
  ...world.primary.api.peekAll(mirrordMultiClusterSessions).map(({ metadata }) => metadata.name),
  ...[a, b].flatMap(({ member, name, queue, split }) => [
    ...member.api.peekAll(mirrordClusterSessions).map(({ metadata }) => metadata.name),
    ...leftOf(split).map((left) => `${name}: ${left}`),
    ...split.values("consumer").flatMap((value) => (value === queue ? [] : [`${name}: ${value}`]))
  ])
]

/** The rest of sessions and splits, a minute after there was none or after eleven minutes. */
export const leftAfter = Effect.fnUntraced(function* (fleet: SplitFleet) {
  for (let tries = 0; tries < 20 && leftIn(fleet).length > 0; tries++) yield* passMinutes(0.5)
  yield* passMinutes(1)
  return leftIn(fleet)
})
