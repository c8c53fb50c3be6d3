/**
 * The playground's story: one session through all clusters, played by the strict client of lab/client (not by mirrord's
 * own), step by step. It is real time and real sockets; the stories of virtual time are in `lab/simulation/story`.
 */

import { KubeConfig } from "@kubernetes/client-node"
import { Effect, Fiber, Random, type Scope } from "effect"
import { makeKubeApi } from "../../src/adapters/kubernetes/kube-api-http.ts"
import { asObjects, at } from "../../src/domain/json.ts"
import { sessions } from "../../src/domain/resources/session.ts"
import { parentName } from "../../src/domain/sessions/names.ts"
import type { SessionId } from "../../src/domain/sessions/session-id.ts"
import type { ClientFailed } from "../client/client-failed.ts"
import type { ClientEvent } from "../client/client-output.ts"
import { openSessionClient, type SessionClient } from "../client/session-client.ts"
import { awaited, type Hangs, seen } from "./awaited.ts"
import { joinFleet, leaveFleet, type Membership } from "./leave-and-join.ts"
import type { AnyPlayground, AnyRunningCluster, NetworksApart } from "./local-cluster.ts"
import { operatorNamespace, workloadNamespace } from "./manifests.ts"
import type { Reporter } from "./reporter.ts"
import { clientOptions, openStorySession } from "./story-session.ts"
import { demand, failed, reportedStep } from "./story-steps.ts"

/** The one session of the story, as its client sees it. */
interface Story {
  readonly playground: AnyPlayground
  readonly client: SessionClient
  readonly id: SessionId
  readonly defaultCluster: string
  readonly workloads: ReadonlyArray<AnyRunningCluster>
}

const target = "deployment.myapp"
const settingsFile = "/etc/myapp/settings.txt"
const tcpPort = 7000
const httpPort = 80
const utf8 = new TextEncoder()
const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

const request = (
  url: string,
  headers: Readonly<Record<string, string>> = {}
): Effect.Effect<string, ClientFailed | Hangs> =>
  awaited(
    `the answer to a request to ${url}`,
    Effect.tryPromise({
      try: async (signal) => (await fetch(url, { signal, headers: { ...headers, connection: "close" } })).text(),
      catch: (cause) => failed(`the request to ${url} failed: ${String(cause)}`)
    })
  )

/** Reads the environment as mirrord's command line does: on a short connection of its own. */
const readEnvironment = ({ defaultCluster, playground, id }: Story, certificate: string) =>
  Effect.gen(function* () {
    const cli = yield* openSessionClient({
      kubeconfigPath: playground.primary.cluster.kubeconfigPath,
      namespace: workloadNamespace,
      target,
      sessionId: id,
      certificate,
      client: clientOptions("cli")
    })
    const env = yield* cli.expect("the environment", (event) => (event._tag === "Env" ? event.result : undefined))
    if (env._tag === "Err") return yield* failed(`the environment is an error: ${env.error._tag}`)
    const cluster = env.value.get("CLUSTER")
    yield* demand(cluster === defaultCluster, `CLUSTER is ${cluster}, wanted ${defaultCluster}`)
    const foreign = [...env.value.keys()].filter((name) => name.startsWith("ONLY_IN_"))
    const own = `ONLY_IN_${defaultCluster.toUpperCase().replaceAll("-", "_")}`
    yield* demand(
      foreign.length === 1 && foreign[0] === own,
      `variables of other clusters leaked: ${foreign.join(", ")}`
    )
    return { CLUSTER: cluster }
  }).pipe(Effect.scoped)

/** The primary's network has no way to the API server of a member that dials out, and has one to the others'. */
const dialFromPrimary = ({ workloads }: Story, { dialled }: NetworksApart) =>
  Effect.gen(function* () {
    const outcomes = new Map<AnyRunningCluster, Readonly<Record<string, string>>>()
    for (const one of workloads)
      outcomes.set(one, yield* Effect.mapError(dialled(one.cluster.server), ({ message }) => failed(message)))
    const isReached = (outcome: object): boolean => Object.values(outcome).includes("connected")
    const wrong = [...outcomes].find(([{ description }, outcome]) => isReached(outcome) === description.dialsOut)
    yield* demand(
      wrong === undefined,
      `dialling the API server of ${wrong?.[0].cluster.name} from the primary's network: ${JSON.stringify(wrong?.[1])}`
    )
    const refused = [...outcomes].filter(([{ description }]) => description.dialsOut)
    return { answers: Object.fromEntries(refused.flatMap(([, outcome]) => Object.entries(outcome))) }
  })

const readFile = ({ client, defaultCluster }: Story) =>
  Effect.gen(function* () {
    const openOptions = { read: true, write: false, append: false, truncate: false, create: false, createNew: false }
    const opened = yield* client.ask(
      { _tag: "File", request: { _tag: "Open", value: { path: settingsFile, openOptions } } },
      (event) => (event._tag === "FileAnswered" && event.response._tag === "Open" ? event.response.value : undefined)
    )
    if (opened._tag === "Err") return yield* failed(`${settingsFile} cannot be opened: ${opened.error._tag}`)
    const { fd } = opened.value
    const read = yield* client.ask(
      { _tag: "File", request: { _tag: "Read", value: { remoteFd: fd, bufferSize: 4096n } } },
      (event) => (event._tag === "FileAnswered" && event.response._tag === "Read" ? event.response.value : undefined)
    )
    if (read._tag === "Err") return yield* failed(`${settingsFile} cannot be read: ${read.error._tag}`)
    client.tell({ _tag: "File", request: { _tag: "Close", value: { fd } } })
    const content = text(read.value.bytes)
    yield* demand(content.includes(defaultCluster), `${settingsFile} says ${JSON.stringify(content)}`)
    return { content: content.trim() }
  })

const connectOut = ({ client, defaultCluster }: Story) =>
  Effect.gen(function* () {
    const resolved = yield* client.ask({ _tag: "Resolve", node: "myapp" }, (event) =>
      event._tag === "Resolved" ? event.result : undefined
    )
    if (resolved._tag === "Err") return yield* failed(`myapp cannot be resolved: ${resolved.error._tag}`)
    const ip = resolved.value[0]?.ip
    if (ip === undefined) return yield* failed("myapp resolves to nothing")
    const uid = BigInt(yield* Random.nextIntBetween(1, 2 ** 31))
    const greeting = yield* Effect.forkChild(
      client.expect("the service's greeting", (event) =>
        event._tag === "OutgoingData" ? text(event.bytes) : undefined
      ),
      { startImmediately: true }
    )
    const connected = yield* client.ask(
      { _tag: "Connect", transport: "Tcp", uid, remoteAddress: { _tag: "Ip", value: { ip, port: tcpPort } } },
      (event) => (event._tag === "Connected" && event.uid === uid ? event.result : undefined)
    )
    if (connected._tag === "Err") return yield* failed(`${ip}:${tcpPort} cannot be connected: ${connected.error._tag}`)
    const greeted = yield* Fiber.join(greeting)
    client.tell({ _tag: "CloseOutgoing", transport: "Tcp", connectionId: connected.value.connectionId })
    yield* demand(greeted.includes(defaultCluster), `the service says ${JSON.stringify(greeted)}`)
    return { peer: `${ip}:${tcpPort}`, greeting: greeted.trim() }
  })

/** The local process of the session: answers every stolen request. */
export const answerRequests = (client: SessionClient): Effect.Effect<void, never, Scope.Scope> =>
  client.listen((event: ClientEvent) => {
    if (event._tag !== "HttpRequest") return
    const body = utf8.encode(`local process: ${event.method} ${event.uri}\n`)
    client.tell({
      _tag: "Respond",
      connectionId: event.connectionId,
      requestId: event.requestId,
      status: 200,
      headers: [
        ["content-type", utf8.encode("text/plain")],
        ["content-length", utf8.encode(String(body.length))]
      ],
      frames: [{ _tag: "Data", value: body }],
      isLast: true
    })
  })

const isLocal = (answer: string): boolean => answer.startsWith("local process:")

const enterEverywhere = ({ workloads }: Story) =>
  Effect.gen(function* () {
    const answers = yield* Effect.forEach(
      workloads,
      ({ description, entry = "" }) =>
        Effect.map(
          request(`${entry}/from-${description.name}`),
          (answer) => [description.name, answer.trim()] as const
        ),
      { concurrency: "unbounded" }
    )
    const missed = answers.find(([, answer]) => !isLocal(answer))
    yield* demand(
      missed === undefined,
      `the request that entered at ${missed?.[0]} was answered by ${JSON.stringify(missed?.[1])}`
    )
    return { answers: Object.fromEntries(answers) }
  })

const steal = (story: Story) =>
  Effect.gen(function* () {
    const subscribed = yield* story.client.ask({ _tag: "Steal", type: { _tag: "All", value: httpPort } }, (event) =>
      event._tag === "Subscribed" && event.port === httpPort ? event.result : undefined
    )
    yield* demand(subscribed._tag === "Ok", `port ${httpPort} cannot be stolen`)
    return yield* enterEverywhere(story)
  })

/** `count`: of pongs since the session is open. */
const pings = ({ client }: Story, count: () => number) =>
  Effect.gen(function* () {
    while (count() < 3) yield* client.expect("a pong", (event) => (event._tag === "Pong" ? event : undefined))
    // A surplus Pong kills the strict client, so a living client proves that there was none.
    const { failure } = client
    yield* demand(failure() === undefined, failure() ?? "")
    return { pongs: count() }
  })

/** Waits for the operator's word about a cluster, while something happens to that cluster. */
const warningAbout = ({ client }: Story, { description: { name } }: AnyRunningCluster) =>
  Effect.map(
    Effect.forkChild(
      client.expect(`a warning about ${name}`, (event) =>
        event._tag === "Log" && event.message.includes(name) ? event.message : undefined
      ),
      { startImmediately: true }
    ),
    (warning) => awaited(`a warning about ${name}`, Fiber.join(warning))
  )

const without = (story: Story, member: AnyRunningCluster): Story => ({
  ...story,
  workloads: story.workloads.filter((workload) => workload !== member)
})

const loseMember = (story: Story, member: AnyRunningCluster) =>
  Effect.gen(function* () {
    const warned = yield* warningAbout(story, member)
    yield* member.cluster.stop()
    return { warning: yield* warned, ...(yield* enterEverywhere(without(story, member))) }
  })

/**
 * Waits until the local process answers a request that enters at the member. An attempt ends after 5 s, and after twice
 * as long as the one before: mirrord's own agent cuts a connection that comes while it makes its rules, and neither end
 * hears of it.
 */
export const takesPart = ({ description, entry = "" }: AnyRunningCluster) =>
  Effect.suspend(() => {
    let patience = 2_500
    return seen(
      `the return of ${description.name}`,
      Effect.suspend(() => {
        patience *= 2
        return request(`${entry}/back`).pipe(
          Effect.timeout(patience),
          Effect.tap(() => Effect.sync(() => (patience = 2_500))),
          Effect.map((said) => (isLocal(said) ? said : undefined)),
          Effect.catch(() => Effect.succeed(undefined))
        )
      })
    )
  }).pipe(Effect.map((answer) => ({ answer: answer.trim() })))

const regainMember = (member: AnyRunningCluster) =>
  member.cluster.restart().pipe(
    Effect.mapError((error) => failed(error.message)),
    Effect.andThen(takesPart(member))
  )

const leaveWith = (story: Story, member: AnyRunningCluster, membership: Membership) =>
  Effect.gen(function* () {
    const warned = yield* warningAbout(story, member)
    const left = yield* leaveFleet(membership)
    return { ...left, warning: yield* warned, ...(yield* enterEverywhere(without(story, member))) }
  })

const joinWith = (member: AnyRunningCluster, membership: Membership) =>
  Effect.gen(function* () {
    const joined = yield* joinFleet(membership)
    return { ...joined, ...(yield* takesPart(member)) }
  })

/** Agents in the pods of targets that have not ended. Their containers cannot be removed. */
const ephemeralAgents = ({ store }: AnyRunningCluster["cluster"]): ReadonlyArray<string> =>
  store.list({ group: "", version: "v1", resource: "pods" }, {}).items.flatMap((pod) =>
    asObjects(at(pod, "status", "ephemeralContainerStatuses"))
      .filter((status) => at(status, "state", "terminated") === undefined)
      .map(({ name }) => `ephemeral container ${String(name)} of pod ${pod.metadata.name ?? ""}`)
  )

/** Names of what is left of the session in a cluster. */
const leftovers = ({ cluster, description }: AnyRunningCluster): ReadonlyArray<string> => {
  const named = (group: string, version: string, resource: string, namespace?: string) =>
    cluster.store
      .list({ group, version, resource }, namespace === undefined ? {} : { namespace })
      .items.map(({ metadata }) => `${description.name}: ${resource} ${metadata.name ?? ""}`)
  const agents = (resource: string, group: string) =>
    named(group, "v1", resource, operatorNamespace).filter((line) => line.includes("mirrord-agent-"))
  return [
    ...named("operator.metalbear.co", "v1alpha", "mirrordmulticlustersessions"),
    ...named("mirrord.metalbear.co", "v1alpha", "mirrordclustersessions"),
    ...agents("jobs", "batch"),
    ...agents("pods", ""),
    ...ephemeralAgents(cluster).map((line) => `${description.name}: ${line}`)
  ]
}

const endSession = ({ id, playground }: Story) =>
  Effect.gen(function* () {
    const config = new KubeConfig()
    config.loadFromFile(playground.primary.cluster.kubeconfigPath)
    const api = yield* makeKubeApi(config, playground.primary.description.name)
    yield* api
      .delete({ ...sessions, scope: "Cluster" }, id.toString())
      .pipe(Effect.mapError((error) => failed(error.message)))
    const left = () => playground.clusters.flatMap(leftovers)
    yield* seen(
      "the end of everything that the session made",
      Effect.sync(() => (left().length === 0 ? true : undefined)),
      () => `left: ${left().join(", ")}`
    )
    return { session: parentName(id) }
  }).pipe(Effect.scoped)

/**
 * Plays one session from its start to its end with the strict client, and reports one step after the other.
 *
 * @param kubeconfig path of one with a context for each cluster
 */
export const playStory = (playground: AnyPlayground, kubeconfig: string, reporter: Reporter): Effect.Effect<void> =>
  Effect.gen(function* () {
    const step = reportedStep(reporter)
    const workloads = playground.clusters.filter(({ entry }) => entry !== undefined)
    const member = workloads.find(({ description }) => !description.isDefault)
    const defaultCluster = workloads.find(({ description }) => description.isDefault)?.description.name ?? ""
    const { certificate, client, id } = yield* openStorySession(playground, { target }).pipe(
      Effect.tapError((error) => reporter.step("session", false, { problem: error.message }))
    )
    yield* reporter.step("session", true, { session: parentName(id) })
    let pongs = 0
    yield* client.listen(({ _tag }) => {
      if (_tag === "Pong") pongs++
    })
    const story: Story = { playground, client, id, defaultCluster, workloads }
    if (member?.description.dialsOut === true && playground.networks !== undefined)
      yield* step("unreachable", dialFromPrimary(story, playground.networks))
    yield* step("env", readEnvironment(story, certificate))
    yield* step("file", readFile(story))
    yield* step("outgoing", connectOut(story))
    yield* answerRequests(story.client)
    yield* step("incoming", steal(story))
    yield* step(
      "ping",
      pings(story, () => pongs)
    )
    if (member !== undefined) {
      yield* step("member-lost", loseMember(story, member))
      yield* step("member-returned", regainMember(member))
      const primary = playground.primary.description.name
      // A list of clusters that gets empty, or is empty, takes a restart.
      if (playground.clusters.length > 2) {
        const place = playground.administrator ?? { kubeconfig, command: (command) => command }
        const cell = member.description.dialsOut ? playground.cell : undefined
        const membership = { place, primary, member: member.description.name, cell }
        yield* step("member-left", leaveWith(story, member, membership))
        yield* step("member-joined", joinWith(member, membership))
      }
    }
    yield* step("ended", endSession(story))
  }).pipe(Effect.scoped, Effect.ignore)
