/**
 * The playground's story of queues: a session over all clusters gets its messages of the queues that the workloads
 * read. Each cluster has a queue of its own. The story of all else in a session is `../story.ts`.
 */

import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { asArray, asString } from "../../../src/domain/json.ts"
import { splitSessions } from "../../../src/domain/queues/stored-session.ts"
import { splitPatches } from "../../../src/domain/queues/stored-split.ts"
import { mutatingWebhookConfigurations } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import type { ResourceDescriptor } from "../../../src/domain/resources/resource-descriptor.ts"
import { parentName } from "../../../src/domain/sessions/names.ts"
import type { ClientFailed } from "../../client/client-failed.ts"
import { seen } from "../awaited.ts"
import type { AnyPlayground, AnyRunningCluster } from "../local-cluster.ts"
import { workloadNamespace } from "../manifests.ts"
import type { Reporter } from "../reporter.ts"
import { openStorySession } from "../story-session.ts"
import { demand, failed, reportedStep } from "../story-steps.ts"
import { type AddressedMessage, askSqs, putMessages, takeMessages } from "./ask-sqs.ts"
import {
  configureSplit,
  consumerPath,
  consumerPods,
  consumerTarget,
  queueId,
  sessionQueue,
  startConsumer,
  takenInto
} from "./consumer.ts"
import { type ReadBy, readDifferences } from "./read-differences.ts"

export interface QueueStory {
  readonly playground: AnyPlayground
  /** URL of the server of queues. */
  readonly endpoint: string
  /** Folder for what the workloads read. */
  readonly directory: string
}

/** A cluster with the workload, the name of its queue, and the file with what it reads. */
interface Consumer {
  readonly running: AnyRunningCluster
  readonly name: string
  readonly queue: string
  readonly taken: string
}

interface Scene extends QueueStory {
  readonly consumers: ReadonlyArray<Consumer>
  /** The bodies that the session's program has read. */
  readonly bySession: Array<string>
  /** Why that program has ended too early; none while it is well. */
  readonly problems: Array<string>
}

const sessionReader = "session"
const user = "ann"
const filter = { to: `^${user}$` }
/** The same session for mirrord's own client, as its configuration. */
export const queueConfiguration = {
  target: { path: consumerPath, namespace: workloadNamespace },
  feature: { fs: "local", split_queues: { [queueId]: { queue_type: "SQS", message_filter: filter } } }
}
/** Messages of each queue, of which each tenth is for the session's user. */
const perQueue = 5_000
const later = 50
const senders = 2
/** Seconds that the workloads may take to read what is left in their temporary queues. */
const drainTimeout = 5

const attempt = <A>(what: string, run: () => Promise<A>): Effect.Effect<A, ClientFailed> =>
  Effect.tryPromise({ try: run, catch: (cause) => failed(`${what}: ${String(cause)}`) })

const sceneOf = (story: QueueStory): Scene => ({
  ...story,
  consumers: story.playground.clusters
    .filter(({ description }) => description.hasWorkload)
    .map((running) => {
      const { name } = running.description
      return { running, name, queue: `orders-${name}`, taken: join(story.directory, `taken-${name}`) }
    }),
  bySession: [],
  problems: []
})

const isOriginal = ({ queue, running }: Consumer): boolean => {
  const [pod, ...others] = consumerPods(running.cluster)
  return others.length === 0 && pod?.isReady === true && pod.queue === queue && !pod.isPatched
}

/** The temporary queue of the workload's one pod; `undefined` while there is none, or another pod. */
const mainQueue = ({ running }: Consumer): string | undefined => {
  const [pod, ...others] = consumerPods(running.cluster)
  return others.length === 0 && pod?.isReady === true && pod.isPatched ? pod.queue : undefined
}

const podsInWords = (consumers: ReadonlyArray<Consumer>): string =>
  consumers
    .flatMap(({ name, running }) =>
      consumerPods(running.cluster).map(
        ({ isReady, queue }) => `${name}: a pod with ${queue}${isReady ? "" : " that is not ready"}`
      )
    )
    .join("; ")

/** Makes the queues, and starts their readers. The primary gives its configuration to the members. */
const startConsumers = ({ consumers, endpoint, playground }: Scene) =>
  Effect.gen(function* () {
    for (const { queue, running, taken } of consumers) {
      yield* attempt("a queue cannot be made", () => askSqs(endpoint, "CreateQueue", { QueueName: queue }))
      yield* attempt("the workload cannot be made", () =>
        startConsumer(running.cluster, { endpoint, name: queue }, taken)
      )
    }
    yield* attempt("the split cannot be configured", () => configureSplit(playground.primary.cluster, { drainTimeout }))
    yield* seen(
      "the start of the consumers",
      Effect.sync(() => consumers.every(isOriginal) || undefined),
      () => podsInWords(consumers)
    )
    return { endpoint, queues: Object.fromEntries(consumers.map(({ name, queue }) => [name, queue])) }
  })

/** The local process of the session. It reads until the scope ends, and what its last call finds as well. */
const readAsSession = (
  { bySession, endpoint, problems }: Scene,
  name: string
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.sync(() => {
        const over = new AbortController()
        const took = takeMessages({ endpoint, name }, (body) => void bySession.push(body), over.signal)
        return { over, ended: took.catch((cause: unknown) => void problems.push(String(cause))) }
      }),
      ({ ended, over }) =>
        Effect.andThen(
          Effect.sync(() => over.abort()),
          Effect.promise(() => ended)
        )
    )
  )

const openSession = (scene: Scene) =>
  Effect.gen(function* () {
    const { consumers, playground } = scene
    const parameters = { sqs_splits: JSON.stringify({ [queueId]: filter }) }
    const { client, id } = yield* openStorySession(playground, { target: consumerTarget, parameters })
    const queue = yield* sessionQueue(client)
    yield* demand(queue.startsWith("mirrord-tmp-"), `QUEUE of the session is ${queue}, wanted a temporary queue`)
    yield* readAsSession(scene, queue)
    yield* seen(
      "the consumers with temporary queues alone",
      Effect.sync(() => consumers.every((one) => mainQueue(one) !== undefined) || undefined),
      () => podsInWords(consumers)
    )
    return {
      session: parentName(id),
      queue,
      mains: Object.fromEntries(consumers.map((one) => [one.name, mainQueue(one)]))
    }
  })

/** The messages `from` to `from + count` of a cluster's queue. */
const messages = ({ name }: Consumer, from: number, count: number): ReadonlyArray<AddressedMessage> =>
  Array.from({ length: count }, (_, index) => {
    const number = from + index
    return { body: `${name}/${number}`, to: number % 10 === 0 ? user : "another" }
  })

const send = ({ consumers, endpoint }: Scene, from: number, count: number) =>
  Effect.forEach(
    consumers.flatMap((consumer) =>
      Array.from({ length: senders }, (_, index) => ({
        name: consumer.queue,
        part: messages(consumer, from + (index * count) / senders, count / senders)
      }))
    ),
    ({ name, part }) => attempt("messages cannot be sent", () => putMessages({ endpoint, name }, part)),
    { concurrency: "unbounded", discard: true }
  )

const readBy = ({ bySession, consumers }: Scene): ReadBy =>
  new Map([[sessionReader, bySession], ...consumers.map(({ name, taken }) => [name, takenInto(taken)] as const)])

/** Waits until each message is read, and fails where a reader alone has what is another's. */
const readAll = (scene: Scene, wanted: ReadBy) =>
  seen(
    "the reading of all messages",
    Effect.suspend(() => {
      const { problems } = scene
      if (problems.length > 0) return Effect.fail(failed(`the session's program ended: ${problems.join("; ")}`))
      const { again, lacking, own, strange } = readDifferences(wanted, readBy(scene))
      if (strange.length > 0) return Effect.fail(failed(strange.join("; ")))
      return Effect.succeed(lacking > 0 ? undefined : { read: own, again })
    }),
    () => {
      const { lacking, own } = readDifferences(wanted, readBy(scene))
      return `${JSON.stringify(own)}, ${lacking} left`
    }
  )

const bodies = (all: ReadonlyArray<AddressedMessage>): ReadonlyArray<string> => all.map(({ body }) => body)
/** The readers of the first messages, which are split. */
const firstReaders = ({ consumers }: Scene): ReadBy => {
  const all = consumers.map((one) => [one.name, messages(one, 0, perQueue)] as const)
  return new Map([
    [sessionReader, all.flatMap(([, own]) => bodies(own.filter(({ to }) => to === user)))],
    ...all.map(([name, own]) => [name, bodies(own.filter(({ to }) => to !== user))] as const)
  ])
}

const splitMessages = (scene: Scene) =>
  Effect.gen(function* () {
    const [, read] = yield* Effect.all([send(scene, 0, perQueue), readAll(scene, firstReaders(scene))], {
      concurrency: "unbounded"
    })
    return { sent: perQueue * scene.consumers.length, ...read }
  })

/** The readers of all messages: the later ones go to the workloads, also those that match the session's filter. */
const allReaders = (scene: Scene): ReadBy => {
  const readers = new Map(firstReaders(scene))
  for (const one of scene.consumers)
    readers.set(one.name, [...(readers.get(one.name) ?? []), ...bodies(messages(one, perQueue, later))])
  return readers
}

const sendLater = (scene: Scene) =>
  Effect.gen(function* () {
    yield* send(scene, perQueue, later)
    return { sent: later * scene.consumers.length, ...(yield* readAll(scene, allReaders(scene))) }
  })

/** Waits until nothing is left of what `look` finds. */
const gone = (what: string, look: () => Effect.Effect<ReadonlyArray<string>, ClientFailed>) => {
  let left: ReadonlyArray<string> = []
  return seen(
    what,
    Effect.map(Effect.suspend(look), (found) => {
      left = found
      return found.length === 0 ? true : undefined
    }),
    () => `left: ${left.join(", ")}`
  )
}

const objects = (
  { playground }: Scene,
  kinds: ReadonlyArray<Pick<ResourceDescriptor<unknown>, "group" | "version" | "kind" | "plural">>
) =>
  playground.clusters.flatMap(({ cluster, description }) =>
    kinds.flatMap(({ group, kind, plural, version }) =>
      cluster.store
        .list({ group, version, resource: plural }, {})
        .items.map(({ metadata }) => `${description.name}: ${kind} ${metadata.name ?? ""}`)
    )
  )

/** The client's connection is closed: the session ends, and its splits with it. */
const restore = (scene: Scene) =>
  Effect.gen(function* () {
    const kinds = [mirrordMultiClusterSessions, mirrordClusterSessions, mutatingWebhookConfigurations, splitPatches]
    yield* gone("the end of the splits", () =>
      Effect.sync(() => [
        ...objects(scene, kinds),
        ...scene.consumers.filter((one) => !isOriginal(one)).map((one) => podsInWords([one]))
      ])
    )
    return { queues: Object.fromEntries(scene.consumers.map(({ name, queue }) => [name, queue])) }
  })

const temporaryQueues = ({ consumers, endpoint }: Scene) =>
  attempt("queues cannot be listed", async () => {
    const { QueueUrls } = await askSqs(endpoint, "ListQueues", {})
    const names = asArray(QueueUrls).map((url) => asString(url)?.split("/").at(-1) ?? "")
    return names.filter((name) => !consumers.some(({ queue }) => queue === name))
  })

/**
 * The main queues end last. The session's own stays as long as a cluster that is away might send to it.
 */
const deleteMainQueues = (scene: Scene) =>
  Effect.gen(function* () {
    yield* gone("the end of the main queues", () =>
      Effect.map(temporaryQueues(scene), (names) => [
        ...names.filter((name) => name.includes("-main-")),
        ...objects(scene, [splitSessions])
      ])
    )
    return { ...(yield* readAll(scene, allReaders(scene))), stays: yield* temporaryQueues(scene) }
  })

/** Plays one session from its start until nothing is left of it, and reports one step after the other. */
export const playQueueStory = (story: QueueStory, reporter: Reporter): Effect.Effect<void> =>
  Effect.gen(function* () {
    const step = reportedStep(reporter)
    const scene = sceneOf(story)
    yield* step("consumers", startConsumers(scene))
    yield* Effect.scoped(
      Effect.gen(function* () {
        yield* step("split", openSession(scene))
        yield* step("messages", splitMessages(scene))
      })
    )
    yield* reporter.say("  … the client has closed its connection; queues count as empty after a minute")
    yield* step("restored", restore(scene))
    yield* step("messages-later", sendLater(scene))
    yield* step("main-queues-deleted", deleteMainQueues(scene))
  }).pipe(Effect.ignore)
