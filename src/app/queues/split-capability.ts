/**
 * Splits of queues of SQS in a cluster that serves sessions itself, as a capability: none where the switch is off, and
 * none at a primary that has no workloads.
 *
 * Not here: carrying splits on (split-controller.ts), and what sessions ask of them (session-splits.ts).
 */

import { Context, Effect, Layer, Result } from "effect"
import { splitSamples } from "../../domain/metrics/split-samples.ts"
import type { SplitObjects } from "../../domain/queues/chosen-configuration.ts"
import type { PatchingSplit } from "../../domain/queues/pod-review.ts"
import { keptBy } from "../../domain/resources/kept-fields.ts"
import { mirrordSplitConfigs } from "../../domain/resources/queues/mirrord-split-config.ts"
import { mirrordWorkloadQueueRegistries } from "../../domain/resources/queues/mirrord-workload-queue-registry.ts"
import type { ResourceDescriptor, WatchedResource } from "../../domain/resources/resource-descriptor.ts"
import type { KubeApi, KubeObject } from "../../ports/kube-api.ts"
import { Changes } from "../kernel/change-feed.ts"
import { Events } from "../kernel/event-recorder.ts"
import { measure } from "../kernel/metrics.ts"
import { readCached } from "../kernel/read-cached.ts"
import { makeReflector, type Reflector } from "../kernel/reflector.ts"
import { retryingApi } from "../kernel/retrying-api.ts"
import { CurrentSettings } from "../kernel/setting-values.ts"
import { type Capability, withCapability } from "../services/capability.ts"
import { OwnCluster } from "../services/own-cluster.ts"
import { type ChildSplits, makeChildSplits } from "./child-splits.ts"
import { ConfigurationArrivals } from "./configuration-arrivals.ts"
import { measuredSplits } from "./measured-splits.ts"
import { PodReviews } from "./pod-reviews.ts"
import { QueueSplits, noSplits } from "./queue-splits.ts"
import { QueueSplitting } from "./queue-splitting.ts"
import { sessionSplits, splitState } from "./session-splits.ts"
import { makeSplits, type Splits } from "./split-controller.ts"
import { webhookClient } from "./split-webhook.ts"

const watched = <T>(resource: ResourceDescriptor<T>): WatchedResource<T> => ({
  ...resource,
  keeps: keptBy(resource.schema)
})
const splitConfigs = watched(mirrordSplitConfigs)
const registries = watched(mirrordWorkloadQueueRegistries)

/** The objects of a kind in a namespace. Objects that cannot be read are left out, as if they were not there. */
const inNamespace = <T>(resource: WatchedResource<T>, cache: Reflector, namespace: string): ReadonlyArray<T> =>
  cache.all().flatMap((object) => {
    const read = readCached(resource, object)
    return object.metadata.namespace === namespace && Result.isSuccess(read) ? [read.success] : []
  })

/** Follows the configurations of queues of both kinds. `changed`: one of a namespace has changed. */
const followConfigurations = Effect.fnUntraced(function* (api: KubeApi, changed: (namespace: string) => void) {
  const arrivals = new ConfigurationArrivals()
  const hear = ({ metadata: { namespace = "" } }: KubeObject): void => {
    changed(namespace)
    arrivals.came(namespace)
  }
  const configs = yield* makeReflector(api, splitConfigs, hear)
  const older = yield* makeReflector(api, registries, hear)
  const objects = (namespace: string): SplitObjects => ({
    splitConfigs: inNamespace(splitConfigs, configs, namespace),
    registries: inNamespace(registries, older, namespace)
  })
  return { arrivals, objects, started: Effect.andThen(configs.awaitSynced, older.awaitSynced) }
})

/** The split whose names new pods get. */
const patching =
  ({ splits }: Splits) =>
  (uid: string): PatchingSplit | undefined => {
    const found = splits().find(({ record }) => record.uid === uid && record.phase !== "Unpatching")
    return found && { uid, workload: found.place, updates: found.updates }
  }

const features: NonNullable<Capability["features"]> = () => [
  "SqsQueueSplitting",
  "SqsQueueSplittingDirect",
  "SqsQueueSplittingWithJqFilter"
]

/** The splits of a primary without workloads, which are those of its members. */
const elsewhere: QueueSplits["Service"] = {
  ...noSplits,
  areServed: (route) => route === "MultiCluster",
  objects: () => Effect.succeed([])
}

/** Splits of queues, if they are switched on. */
export const splitLayer = Layer.effectContext(
  Effect.gen(function* () {
    const { options, servedAuthority } = yield* QueueSplitting
    const { api, fleet, namespace } = yield* OwnCluster
    if (options === undefined)
      return Context.add(yield* withCapability({ requirement: noSplits.requirement }), QueueSplits, noSplits)
    if (fleet?.managementOnly === true) return Context.add(yield* withCapability({ features }), QueueSplits, elsewhere)
    const changes = yield* Changes
    const {
      arrivals,
      objects,
      started: configured
    } = yield* followConfigurations(api, (namespace) => splits.configurationChanged(namespace))
    const { endpoint, jq, queues, settings, sharedForwarders, storedObjects } = options
    const resolving = {
      api: retryingApi(api),
      operatorNamespace: namespace,
      ...settings,
      queues,
      jq,
      endpoint
    }
    const [client, forgetClient] = yield* Effect.cachedInvalidateWithTTL(
      webhookClient(api, servedAuthority),
      "1 minute"
    )
    const splits: Splits = yield* makeSplits({
      api,
      sharedForwarders,
      queues,
      jq,
      storedObjects,
      webhookClient: Effect.tapError(client, () => forgetClient),
      events: yield* Events,
      addsSessionKey: (yield* CurrentSettings).addsSessionKey,
      resolving,
      objects,
      sessionChanged: (session) => {
        changes.publish({ _tag: "ChildChanged", session })
        children.partChanged(session)
      }
    })
    yield* measure(() => splitSamples(measuredSplits(splits)))
    const service = sessionSplits({
      awaited: retryingApi(api),
      resolving,
      objects,
      arrivals,
      splits,
      areServed: () => true,
      ofChild: (session) => children.stateOf(session)
    })
    const children: ChildSplits = yield* makeChildSplits({
      api,
      partOf: (session) => splits.sessions().find((part) => part.session === session),
      madeFor: ({ wanted: { uid } }) =>
        splits
          .queues()
          .filter(({ owner }) => owner._tag === "Session" && owner.session === uid)
          .flatMap(({ source, url }) => source.ids.map((id) => ({ id, original: source.url, queue: url }))),
      stateOf: (part) => splitState(splits, part),
      check: service.check,
      order: service.order,
      changed: (session) => changes.publish({ _tag: "ChildChanged", session })
    })
    const started = Effect.forEach([configured, splits.started, children.started], (one) => one, { discard: true })
    const capability = yield* withCapability({ features, started, requirement: service.requirement })
    return Context.add(capability, QueueSplits, service).pipe(Context.add(PodReviews, { lookup: patching(splits) }))
  })
)
