import { Effect, Exit, Fiber, Logger, Result, Scope } from "effect"
import { TestClock } from "effect/testing"
import { type MadeBranches, makeBranches } from "../../../../src/app/branches/branch-controller.ts"
import { noBranches } from "../../../../src/app/branches/branches.ts"
import { makeEventRecorder } from "../../../../src/app/kernel/event-recorder.ts"
import { CurrentHoldings, Holdings } from "../../../../src/app/kernel/holdings.ts"
import { retryingApi } from "../../../../src/app/kernel/retrying-api.ts"
import type { ConnectAttempt } from "../../../../src/app/services/capability.ts"
import type { ReachedCluster } from "../../../../src/app/services/fleet-view.ts"
import type { BranchCredentials } from "../../../../src/domain/branches/branch-credentials.ts"
import { events } from "../../../../src/domain/events/event-object.ts"
import { clusterName } from "../../../../src/domain/fleet/cluster-name.ts"
import type { Caller } from "../../../../src/domain/fleet/credentials/front-proxy.ts"
import { asString } from "../../../../src/domain/json.ts"
import { type BranchDatabase, branchDatabases } from "../../../../src/domain/resources/branches/branch-database.ts"
import type { BranchStatus } from "../../../../src/domain/resources/branches/branch-shapes.ts"
import { deployments, namespaces, pods } from "../../../../src/domain/resources/core-kinds.ts"
import { parseConnectQuery } from "../../../../src/domain/sessions/connect-request.ts"
import { defaultBounds } from "../../../../src/domain/sessions/session-bounds.ts"
import { sessionId } from "../../../../src/domain/sessions/session-id.ts"
import type { KubeObject } from "../../../../src/ports/kube-api.ts"
import { pass } from "../../../support/connect-request.ts"
import { configurationOf, operatorNamespace } from "../../../support/fleet.ts"
import { MemoryKubeApi } from "../../../support/memory-kube-api.ts"
import { reviewedApi } from "../../../support/reviewed-api.ts"
import { branchName, branchSpec, namespace, today, defaultRules } from "../branched.ts"
import { syncAlone } from "./sync-alone.ts"

/** A primary whose default cluster `a` has `deployment/app`, its kubelet, and operators that come and go. */
export class Synced {
  readonly primary = reviewedApi("primary")
  readonly default = reviewedApi("a")
  /** The same API server, as the primary reaches it. */
  readonly member = Object.assign(new MemoryKubeApi("a"), { objects: this.default.objects })
  readonly holdings = new Holdings()
  readonly logged: Array<string> = []
  /** The clusters of the fleet; the default is the one of {@link defaultCluster}. */
  readonly clusters = new Map<string, { api: MemoryKubeApi | undefined; lost: string | undefined }>()
  defaultCluster: string | undefined = "a"
  readonly #scopes = new Map<string, Scope.Closeable>()
  #sync: Effect.Success<ReturnType<typeof syncAlone>> = { capability: {}, branches: noBranches }
  #directory: MadeBranches | undefined

  constructor() {
    this.clusters.set("a", { api: this.member, lost: undefined })
    this.primary.write(namespaces, "kube-system", {})
    const env = [{ name: "DATABASE_URL", value: "postgresql://app:secret@source/shop" }]
    const template = { spec: { containers: [{ name: "app", env }] } }
    this.default.write(deployments, "app", { spec: { template } }, namespace)
  }

  #reached(): ReadonlyArray<ReachedCluster> {
    return [...this.clusters].map(([name, cluster]) => ({
      name: clusterName(name),
      isDefault: name === this.defaultCluster,
      api: () => cluster.api,
      lost: () => cluster.lost
    }))
  }

  readonly #run = <A>(who: string, make: Effect.Effect<A, never, Scope.Scope>) =>
    Effect.gen({ self: this }, function* () {
      const scope = yield* Scope.make()
      this.#scopes.set(who, scope)
      const json = Logger.map(Logger.formatJson, (line) => void this.logged.push(line))
      const made = yield* make.pipe(
        Scope.provide(scope),
        Effect.provideService(CurrentHoldings, this.holdings),
        Effect.provide(Logger.layer([json]))
      )
      yield* pass("1 second")
      return made
    })

  /** A new leader of the primary. */
  readonly start = (configuration = configurationOf(["a"]), bounds = defaultBounds) =>
    Effect.gen({ self: this }, function* () {
      const own = { api: this.primary, fleet: configuration, bounds }
      this.#sync = yield* this.#run(
        "primary",
        syncAlone(own, defaultRules.settings, () => this.#reached())
      )
    })

  /** A connect to a session in a namespace that names branches; `route`: over many clusters unless given. */
  readonly connect = (names: ReadonlyArray<string>, route: "MultiCluster" | "SingleCluster" = "MultiCluster") =>
    Effect.gen({ self: this }, function* () {
      const params = Result.getOrThrow(parseConnectQuery(`pg_branch_names=${JSON.stringify(names)}`))
      const attempt = { _tag: route, id: sessionId(255n), params, request: { namespace } } as unknown as ConnectAttempt
      const asked = Effect.match(this.#sync.capability.admit?.(attempt) ?? Effect.void, {
        onFailure: ({ message }) => message,
        onSuccess: () => "admitted"
      })
      const fiber = yield* Effect.forkChild(asked, { startImmediately: true })
      for (let i = 0; i < 12 && fiber.pollUnsafe() === undefined; i++) yield* pass("500 millis")
      return yield* Fiber.join(fiber)
    })

  /** Values that a client brings to the primary. */
  readonly takeCredentials = (credentials: BranchCredentials, caller: Caller) =>
    Effect.suspend(() => this.#sync.branches.takeCredentials(credentials, caller))

  /** A new leader of the default cluster's operator. */
  readonly startDefault = Effect.gen({ self: this }, function* () {
    const [api, rules, bounds] = [this.default, defaultRules, defaultBounds]
    this.#directory = yield* this.#run(
      "a",
      Effect.flatMap(makeEventRecorder(api), (recorder) =>
        makeBranches({ api, awaited: retryingApi(api), rules, events: recorder, bounds })
      )
    )
  })

  readonly kill = (who: "primary" | "a") =>
    Effect.suspend(() => {
      const scope = this.#scopes.get(who)
      this.#scopes.delete(who)
      return scope === undefined ? Effect.void : Scope.close(scope, Exit.void)
    })

  /** The primary loses the default cluster, or has it back. */
  readonly reach = (reachable: boolean) =>
    Effect.gen({ self: this }, function* () {
      this.member.setReachable(reachable)
      this.clusters.set("a", { api: this.member, lost: reachable ? undefined : "its operator did not answer in time" })
      this.#sync.capability.hear?.({ _tag: "ClusterChanged", cluster: clusterName("a") })
      yield* pass("1 second")
    })

  get directory(): MadeBranches {
    if (this.#directory === undefined) throw new Error("the default cluster has no operator")
    return this.#directory
  }

  /** A user's branch at the primary, as the client makes it for a primary without workloads. */
  readonly order = (change: object = {}, metadata: object = {}) =>
    Effect.gen({ self: this }, function* () {
      const annotations = { "mirrord.metalbear.co/target-namespace": namespace }
      const object = { spec: { ...branchSpec, ...change }, metadata: { annotations, ...metadata } }
      this.primary.write(branchDatabases, branchName, object, operatorNamespace)
      yield* pass("1 second")
    })

  origin(): KubeObject | undefined {
    return this.primary.peek(branchDatabases, branchName, operatorNamespace)
  }

  copy(): KubeObject | undefined {
    return this.default.peek(branchDatabases, branchName, namespace)
  }

  /** The status at the primary. */
  status(): BranchStatus | undefined {
    return (this.origin() as BranchDatabase | undefined)?.status ?? undefined
  }

  /** The kubelet of the default cluster: all pods of branches are ready. */
  readonly podsReady = Effect.gen({ self: this }, function* () {
    for (const { metadata } of this.default.peekAll(pods))
      this.default.write(
        pods,
        metadata.name,
        { status: { phase: "Running", podIP: "10.0.0.7", conditions: [{ type: "Ready", status: "True" }] } },
        namespace
      )
    yield* pass("1 second")
  })

  /** The reasons of the Events at the primary, in order. */
  events(): ReadonlyArray<string> {
    return this.primary.peekAll(events).map((event) => asString(event["reason"]) ?? "")
  }
}

/** Both operators run. */
export const begin = Effect.gen(function* () {
  yield* TestClock.setTime(today)
  const synced = new Synced()
  yield* Effect.addFinalizer(() => Effect.andThen(synced.kill("primary"), synced.kill("a")))
  yield* synced.startDefault
  yield* synced.start()
  return synced
})

/** A branch that is ready. */
export const ready = Effect.gen(function* () {
  const synced = yield* begin
  yield* synced.order()
  yield* synced.podsReady
  return synced
})

export const seconds = (count: number) =>
  Effect.gen(function* () {
    for (let i = 0; i < count; i++) yield* pass("1 second")
  })
