/**
 * Reads a MirrordSplitConfig, as far as its queues are of SQS.
 *
 * Not here: the property lists that it names (property-list.ts).
 */

import * as Result from "effect/Result"
import { quoted } from "../clean-text.ts"
import type { MirrordSplitConfig } from "../resources/queues/mirrord-split-config.ts"
import { type Properties } from "./property-list.ts"
import { readQueueProperties } from "./queue-properties.ts"
import type { ConfiguredQueue, PatternCompiler, RestartSettings, SplitConfiguration } from "./split-configuration.ts"
import { readVariableSource } from "./variable-source.ts"

type Queue = MirrordSplitConfig["spec"]["queues"][number]

/** Seconds that a restart may take where the configuration does not say (queue splitting: Kafka's page). */
const defaultRestartSeconds = 60

const isServed = ({ kind }: Queue): boolean => kind === "sqs"

/** The names of the property lists that a configuration's queues of SQS need. */
export const propertyListsOf = ({ spec }: MirrordSplitConfig): ReadonlyArray<string> => [
  ...new Set(spec.queues.filter(isServed).flatMap(({ queueConfig }) => queueConfig ?? []))
]

/** The operator reaches SQS with its own credentials. Those of another account would be left out in silence. */
const clientProblem = (
  where: string,
  { clientConfig }: Queue,
  spec: MirrordSplitConfig["spec"]
): string | undefined => {
  const name = clientConfig ?? spec.clientConfigs?.sqs
  return name === undefined || name === null
    ? undefined
    : `${where} has the clientConfig ${quoted(name)}, which queues of SQS do not have, since the operator reaches ` +
        "them with its own AWS credentials: take it out."
}

/** A queue of SQS; `properties` has the lists of {@link propertyListsOf} by name. */
const readQueue = (
  where: string,
  { appConfig, id, queueConfig }: Queue,
  properties: ReadonlyMap<string, Properties>,
  patterns: PatternCompiler
): Result.Result<ConfiguredQueue, string> =>
  Result.gen(function* () {
    const references = appConfig.queue ?? []
    if (references.length === 0) {
      return yield* Result.fail(`${where} names no variable: say in appConfig.queue which one has the queue's name.`)
    }
    const sources = yield* Result.all(references.map((reference) => readVariableSource(where, reference, patterns)))
    const list = queueConfig ?? undefined
    const options = yield* Result.mapError(
      readQueueProperties(list === undefined ? new Map() : (properties.get(list) ?? new Map())),
      (problem) => `The MirrordPropertyList ${quoted(list ?? "")} ${problem}.`
    )
    return { id, sources, ...options }
  })

/** How pods are replaced. The failure goes on after "…: spec.restart.". */
const readRestart = ({
  strategy,
  timeout,
  waitForPods
}: NonNullable<MirrordSplitConfig["spec"]["restart"]>): Result.Result<RestartSettings, string> => {
  if (strategy === "unknown") {
    return Result.fail('strategy is "unknown"; it must be "standard" or "isolatePods"')
  }
  const wanted = waitForPods ?? 1
  if (wanted !== "all" && (typeof wanted === "string" || wanted < 0)) {
    return Result.fail(`waitForPods is ${quoted(String(wanted))}; it must be a number of pods, or "all"`)
  }
  return Result.succeed({
    strategy: strategy ?? undefined,
    timeoutSeconds: timeout ?? defaultRestartSeconds,
    waitForPods: wanted
  })
}

/** The id of two queues of one broker; sessions could not say which one they mean. */
const repeatedId = (queues: ReadonlyArray<Queue>): string | undefined =>
  queues.find(({ id, kind }, index) => queues.findIndex((other) => other.id === id && other.kind === kind) < index)?.id

/** Reads a configuration. The failure is a sentence that names the object and its queue. */
export const readSplitConfig = (
  { metadata, spec }: MirrordSplitConfig,
  properties: ReadonlyMap<string, Properties>,
  patterns: PatternCompiler
): Result.Result<SplitConfiguration, string> =>
  Result.gen(function* () {
    const origin = `MirrordSplitConfig ${quoted(metadata.name)}`
    const repeated = repeatedId(spec.queues)
    if (repeated !== undefined) {
      return yield* Result.fail(`${origin} has the queue ${quoted(repeated)} twice: give each queue an id of its own.`)
    }
    const queues: Array<ConfiguredQueue> = []
    for (const queue of spec.queues.filter(isServed)) {
      const where = `The queue ${quoted(queue.id)} of ${origin}`
      const problem = clientProblem(where, queue, spec)
      if (problem !== undefined) return yield* Result.fail(problem)
      queues.push(yield* readQueue(where, queue, properties, patterns))
    }
    const restart = yield* Result.mapError(
      readRestart(spec.restart ?? {}),
      (problem) => `${origin}: spec.restart.${problem}.`
    )
    return {
      origin,
      queues,
      unserved: spec.queues.filter((queue) => !isServed(queue)).map(({ id, kind }) => ({ id, kind })),
      drainSeconds: spec.drainTimeout ?? undefined,
      ttlSeconds: spec.ttl ?? 0,
      restart,
      nameTemplate: spec.tmpNameTemplate ?? undefined
    }
  })
