/**
 * Reads the logs of a cluster's operators, with the rights of a person, and remembers how far.
 *
 * Not here: which clusters (overview/readable-clusters.ts), and the order of the lines
 * (domain/commands/overview/log-lines.ts).
 */

import { Duration, Effect, FiberMap, Result, type Scope, Stream } from "effect"
import {
  type LineFilter,
  type LogLine,
  type LogPosition,
  logStart,
  type MergedLine,
  nextLine,
  type PodLog,
  readOn
} from "../../../domain/commands/overview/log-lines.ts"
import { asObjects, asString, at } from "../../../domain/json.ts"
import { pods } from "../../../domain/resources/core-kinds.ts"
import type { KubeError, KubeObject } from "../../../ports/kube-api.ts"
import { unanswered, type Unanswered } from "../overview/ask-cluster.ts"
import type { ReadableCluster } from "../overview/readable-clusters.ts"

/** The lines that a person wants. */
export interface WantedLines {
  readonly namespace: string
  readonly isWanted: LineFilter
  readonly sinceSeconds: number | undefined
  /** Those of the containers' runs before these. */
  readonly previous: boolean
}

const operatorName = "mirrord-operator"
/** Logs that are read at a time from one cluster. */
const concurrency = 4
/** Time between two looks for pods that are new or run again. */
const lookAgain = Duration.seconds(2)

const needed = (namespace: string): string =>
  `Ask for a Role with the verb list of pods and the verb get of pods/log in namespace ${namespace}.`

/** An error, with the cluster in front, because there may be several. */
const problemOf = ({ name }: ReadableCluster, namespace: string, error: KubeError, object: string): Unanswered => {
  const problem = (message: string, fix: string): Unanswered => ({ message: `${name}: ${message}`, fix })
  if (error.reason === "Forbidden")
    return problem(`You may not ${object} in namespace ${namespace}.`, needed(namespace))
  if (error.reason === "Invalid")
    return problem(`There is no such log: ${error.detail}.`, "Look at the pod: kubectl describe pod.")
  const { fix, message } = unanswered(error, "pods")
  return problem(message, fix)
}

/** The operator's container: others may have been put beside it. */
const containerOf = (pod: KubeObject): string => {
  const names = asObjects(at(pod, "spec", "containers")).map(({ name }) => asString(name) ?? "")
  return names.includes(operatorName) ? operatorName : (names[0] ?? "")
}

/** The logs of one cluster's operators. */
export class OperatorLogs {
  readonly #cluster: ReadableCluster
  readonly #wanted: WantedLines
  readonly #read = new Map<string, LogPosition>()

  constructor(cluster: ReadableCluster, wanted: WantedLines) {
    this.#cluster = cluster
    this.#wanted = wanted
  }

  /** The logs of all pods up to now, and why some are missing. */
  readonly untilNow: Effect.Effect<{
    readonly logs: ReadonlyArray<PodLog>
    readonly problems: ReadonlyArray<Unanswered>
  }> = Effect.suspend(() => this.#pods).pipe(
    Effect.flatMap((found) =>
      Effect.forEach(
        found,
        (pod) =>
          Stream.runCollect(this.#lines(pod, false)).pipe(
            Effect.map((lines) => ({ cluster: this.#cluster.name, pod: pod.metadata.name, lines })),
            Effect.result
          ),
        { concurrency }
      )
    ),
    Effect.map((results) => ({
      logs: results.flatMap((result) => (Result.isSuccess(result) ? [result.success] : [])),
      problems: results.flatMap((result) => (Result.isFailure(result) ? [result.failure] : []))
    })),
    Effect.catch((problem) => Effect.succeed({ logs: [], problems: [problem] }))
  )

  /** Prints each further line as it comes, of pods that start later too, until it is interrupted. */
  readonly follow = (
    line: (line: MergedLine) => void,
    problem: (problem: Unanswered) => void
  ): Effect.Effect<never, never, Scope.Scope> =>
    Effect.gen({ self: this }, function* () {
      const followed = yield* FiberMap.make<string>()
      const followPod = (pod: KubeObject): Effect.Effect<void> => {
        const from = { cluster: this.#cluster.name, pod: pod.metadata.name }
        return Stream.runForEach(this.#lines(pod, true), (next) => Effect.sync(() => line({ ...from, ...next }))).pipe(
          Effect.catch((why) => Effect.sync(() => problem(why)))
        )
      }
      return yield* this.#pods.pipe(
        Effect.flatMap((found) =>
          Effect.forEach(found, (pod) =>
            FiberMap.run(followed, pod.metadata.name, followPod(pod), { onlyIfMissing: true })
          )
        ),
        Effect.catch((why) => Effect.sync(() => problem(why))),
        Effect.andThen(Effect.sleep(lookAgain)),
        Effect.forever
      )
    })

  get #pods(): Effect.Effect<ReadonlyArray<KubeObject>, Unanswered> {
    const { namespace } = this.#wanted
    return this.#cluster.api.list(pods, { namespace, labelSelector: `app=${operatorName}` }).pipe(
      Effect.mapError((error) => problemOf(this.#cluster, namespace, error, "list pods (verb list of pods)")),
      Effect.flatMap(({ items }) =>
        items.length > 0
          ? Effect.succeed(items)
          : Effect.fail({
              message:
                `${this.#cluster.name}: There is no pod of an operator (label app=${operatorName}) in namespace ` +
                `${namespace}.`,
              fix: "Name the operator's namespace with --namespace, or install the chart."
            })
      )
    )
  }

  /** The wanted lines of a pod that have not been read before. */
  #lines(pod: KubeObject, follow: boolean): Stream.Stream<LogLine, Unanswered> {
    const { isWanted, namespace, previous, sinceSeconds } = this.#wanted
    const { name } = pod.metadata
    const { api } = this.#cluster
    return Stream.suspend(() => {
      const read = this.#read.get(name) ?? logStart
      const wanted = sinceSeconds === undefined ? {} : { sinceSeconds }
      const since = read === logStart ? wanted : { sinceTime: read.at }
      return api.podLog(namespace, name, { container: containerOf(pod), follow, previous, ...since }).pipe(
        Stream.mapAccum(
          () => readOn(read),
          (reading, raw) => {
            const [next, line] = nextLine(reading, raw)
            if (next.isNew) this.#read.set(name, next.here)
            return [next, next.isNew && isWanted(line.text) ? [line] : []]
          }
        )
      )
    }).pipe(Stream.mapError((error) => problemOf(this.#cluster, namespace, error, "read logs (verb get of pods/log)")))
  }
}
