/** The command `npm start`: starts a playground, plays the story, and stays until Ctrl-C. */

import { join } from "node:path"
import { Effect, FileSystem, Logger } from "effect"
import { startKubernetesPlayground } from "./kubernetes/kubernetes-playground.ts"
import { findPrograms, isMissing, missingPrograms } from "./kubernetes/programs.ts"
import type { AnyPlayground } from "./local-cluster.ts"
import { workloadNamespace, workloadTarget } from "./manifests.ts"
import { mergedKubeconfig } from "./merged-kubeconfig.ts"
import { startPlayground } from "./playground.ts"
import { PlaygroundError } from "./readiness.ts"
import { makeReporter, type Reporter } from "./reporter.ts"
import { playStory } from "./story.ts"
import { topology, type TopologyName } from "./topology.ts"

export interface PlaygroundCommandOptions {
  readonly topology: TopologyName
  readonly once: boolean
  readonly json: boolean
  /** Whether to use real control planes instead of embedded clusters. */
  readonly kubernetes: boolean
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

const thingsToTry = ({ clusters }: AnyPlayground, kubeconfig: string): ReadonlyArray<string> => [
  "",
  "Try, in another terminal:",
  `  export KUBECONFIG=${kubeconfig}    # a context for each cluster; the primary's is the current one`,
  "  kubectl get mirrordmulticlustersessions -w",
  "  npm run braid -- clusters",
  "  mirrord operator status",
  `  mirrord exec --target ${workloadTarget} -- env`,
  `  mirrord dump --target ${workloadTarget} -p 80`,
  ...clusters.flatMap(({ description, entry }) =>
    entry === undefined ? [] : [`  curl ${entry}/hello            # enters at ${description.name}`]
  ),
  "",
  "Ctrl-C ends everything and leaves nothing behind."
]

/** Starts the playground, on real control planes if that is asked for and their programs exist. */
const start = (options: PlaygroundCommandOptions, directory: string, reporter: Reporter) =>
  Effect.gen(function* () {
    const settings = {
      topology: topology(options.topology, options.subnet),
      directory,
      sessionTtlSecs: options.sessionTtlSecs,
      remoteSessionTimeoutSecs,
      progress: (step: string) => reporter.step(step, true)
    }
    if (!options.kubernetes) return (yield* startPlayground(settings)) satisfies AnyPlayground
    const programs = findPrograms(process.env)
    if (isMissing(programs)) return yield* new PlaygroundError({ detail: missingPrograms(programs) })
    return (yield* startKubernetesPlayground({ ...settings, programs })) satisfies AnyPlayground
  })

const play = (options: PlaygroundCommandOptions, directory: string, reporter: Reporter) =>
  Effect.gen(function* () {
    const playground: AnyPlayground = yield* start(options, directory, reporter)
    const kubeconfig = mergedKubeconfig(
      join(directory, "kubeconfig"),
      [playground.primary, ...playground.clusters.filter((running) => running !== playground.primary)].map(
        ({ cluster: { kubeconfigPath }, description: { name } }) => ({
          name,
          kubeconfigPath
        })
      )
    )
    yield* playStory(playground, kubeconfig, reporter)
    yield* reporter.step("ready", true, readyDetails(playground))
    if (options.once) return
    for (const line of thingsToTry(playground, kubeconfig)) yield* reporter.say(line)
    return yield* Effect.never
  })

/** Runs the command; the exit code is 0 only if every step of the story was fine. */
export const runPlayground = (
  options: PlaygroundCommandOptions
): Effect.Effect<number, never, FileSystem.FileSystem> => {
  const reporter = makeReporter(options.json)
  return Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    const directory = yield* files.makeTempDirectoryScoped({ prefix: "braid-playground-" })
    yield* play(options, directory, reporter)
  }).pipe(
    Effect.scoped,
    Effect.catch((error) => reporter.step("playground", false, { problem: error.message })),
    // The clusters' own logs are in their pods' logs.
    Effect.provide(Logger.layer([])),
    Effect.map(() => (reporter.allOk() ? 0 : 1))
  )
}
