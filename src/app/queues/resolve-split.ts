/**
 * From the configuration of a workload's queues to the queues themselves: which there are, how they are split, and
 * which variables name them.
 *
 * Not here: sessions (check-split.ts, domain/queues/session-filters.ts), and carrying the split on.
 */

import { Effect, Result } from "effect"
import { quoted } from "../../domain/clean-text.ts"
import { jsonEqual, type JsonObject } from "../../domain/json.ts"
import type { SplitObjects } from "../../domain/queues/chosen-configuration.ts"
import { environmentUpdates, type VariableUpdates } from "../../domain/queues/environment-updates.ts"
import type { SplitSource, SplitTimes } from "../../domain/queues/observed-split.ts"
import { parseQueueAddress, renamedQueue } from "../../domain/queues/queue-address.ts"
import { type QueuesOfVariable, queuesOfVariable, type ReadReference } from "../../domain/queues/queue-references.ts"
import { queueSources } from "../../domain/queues/queue-sources.ts"
import { queueVariables, type TemplateSource } from "../../domain/queues/queue-variables.ts"
import {
  configurationDigest,
  type QueueOptions,
  type SplitConfiguration
} from "../../domain/queues/split-configuration.ts"
import type { NamedWorkload } from "../../domain/queues/wanted-split.ts"
import { defaultContainer, podTemplate, templateSource } from "../../domain/targets/pod-template.ts"
import { kindAddress, type TargetKind } from "../../domain/targets/target.ts"
import type { JqPrograms } from "../../ports/jq-programs.ts"
import type { KubeError, KubeObject } from "../../ports/kube-api.ts"
import type { MessageQueues, QueueError } from "../../ports/message-queues.ts"
import { sha256Hex } from "../kernel/sha256-hex.ts"
import { foundObjects } from "./found-objects.ts"
import { type FoundQueue, foundQueues } from "./found-queues.ts"
import { type ConfigurationServices, readConfiguration } from "./read-configuration.ts"
import { selectorAnswers } from "./selector-answers.ts"
import { orRefuse, SplitRefused } from "./split-refused.ts"

/** The services and settings that splits are resolved with. */
export interface ResolveServices extends ConfigurationServices {
  readonly queues: MessageQueues["Service"]
  readonly jq: JqPrograms["Service"]
  /** Whether pods are isolated one by one where the configuration does not say how they are replaced. */
  readonly isolatesPods: boolean
  /** Whether sessions wait for pods, the chart's value `queueSplittingWaitForReadyTarget`. */
  readonly waitsForPods: boolean
  /** The server that stands in for AWS; `undefined` if none is configured. */
  readonly endpoint: string | undefined
}

/** A queue of the workload. */
export interface ResolvedSource extends SplitSource {
  readonly url: string
  /** By their names in the API of SQS. */
  readonly attributes: Readonly<Record<string, string>>
  readonly options: QueueOptions
}

/** A workload's queues and how they are split. */
export interface ResolvedSplit {
  /** Another one for another configuration, for other queues, and for other new values of variables. */
  readonly digest: string
  readonly configuration: SplitConfiguration
  readonly times: SplitTimes
  readonly variables: ReadonlyArray<QueuesOfVariable>
  readonly template: TemplateSource
  /** At least one. */
  readonly sources: ReadonlyArray<ResolvedSource>
  /** `SplitSource.identity` of the queue that a variable names so, by its name or URL. */
  readonly identityOf: (reference: string) => string | undefined
}

type Updates = ReadonlyMap<string, VariableUpdates>

/**
 * The variables with the names of other queues, by container: for pods, or for a session's program. `nameOf`: the name
 * of the temporary queue for an identity; `undefined` if there is none. The failure is a sentence.
 */
export const updatesOf = (
  { identityOf, template, variables }: Pick<ResolvedSplit, "identityOf" | "template" | "variables">,
  nameOf: (identity: string) => string | undefined
): Result.Result<Updates, string> =>
  environmentUpdates(variables, template, (reference) => {
    const identity = identityOf(reference)
    return identity === undefined ? undefined : nameOf(identity)
  })

/** The container of a session with such pods: the named one, or that which agents choose; empty if there is none. */
export const containerOf = (template: JsonObject, named: string | undefined): string =>
  named ?? defaultContainer(template) ?? ""

const workloadName = ({ kind, name }: NamedWorkload): string => `The ${kindAddress(kind).kind} ${quoted(name)}`

/** The template of the workload's pods, which may be that of another workload; `undefined` if it has none. */
export const readTemplate = Effect.fnUntraced(function* (
  { api }: ResolveServices,
  workload: NamedWorkload,
  object: KubeObject
): Effect.fn.Return<JsonObject | undefined, KubeError | SplitRefused> {
  const { kind, namespace } = workload
  const source = templateSource(kind, object)
  if (source?._tag !== "Reference") return source?.template
  const { name } = source
  const resource = { ...kindAddress(source.kind), scope: "Namespaced" } as const
  const found = yield* foundObjects(api, [{ resource, namespace, name }])
  const referred = found({ resource, namespace, name })
  if (referred !== undefined) return podTemplate(source.kind, referred)
  const why =
    `${workloadName(workload)} has the pods of the ${resource.kind} ${quoted(name)} (spec.workloadRef), which is not ` +
    `in the namespace ${namespace}: create it.`
  return yield* new SplitRefused({ code: 404, why })
})

/** The kinds whose queues of SQS mirrord splits (its page "SQS"). */
const splitKinds: ReadonlySet<TargetKind> = new Set(["deployment", "rollout"])

/** The template of a workload whose queues can be split. */
const splitTemplate = (
  workload: NamedWorkload,
  { origin, queues }: SplitConfiguration,
  template: JsonObject | undefined
): Effect.Effect<JsonObject, SplitRefused> => {
  if (queues.length === 0) {
    const why = `${origin} has no queue of SQS, and this operator splits no others: add one, or split nothing.`
    return Effect.fail(new SplitRefused({ code: 404, why, isUnconfigured: true }))
  }
  const name = workloadName(workload)
  if (!splitKinds.has(workload.kind)) {
    const why = `${name} cannot have queues of SQS split: only a Deployment or a Rollout can.`
    return Effect.fail(new SplitRefused({ code: 400, why }))
  }
  return template === undefined
    ? Effect.fail(
        new SplitRefused({
          code: 400,
          why: `${name} has no pod template: give it one, or a spec.workloadRef that names a Deployment.`
        })
      )
    : Effect.succeed(template)
}

const timesOf = ({ isolatesPods, waitsForPods }: ResolveServices, configuration: SplitConfiguration): SplitTimes => {
  const { drainSeconds, nameTemplate, restart, ttlSeconds } = configuration
  return {
    restartMillis: restart.timeoutSeconds * 1_000,
    strategy: restart.strategy ?? (isolatesPods ? "isolatePods" : "standard"),
    waitForPods: waitsForPods ? restart.waitForPods : 0,
    ttlMillis: ttlSeconds * 1_000,
    drainMillis: drainSeconds === undefined ? undefined : drainSeconds * 1_000,
    nameTemplate
  }
}

const readReference =
  (endpoint: string | undefined): ReadReference =>
  (text) =>
    Result.map(parseQueueAddress(text, endpoint), (address) => ({
      text,
      name: address.name,
      renamed: (name) => renamedQueue(address, name)
    }))

/** The options of a queue. Several ids that mean it cannot have different ones. */
const optionsOf = (
  { origin, queues }: SplitConfiguration,
  name: string,
  ids: ReadonlyArray<string>
): Result.Result<QueueOptions, string> => {
  const [first, ...others] = queues
    .filter(({ id }) => ids.includes(id))
    .map(({ jqTimeLimitMillis, s3Event, sns, tags }) => ({ jqTimeLimitMillis, s3Event, sns, tags }))
  return first !== undefined && others.every((other) => jsonEqual(first, other))
    ? Result.succeed(first)
    : Result.fail(
        `The ids ${ids.map(quoted).join(" and ")} of ${origin} are one queue, ${quoted(name)}, with different ` +
          "options: give them the same ones."
      )
}

const sourcesOf = (
  configuration: SplitConfiguration,
  variables: ReadonlyArray<QueuesOfVariable>,
  found: ReadonlyMap<string, FoundQueue>
): Result.Result<ReadonlyArray<ResolvedSource>, string> => {
  const sources = queueSources(variables, (text) => found.get(text)?.identity ?? text)
  return Result.all(
    sources.flatMap((source) => {
      const queue = found.get(source.reference)
      if (queue === undefined) return []
      const { attributes, name, url } = queue
      const options = optionsOf(configuration, name, source.ids)
      return [Result.map(options, (one): ResolvedSource => ({ ...source, name, url, attributes, options: one }))]
    })
  )
}

const byKey = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : 1)

/** `updates`: the variables with identities in the place of names. */
const digestOf = (configuration: SplitConfiguration, updates: Updates): string => {
  const values = [...updates].map(([container, variables]) => [container, [...variables].toSorted(byKey)] as const)
  const text = JSON.stringify([configurationDigest(configuration, sha256Hex), values.toSorted(byKey)])
  return sha256Hex(text).slice(0, 32)
}

const resolve = Effect.fnUntraced(function* (
  services: ResolveServices,
  workload: NamedWorkload,
  object: KubeObject,
  objects: SplitObjects
): Effect.fn.Return<ResolvedSplit, KubeError | QueueError | SplitRefused> {
  const { endpoint, jq, queues } = services
  const found = yield* readTemplate(services, workload, object)
  const named = { ...workload, container: containerOf(found ?? {}, workload.container) }
  const { configMaps, configuration } = yield* readConfiguration(services, named, found ?? {}, objects)
  const template = { template: yield* splitTemplate(workload, configuration, found), configMaps }
  const texts = yield* orRefuse(queueVariables(configuration, template))
  const answers = yield* selectorAnswers(jq, texts)
  const read = readReference(endpoint)
  const variables = yield* orRefuse(Result.all(texts.map((one) => queuesOfVariable(one, read, answers))))
  const known = yield* foundQueues(queues, variables)
  const sources = yield* orRefuse(sourcesOf(configuration, variables, known))
  const identityOf = (reference: string): string | undefined => known.get(reference)?.identity
  // Values that cannot follow are refused now and not when there are temporary queues.
  const updates = yield* orRefuse(updatesOf({ identityOf, template, variables }, (identity) => identity))
  const digest = digestOf(configuration, updates)
  return { digest, configuration, times: timesOf(services, configuration), variables, template, sources, identityOf }
})

/**
 * Resolves the split of a workload. `object`: the workload as the API server has it. `objects`: those of its namespace.
 * The failure of the Effect is for now: the API server or SQS does not answer. The failure of the result lasts until an
 * administrator or the user acts.
 */
export const resolveSplit = (
  services: ResolveServices,
  workload: NamedWorkload,
  object: KubeObject,
  objects: SplitObjects
): Effect.Effect<Result.Result<ResolvedSplit, SplitRefused>, KubeError | QueueError> =>
  resolve(services, workload, object, objects).pipe(
    Effect.map(Result.succeed),
    Effect.catchTag("SplitRefused", (refused) => Effect.succeed(Result.fail(refused)))
  )
