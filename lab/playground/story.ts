/**
 * The playground's story: one session through all clusters, step by step, played by the strict client of lab/client or
 * by mirrord's own. It is real time and real sockets; the stories of virtual time are in `lab/simulation/story`.
 */

import { KubeConfig } from "@kubernetes/client-node"
import { Effect, type Scope } from "effect"
import { makeKubeApi } from "../../src/adapters/kubernetes/kube-api-http.ts"
import { asObjects, at } from "../../src/domain/json.ts"
import { sessions } from "../../src/domain/resources/session.ts"
import { parentName } from "../../src/domain/sessions/names.ts"
import type { ClientFailed } from "../client/client-failed.ts"
import { type Hangs, seen } from "./awaited.ts"
import { joinFleet, leaveFleet, type Membership } from "./leave-and-join.ts"
import type { AnyPlayground, AnyRunningCluster, NetworksApart } from "./local-cluster.ts"
import { operatorNamespace } from "./manifests.ts"
import type { Reporter } from "./reporter.ts"
import type { StoryClient } from "./story-client.ts"
import { isLocal, request, takesPart } from "./story-requests.ts"
import { demand, failed, reportedStep } from "./story-steps.ts"
import { openStrictClient } from "./strict-story-client.ts"

/** The one session of the story, as its client sees it. */
interface Story {
  readonly playground: AnyPlayground
  readonly client: StoryClient
  readonly defaultCluster: string
  readonly workloads: ReadonlyArray<AnyRunningCluster>
}

const settingsFile = "/etc/myapp/settings.txt"

/** Demands variables of the default cluster alone. */
const readEnvironment = ({ client, defaultCluster }: Story) =>
  Effect.gen(function* () {
    const env = yield* client.environment
    const cluster = env.get("CLUSTER")
    yield* demand(cluster === defaultCluster, `CLUSTER is ${cluster}, wanted ${defaultCluster}`)
    const foreign = [...env.keys()].filter((name) => name.startsWith("ONLY_IN_"))
    const own = `ONLY_IN_${defaultCluster.toUpperCase().replaceAll("-", "_")}`
    yield* demand(
      foreign.length === 1 && foreign[0] === own,
      `variables of other clusters leaked: ${foreign.join(", ")}`
    )
    return { CLUSTER: cluster }
  })

const readFile = ({ client, defaultCluster }: Story) =>
  Effect.gen(function* () {
    const content = yield* client.file(settingsFile)
    yield* demand(content.includes(defaultCluster), `${settingsFile} says ${JSON.stringify(content)}`)
    return { content: content.trim() }
  })

const connectOut = ({ client, defaultCluster }: Story) =>
  Effect.gen(function* () {
    const { greeting, peer } = yield* client.greeting
    yield* demand(greeting.includes(defaultCluster), `the service says ${JSON.stringify(greeting)}`)
    return { peer, greeting: greeting.trim() }
  })

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

const steal = (story: Story) => Effect.andThen(story.client.steal(story.workloads), enterEverywhere(story))

const without = (story: Story, member: AnyRunningCluster): Story => ({
  ...story,
  workloads: story.workloads.filter((workload) => workload !== member)
})

const loseMember = (story: Story, member: AnyRunningCluster) =>
  Effect.gen(function* () {
    const warned = yield* story.client.warningAbout(member)
    yield* member.cluster.stop()
    return { warning: yield* warned, ...(yield* enterEverywhere(without(story, member))) }
  })

const regainMember = (member: AnyRunningCluster) =>
  member.cluster.restart().pipe(
    Effect.mapError((error) => failed(error.message)),
    Effect.andThen(takesPart(member))
  )

const leaveWith = (story: Story, member: AnyRunningCluster, membership: Membership) =>
  Effect.gen(function* () {
    const warned = yield* story.client.warningAbout(member)
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

const endSession = ({ client: { ended, id }, playground }: Story) =>
  Effect.gen(function* () {
    const config = new KubeConfig()
    config.loadFromFile(playground.primary.cluster.kubeconfigPath)
    const api = yield* makeKubeApi(config, playground.primary.description.name)
    yield* api
      .delete({ ...sessions, scope: "Cluster" }, id.toString())
      .pipe(Effect.mapError((error) => failed(error.message)))
    yield* ended
    const left = () => playground.clusters.flatMap(leftovers)
    yield* seen(
      "the end of everything that the session made",
      Effect.sync(() => (left().length === 0 ? true : undefined)),
      () => `left: ${left().join(", ")}`
    )
    return { session: parentName(id) }
  }).pipe(Effect.scoped)

/** Opens the session of a story. */
export type OpenStoryClient = (
  playground: AnyPlayground
) => Effect.Effect<StoryClient, ClientFailed | Hangs, Scope.Scope>

/**
 * Plays one session from its start to its end, and reports one step after the other.
 *
 * @param kubeconfig path of one with a context for each cluster
 * @param open the client; the strict one unless given
 */
export const playStory = (
  playground: AnyPlayground,
  kubeconfig: string,
  reporter: Reporter,
  open: OpenStoryClient = openStrictClient
): Effect.Effect<void> =>
  Effect.gen(function* () {
    const step = reportedStep(reporter)
    const workloads = playground.clusters.filter(({ entry }) => entry !== undefined)
    const member = workloads.find(({ description }) => !description.isDefault)
    const defaultCluster = workloads.find(({ description }) => description.isDefault)?.description.name ?? ""
    const client = yield* open(playground).pipe(
      Effect.tapError((error) => reporter.step("session", false, { problem: error.message }))
    )
    yield* reporter.step("session", true, { session: parentName(client.id), client: client.title })
    const story: Story = { playground, client, defaultCluster, workloads }
    if (member?.description.dialsOut === true && playground.networks !== undefined)
      yield* step("unreachable", dialFromPrimary(story, playground.networks))
    yield* step("env", readEnvironment(story))
    yield* step("file", readFile(story))
    yield* step("outgoing", connectOut(story))
    yield* step("incoming", steal(story))
    if (client.pings !== undefined) yield* step("ping", client.pings)
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
