/**
 * Reads the configuration of a workload's queues with the objects that it names, and the ConfigMaps from which the
 * workload's containers have variables.
 *
 * Not here: which object counts, and what is in it (domain/queues).
 */

import { Effect, Redacted, Result } from "effect"
import { quoted } from "../../domain/clean-text.ts"
import { asObject, type JsonObject } from "../../domain/json.ts"
import {
  type ChosenConfiguration,
  chooseConfiguration,
  type SplitObjects,
  type SplitWorkload
} from "../../domain/queues/chosen-configuration.ts"
import { type ConfigMaps, configMapsOf } from "../../domain/queues/container-environment.ts"
import {
  findPropertyList,
  type FoundPropertyList,
  objectsOf,
  type Properties,
  resolveProperties
} from "../../domain/queues/property-list.ts"
import { readQueueRegistry } from "../../domain/queues/queue-registry-reader.ts"
import { propertyListsOf, readSplitConfig } from "../../domain/queues/split-config-reader.ts"
import type { PatternCompiler, SplitConfiguration } from "../../domain/queues/split-configuration.ts"
import { compileRegex, compileSpanFinder } from "../../domain/regex.ts"
import { configMaps, secrets } from "../../domain/resources/core-kinds.ts"
import { mirrordPropertyLists } from "../../domain/resources/queues/mirrord-property-list.ts"
import type { KubeApi, KubeError, KubeObject } from "../../ports/kube-api.ts"
import { foundObjects, type FoundObjects, type ObjectName } from "./found-objects.ts"
import { orRefuse, SplitRefused } from "./split-refused.ts"

/** The cluster, and the settings of the operator for configurations. */
export interface ConfigurationServices {
  readonly api: KubeApi
  readonly operatorNamespace: string
  /** The chart's value `sqsSplittingLingerTimeout` in seconds, for registries. */
  readonly lingerSeconds: number
}

/** A configuration, and the ConfigMaps of the workload's namespace that its containers read. */
export interface ReadConfiguration {
  readonly configuration: SplitConfiguration
  readonly configMaps: ConfigMaps
}

type NamedList = FoundPropertyList & { readonly name: string }

const patterns: PatternCompiler = {
  matcher: (pattern) => Result.map(compileRegex(pattern, { ignoreCase: false }), ({ matches }) => matches),
  finder: compileSpanFinder
}

/** The texts in an object's `data`, which for a Secret are base64. */
const textsOf = (object: KubeObject): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(asObject(object["data"])).flatMap(([key, text]) =>
      typeof text === "string" ? [[key, text] as const] : []
    )
  )

const named = (resource: ObjectName["resource"], namespace: string, names: ReadonlyArray<string>) =>
  names.map((name): ObjectName => ({ resource, namespace, name }))

/** The texts of those of the objects that exist, by the names of the objects. */
const contents = (
  found: FoundObjects,
  wanted: ReadonlyArray<ObjectName>
): ReadonlyMap<string, Readonly<Record<string, string>>> =>
  new Map(
    wanted.flatMap((one) => {
      const object = found(one)
      return object === undefined ? [] : [[one.name, textsOf(object)] as const]
    })
  )

const chosenConfiguration = (
  workload: SplitWorkload,
  objects: SplitObjects
): Effect.Effect<ChosenConfiguration, SplitRefused> =>
  Effect.fromResult(
    Result.mapError(chooseConfiguration(workload, objects), ({ _tag, why }) =>
      _tag === "None"
        ? new SplitRefused({ code: 404, why, isUnconfigured: true })
        : new SplitRefused({ code: 400, why })
    )
  )

/** The property lists of a configuration, each from the first of the namespaces that has it. */
const readLists = Effect.fnUntraced(function* (
  { api, operatorNamespace }: ConfigurationServices,
  namespace: string,
  names: ReadonlyArray<string>
): Effect.fn.Return<ReadonlyArray<NamedList>, KubeError | SplitRefused> {
  const places = (name: string) =>
    [...new Set([namespace, operatorNamespace])].flatMap((one) => named(mirrordPropertyLists, one, [name]))
  const found = yield* foundObjects(api, names.flatMap(places))
  const lists = names.map((name) => {
    const objects = places(name).map((place) => ({ namespace: place.namespace, object: found(place) }))
    return Result.map(findPropertyList(name, objects), (list) => ({ name, ...list }))
  })
  return yield* orRefuse(Result.all(lists))
})

const mapsOf = ({ list, namespace }: FoundPropertyList) => named(configMaps, namespace, objectsOf(list).configMaps)
const secretsOf = ({ list, namespace }: FoundPropertyList) => named(secrets, namespace, objectsOf(list).secrets)

/** A list must not make the operator read Secrets that its author has no right to read. */
const secretProblem = (lists: ReadonlyArray<NamedList>, operatorNamespace: string): Result.Result<void, string> => {
  const secret = lists.flatMap(secretsOf).find(({ namespace }) => namespace !== operatorNamespace)
  return secret === undefined
    ? Result.succeed(undefined)
    : Result.fail(
        `A MirrordPropertyList in the namespace ${secret.namespace} reads the Secret ${quoted(secret.name)}, but the ` +
          `operator reads Secrets in its own namespace ${operatorNamespace} alone: move both there, or use a ConfigMap.`
      )
}

const propertiesOf = (found: FoundObjects, list: NamedList): Result.Result<Properties, string> => {
  const decoded = (text: string) => Redacted.make(Buffer.from(text, "base64").toString("utf8"))
  return resolveProperties(list, {
    configMaps: new Map(
      [...contents(found, mapsOf(list))].map(([name, texts]) => [name, new Map(Object.entries(texts))])
    ),
    secrets: new Map(
      [...contents(found, secretsOf(list))].map(([name, texts]) => [
        name,
        new Map(Object.entries(texts).map(([key, text]) => [key, decoded(text)]))
      ])
    )
  })
}

/** Reads the configuration for a workload with this pod template. */
export const readConfiguration = Effect.fnUntraced(function* (
  services: ConfigurationServices,
  workload: SplitWorkload,
  template: JsonObject,
  objects: SplitObjects
): Effect.fn.Return<ReadConfiguration, KubeError | SplitRefused> {
  const { api, lingerSeconds, operatorNamespace } = services
  const { namespace } = workload
  const chosen = yield* chosenConfiguration(workload, objects)
  const names = chosen._tag === "SplitConfig" ? propertyListsOf(chosen.object) : []
  const lists = yield* readLists(services, namespace, names)
  yield* orRefuse(secretProblem(lists, operatorNamespace))
  const own = named(configMaps, namespace, configMapsOf(template))
  const found = yield* foundObjects(api, [...own, ...lists.flatMap((list) => [...mapsOf(list), ...secretsOf(list)])])
  const resolved = lists.map((list) =>
    Result.map(propertiesOf(found, list), (properties) => [list.name, properties] as const)
  )
  const properties = new Map(yield* orRefuse(Result.all(resolved)))
  const configuration = yield* orRefuse(
    chosen._tag === "SplitConfig"
      ? readSplitConfig(chosen.object, properties, patterns)
      : readQueueRegistry(chosen.object, lingerSeconds, patterns)
  )
  return { configuration, configMaps: contents(found, own) }
})
