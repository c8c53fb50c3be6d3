/** The command `npm start`: starts a playground, plays the story, and stays until Ctrl-C. */

import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, FileSystem, Logger } from "effect"
import { startUi } from "../../src/app/commands/ui/ui-command.ts"
import type { ImageRegistry } from "../cluster/node/container-program.ts"
import { loopbackAddresses } from "../cluster/node/pod-addresses.ts"
import { TellOfWait } from "./awaited.ts"
import { findMirrord, missingForBranches } from "./branches/branch-programs.ts"
import { orderNamespace, playBranchStory } from "./branches/branch-story.ts"
import { makeMirrord } from "./branches/mirrord.ts"
import { engineImage, postgresqlFolder } from "./branches/postgresql.ts"
import { startShopDatabase } from "./branches/shop-database.ts"
import { shortPath } from "./branches/short-path.ts"
import { closedNetworkProblem } from "./closed-network.ts"
import { claimSubnets } from "./free-addresses.ts"
import { freePort } from "./free-ports.ts"
import { startKubernetesPlayground } from "./kubernetes/kubernetes-playground.ts"
import { findPrograms, isMissing, missingPrograms } from "./kubernetes/programs.ts"
import type { AnyPlayground } from "./local-cluster.ts"
import { workloadNamespace, workloadTarget } from "./manifests.ts"
import { mergedKubeconfig } from "./merged-kubeconfig.ts"
import { openMirrordClient } from "./mirrord-story-client.ts"
import { findNode, missingAgent } from "./node/node-files.ts"
import { type NodePlaygroundOptions, startNodePlayground } from "./node/node-playground.ts"
import { startPlayground } from "./playground.ts"
import { consumerImages } from "./queues/consumer.ts"
import { startElasticMq } from "./queues/elasticmq.ts"
import { playQueueStory, queueConfiguration } from "./queues/queue-story.ts"
import { PlaygroundError } from "./readiness.ts"
import { makeReporter, type Reporter } from "./reporter.ts"
import { type OpenStoryClient, playStory } from "./story.ts"
import { openStrictClient } from "./strict-story-client.ts"
import { topology, type TopologyName } from "./topology.ts"

export interface PlaygroundCommandOptions {
  readonly topology: TopologyName
  readonly once: boolean
  readonly json: boolean
  /** Whether to use real control planes instead of embedded clusters. */
  readonly kubernetes: boolean
  /** Whether to use real clusters with real nodes instead. */
  readonly node: boolean
  /** Whether to tell the story of branches instead. */
  readonly branches: boolean
  /** Whether to tell the story of queues instead. */
  readonly queues: boolean
  /** Second octet of the first cluster's pod addresses. */
  readonly subnet: number
  readonly sessionTtlSecs: number
}

const remoteSessionTimeoutSecs = 300

const readyDetails = ({ clusters, primary }: AnyPlayground) => ({
  kubeconfig: {
    primary: primary.cluster.kubeconfigPath,
    ...Object.fromEntries(clusters.map(({ cluster, description }) => [description.name, cluster.kubeconfigPath]))
  },
  target: workloadTarget,
  namespace: workloadNamespace,
  entry: Object.fromEntries(
    clusters.flatMap(({ description, entry }) => (entry === undefined ? [] : [[description.name, entry]]))
  )
})

const thingsToTry = (
  { clusters }: AnyPlayground,
  kubeconfig: string,
  more: ReadonlyArray<string> = []
): ReadonlyArray<string> => [
  "",
  "Try, in another terminal:",
  `  export KUBECONFIG=${kubeconfig}    # a context for each cluster; the primary's is the current one`,
  "  kubectl get mirrordmulticlustersessions -w",
  "  npm run braid -- clusters       # also: status, sessions, logs, doctor",
  "  npm run braid -- ui             # serves the live page once more",
  "  npm run braid -- dashboard      # serves the page of its use",
  "  mirrord operator status",
  `  mirrord exec --target ${workloadTarget} -- env`,
  `  mirrord dump --target ${workloadTarget} -p 80`,
  ...clusters.flatMap(({ description, entry }) =>
    entry === undefined ? [] : [`  curl ${entry}/hello            # enters at ${description.name}`]
  ),
  "",
  ...more,
  "mirrord's own client is at https://mirrord.dev; docs/operating/runbooks.md says what to do when something fails.",
  "Ctrl-C ends everything and leaves nothing behind."
]

const branchesToTry = (playground: AnyPlayground, configuration: string): ReadonlyArray<string> => [
  "With a branch of the database, and with the database itself:",
  `  mirrord exec -f ${configuration} -- sh -c 'psql "$DATABASE_URL"'`,
  `  mirrord exec --target ${workloadTarget} -- sh -c 'psql "$DATABASE_URL"'`,
  `  mirrord db-branches -n ${orderNamespace(playground)} status    # also: connections, destroy --all`,
  "  npm run braid -- branches",
  ""
]

/** Settings of a playground whose workload has a database with branches. */
interface BranchSettings {
  readonly hasBranches: true
  readonly databaseUrl: string
  readonly images: ImageRegistry
}

/** Starts the playground on real nodes. */
const startNodes = (settings: Omit<NodePlaygroundOptions, "files" | "programs">, reporter: Reporter) =>
  Effect.gen(function* () {
    const programs = findPrograms(process.env)
    if (isMissing(programs)) return yield* new PlaygroundError({ detail: missingPrograms(programs) })
    const files = findNode(process.env)
    if (typeof files === "string") return yield* new PlaygroundError({ detail: files })
    if (!files.hasAgent) return yield* new PlaygroundError({ detail: missingAgent })
    yield* reporter.say(`  … starting ${settings.topology.clusters.length} clusters, each with a node`)
    return (yield* startNodePlayground({ ...settings, programs, files })) satisfies AnyPlayground
  })

const settingsOf = (options: PlaygroundCommandOptions, reporter: Reporter) => ({
  topology: topology(options.topology, options.subnet),
  sessionTtlSecs: options.sessionTtlSecs,
  remoteSessionTimeoutSecs,
  progress: (step: string) => reporter.step(step, true)
})

/** Claims the addresses of the clusters. */
const claim = (options: PlaygroundCommandOptions, reporter: Reporter) =>
  Effect.gen(function* () {
    const { clusters } = topology(options.topology, options.subnet)
    // Services of real control planes have subnets of their own, behind those of the pods.
    const subnets = options.kubernetes ? 2 * clusters.length : clusters.length
    yield* claimSubnets(Array.from({ length: subnets }, (_, index) => options.subnet + index))
    yield* reporter.say(`  … starting ${clusters.length} clusters, with addresses from 127.${options.subnet}.0.0 on`)
  })

/** Whether the primary is to be in another network than a member that dials out. Says so where that cannot be. */
const canBeApart = (options: PlaygroundCommandOptions, reporter: Reporter) =>
  Effect.suspend(() => {
    if (options.topology !== "outbound") return Effect.succeed(false)
    const problem = closedNetworkProblem()
    if (problem === undefined) return Effect.succeed(true)
    return Effect.as(reporter.say(`  … with the primary and cluster-b in one network: ${problem}`), false)
  })

/** Starts the playground, on real control planes if that is asked for and their programs exist. */
const start = (
  options: PlaygroundCommandOptions,
  more: { readonly directory: string; readonly sqsEndpoint?: string } & Partial<BranchSettings>,
  reporter: Reporter
) =>
  Effect.gen(function* () {
    const settings = { ...settingsOf(options, reporter), ...more }
    if (options.node) return yield* startNodes(settings, reporter)
    yield* claim(options, reporter)
    if (!options.kubernetes)
      return (yield* startPlayground({ ...settings, recordsUsage: true })) satisfies AnyPlayground
    const programs = findPrograms(process.env)
    if (isMissing(programs)) return yield* new PlaygroundError({ detail: missingPrograms(programs) })
    const isApart = yield* canBeApart(options, reporter)
    return (yield* startKubernetesPlayground({ ...settings, programs, isApart })) satisfies AnyPlayground
  })

/** The database behind the workload, and the playground's settings for branches of it. */
const startDatabase = (options: PlaygroundCommandOptions, directory: string) =>
  Effect.gen(function* () {
    if (options.kubernetes)
      return yield* new PlaygroundError({ detail: "--branches needs embedded clusters: leave out --kubernetes" })
    const mirrord = findMirrord(process.env)
    const missing = missingForBranches({ mirrord, postgresql: postgresqlFolder })
    if (missing !== undefined || mirrord === undefined) return yield* new PlaygroundError({ detail: missing ?? "" })
    const { clusters } = topology(options.topology, options.subnet)
    // Behind the networks of the pods.
    const database = yield* startShopDatabase(directory, `127.${options.subnet + clusters.length}.0.1`)
    const settings: BranchSettings = {
      hasBranches: true,
      databaseUrl: database.url,
      images: new Map([["docker.io/library/postgres", engineImage(loopbackAddresses)]])
    }
    return { mirrord, database, settings }
  })

const kubeconfigOf = (directory: string, { clusters, primary }: AnyPlayground): string =>
  mergedKubeconfig(
    join(directory, "kubeconfig"),
    [primary, ...clusters.filter((running) => running !== primary)].map(
      ({ cluster: { kubeconfigPath }, description: { name } }) => ({ name, kubeconfigPath })
    )
  )

/** A story that was told, and how a person goes on. */
interface Told {
  readonly playground: AnyPlayground
  readonly toTry: ReadonlyArray<string>
}

/** mirrord's own client tells the story on real nodes, whose agents are its own, where this machine has it. */
const clientOf = ({ node }: PlaygroundCommandOptions, directory: string, kubeconfig: string): OpenStoryClient => {
  const file = node ? findMirrord(process.env) : undefined
  if (file === undefined) return openStrictClient
  const layerApp = process.env["LAYER_APP_BIN"]
  return (playground) => openMirrordClient(playground, { file, layerApp, directory, kubeconfig })
}

const playSession = (options: PlaygroundCommandOptions, directory: string, reporter: Reporter) =>
  Effect.gen(function* () {
    const playground: AnyPlayground = yield* start(options, { directory }, reporter)
    const kubeconfig = kubeconfigOf(directory, playground)
    const story = playStory(playground, kubeconfig, reporter, clientOf(options, directory, kubeconfig))
    yield* Effect.raceFirst(story, playground.ended ?? Effect.never)
    return { playground, toTry: thingsToTry(playground, kubeconfig) } satisfies Told
  })

const playBranches = (options: PlaygroundCommandOptions, directory: string, reporter: Reporter) =>
  Effect.gen(function* () {
    const { database, mirrord: file, settings } = yield* startDatabase(options, directory)
    const playground: AnyPlayground = yield* start(options, { directory, ...settings }, reporter)
    const kubeconfig = kubeconfigOf(directory, playground)
    const configuration = join(directory, "mirrord.json")
    const mirrord = yield* makeMirrord({ file, home: join(directory, "home"), kubeconfig })
    yield* playBranchStory({ playground, database, mirrord, configuration }, reporter)
    const toTry = thingsToTry(playground, kubeconfig, branchesToTry(playground, configuration))
    return { playground, toTry } satisfies Told
  })

const queuesToTry = (configuration: string): ReadonlyArray<string> => [
  "With a queue of one's own, by ElasticMQ:",
  `  mirrord exec -f ${configuration} -- sh -c 'echo "$QUEUE at $AWS_ENDPOINT_URL_SQS"'`,
  "  npm run braid -- queues --context cluster-b",
  "  kubectl --context cluster-b get pods -L operator.metalbear.co/patched -w",
  ""
]

const playQueues = (options: PlaygroundCommandOptions, directory: string, reporter: Reporter) =>
  Effect.gen(function* () {
    if (options.branches || options.node)
      return yield* new PlaygroundError({ detail: "--queues is a story of its own: leave out --branches and --node" })
    const endpoint = yield* startElasticMq({ port: yield* Effect.promise(freePort) })
    const settings = { directory, images: consumerImages, sqsEndpoint: endpoint }
    const playground = yield* start(options, settings, reporter)
    const kubeconfig = kubeconfigOf(directory, playground)
    yield* playQueueStory({ playground, endpoint, directory }, reporter)
    const file = join(directory, "mirrord.json")
    writeFileSync(file, `${JSON.stringify(queueConfiguration, undefined, 2)}\n`)
    return { playground, toTry: thingsToTry(playground, kubeconfig, queuesToTry(file)) } satisfies Told
  })

const storyOf = ({ branches, queues }: PlaygroundCommandOptions) => {
  if (queues) return playQueues
  return branches ? playBranches : playSession
}

/** The link to a page that follows the playground, if its primary can be reached from here. */
const pageOf = ({ primary }: AnyPlayground) =>
  startUi({
    kubeconfig: primary.cluster.kubeconfigPath,
    context: undefined,
    port: 0,
    noBrowser: true,
    opens: "fleet",
    withApi: false
  }).pipe(
    Effect.map(({ link }) => ["", "The live page of all of it, and of its use, in a browser here:", `  ${link}`]),
    Effect.orElseSucceed(() => [])
  )

const play = (options: PlaygroundCommandOptions, directory: string, reporter: Reporter) =>
  Effect.gen(function* () {
    const { playground, toTry }: Told = yield* storyOf(options)(options, directory, reporter)
    yield* reporter.step("ready", true, readyDetails(playground))
    if (options.once) return
    for (const line of [...(yield* pageOf(playground)), ...toTry]) yield* reporter.say(line)
    return yield* playground.ended ?? Effect.never
  })

/** Runs the command; the exit code is 0 only if every step of the story was fine. */
export const runPlayground = (
  options: PlaygroundCommandOptions
): Effect.Effect<number, never, FileSystem.FileSystem> => {
  const isColoured = process.stdout.isTTY && (process.env["NO_COLOR"] ?? "") === ""
  const reporter = makeReporter({ json: options.json, isTerminal: process.stdout.isTTY, isColoured })
  return Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    const directory = yield* files.makeTempDirectoryScoped({ prefix: "braid-playground-" })
    yield* play(options, options.branches ? yield* shortPath(directory) : directory, reporter)
  }).pipe(
    Effect.scoped,
    Effect.provideService(TellOfWait, reporter.say),
    Effect.catch((error) => reporter.step("playground", false, { problem: error.message })),
    // The clusters' own logs are in their pods' logs.
    Effect.provide(Logger.layer([])),
    Effect.map(() => (reporter.allOk() ? 0 : 1))
  )
}
