import { Context, Effect, Exit, Layer, Logger, Scope } from "effect"
import { MemoryQueues } from "../../../../lab/queues/memory-queues.ts"
import { RandomStream } from "../../../../lab/simulation/kernel/random-stream.ts"
import { Changes } from "../../../../src/app/kernel/change-feed.ts"
import { QueueSplitting } from "../../../../src/app/queues/queue-splitting.ts"
import { splitSyncLayer } from "../../../../src/app/queues/sync/split-sync-capability.ts"
import { Capabilities } from "../../../../src/app/services/capability.ts"
import { FleetView } from "../../../../src/app/services/fleet-view.ts"
import { events } from "../../../../src/domain/events/event-object.ts"
import { clusterName } from "../../../../src/domain/fleet/cluster-name.ts"
import { namespaces } from "../../../../src/domain/resources/core-kinds.ts"
import { mirrordSplitConfigs } from "../../../../src/domain/resources/queues/mirrord-split-config.ts"
import type { KubeApi } from "../../../../src/ports/kube-api.ts"
import { pass } from "../../../support/connect-request.ts"
import { configurationOf } from "../../../support/fleet.ts"
import { MemoryKubeApi } from "../../../support/memory-kube-api.ts"
import { servicesOf } from "../../../support/services.ts"
import { jq, noObjects } from "../split-world.ts"

/** The configuration that a fleet writes. */
export const place = ["orders", "shop"] as const
const [name, namespace] = place
export const spec = {
  targetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "app" },
  queues: [{ id: "q", kind: "sqs" }]
}

/** Copies need no broker. */
const unused = {
  settings: { lingerSeconds: 60, isolatesPods: true, waitsForPods: true },
  queues: new MemoryQueues(new RandomStream("sync")).port(),
  jq,
  storedObjects: noObjects,
  endpoint: undefined
}

/** A primary that copies configurations of queue splits to its members `a` and `b`, which come and go. */
export class SyncFleet {
  readonly members = new Map(["a", "b"].map((cluster) => [cluster, { api: new MemoryKubeApi(cluster), lost: false }]))
  readonly logged: Array<string> = []
  readonly a = this.member("a").api
  readonly b = this.member("b").api

  readonly primary: MemoryKubeApi
  /** The API servers as the primary's operator calls them. */
  readonly #called: (api: MemoryKubeApi) => KubeApi

  constructor(primary: MemoryKubeApi, called: (api: MemoryKubeApi) => KubeApi = (api) => api) {
    this.primary = primary
    this.#called = called
    // It runs workloads itself.
    this.members.set("primary", { api: primary, lost: false })
    primary.write(namespaces, "kube-system", {})
  }

  member(cluster: string) {
    const found = this.members.get(cluster)
    if (found === undefined) throw new Error(`no cluster ${cluster}`)
    return found
  }

  write(change: object = {}, api = this.primary): Effect.Effect<void> {
    api.write(mirrordSplitConfigs, name, { spec, ...change }, namespace)
    return pass("1 second")
  }

  erase(api = this.primary): Effect.Effect<void> {
    api.erase(mirrordSplitConfigs, ...place)
    return pass("1 second")
  }

  specIn(api: MemoryKubeApi): unknown {
    return api.peek(mirrordSplitConfigs, ...place)?.["spec"]
  }

  writes(api: MemoryKubeApi): ReadonlyArray<string> {
    return api.calls.flatMap(({ verb }) => (["get", "list", "watch"].includes(verb) ? [] : [verb]))
  }

  told(): ReadonlyArray<unknown> {
    return this.primary.peekAll(events).map(({ message }) => message)
  }

  readonly start = (isOn = true) =>
    Effect.gen({ self: this }, function* () {
      const scope = yield* Scope.make()
      yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
      const services = (yield* servicesOf({ api: this.#called(this.primary), fleet: configurationOf(["a", "b"]) }).pipe(
        Scope.provide(scope)
      )).pipe(
        Context.add(FleetView, {
          objects: () => [],
          readiness: () => new Map(),
          clusters: () =>
            [...this.members].map(([cluster, { api, lost }]) => ({
              name: clusterName(cluster),
              isDefault: cluster === "a",
              api: () => this.#called(api),
              lost: () => (lost ? "no answer" : undefined)
            }))
        }),
        Context.add(QueueSplitting, { options: isOn ? unused : undefined, servedAuthority: () => undefined })
      )
      const json = Logger.map(Logger.formatJson, (line) => void this.logged.push(line))
      const made = yield* Effect.provideContext(Layer.build(splitSyncLayer), services).pipe(
        Scope.provide(scope),
        Effect.provide(Logger.layer([json]))
      )
      yield* pass("1 second")
      const hear = Context.get(made, Capabilities)[0]?.hear
      return {
        end: Scope.close(scope, Exit.void),
        leave: Context.get(services, Changes).leave,
        changed: (cluster: string) => {
          hear?.({ _tag: "ClusterChanged", cluster: clusterName(cluster) })
          return pass("1 second")
        }
      }
    })

  readonly reach = (cluster: string, reachable: boolean) => {
    this.member(cluster).lost = !reachable
    this.member(cluster).api.setReachable(reachable)
  }
}
