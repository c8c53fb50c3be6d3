/**
 * Reads a MirrordWorkloadQueueRegistry, the older kind. Its definition leaves open what a queue has, so all of it is
 * checked here.
 *
 * Not here: the meaning of references to variables (variable-source.ts).
 */

import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { quoted } from "../clean-text.ts"
import { nullable } from "../resources/field-schemas.ts"
import type { MirrordWorkloadQueueRegistry } from "../resources/queues/mirrord-workload-queue-registry.ts"
import { fieldProblems } from "../resources/resource-descriptor.ts"
import {
  type ConfiguredQueue,
  defaultJqTimeLimitMillis,
  type PatternCompiler,
  type SplitConfiguration
} from "./split-configuration.ts"
import { everyText, readVariableSource } from "./variable-source.ts"

type Spec = MirrordWorkloadQueueRegistry["spec"]
type Queue = Spec["queues"][string]

/** Seconds that a workload may take to restart where the registry does not say (published-chart.md §1.13). */
const defaultRestartSeconds = 120

/** A queue of SQS (queue splitting: the registry). */
const SqsQueue = Schema.Struct({
  nameSource: Schema.Struct({ envVar: nullable(Schema.String), regexPattern: nullable(Schema.String) }),
  fallbackName: nullable(Schema.String),
  namesFromJsonMap: nullable(Schema.Boolean),
  tags: nullable(Schema.Record(Schema.String, Schema.String)),
  sns: nullable(Schema.Boolean),
  s3Event: nullable(Schema.Boolean)
})

const problemText = ({ message, path }: ReturnType<typeof fieldProblems>[number]): string => `${path}: ${message}`

const readQueue = (
  where: string,
  [id, queue]: readonly [id: string, queue: Queue],
  { container }: Spec["consumer"],
  patterns: PatternCompiler
): Result.Result<ConfiguredQueue, string> =>
  Result.gen(function* () {
    const { fallbackName, nameSource, namesFromJsonMap, s3Event, sns, tags } = yield* Result.mapError(
      Schema.decodeUnknownResult(SqsQueue, { errors: "all" })(queue),
      (error) => `${where} cannot be read: ${fieldProblems(error).map(problemText).join("; ")}.`
    )
    const reference = {
      env: nameSource.envVar,
      envLike: nameSource.regexPattern,
      fallback: fallbackName,
      valueSelector: namesFromJsonMap === true ? everyText : undefined,
      containers: container === undefined || container === null ? undefined : [container]
    }
    const source = yield* readVariableSource(where, reference, patterns)
    return {
      id,
      sources: [source],
      sns: sns === true,
      s3Event: s3Event === true,
      tags: tags ?? {},
      jqTimeLimitMillis: defaultJqTimeLimitMillis
    }
  })

/**
 * Reads a registry. `lingerSeconds`: the operator's setting, which the newer kind has as `drainTimeout`. The failure is
 * a sentence that names the object and its queue.
 */
export const readQueueRegistry = (
  { metadata, spec }: MirrordWorkloadQueueRegistry,
  lingerSeconds: number,
  patterns: PatternCompiler
): Result.Result<SplitConfiguration, string> => {
  const origin = `MirrordWorkloadQueueRegistry ${quoted(metadata.name)}`
  const all = Object.entries(spec.queues)
  const queues = all
    .filter(([, { queueType }]) => queueType === "SQS")
    .map(([id, queue]) => readQueue(`The queue ${quoted(id)} of ${origin}`, [id, queue], spec.consumer, patterns))
  return Result.map(Result.all(queues), (read) => ({
    origin,
    queues: read,
    unserved: all.flatMap(([id, { queueType }]) => (queueType === "RMQ" ? [{ id, kind: "rmq" }] : [])),
    drainSeconds: lingerSeconds,
    ttlSeconds: 0,
    restart: {
      strategy: undefined,
      timeoutSeconds: spec.workloadRestartTimeout ?? defaultRestartSeconds,
      waitForPods: 1
    },
    nameTemplate: undefined
  }))
}
