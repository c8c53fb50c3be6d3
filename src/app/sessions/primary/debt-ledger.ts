/**
 * Children that could not be deleted because their cluster was away or refused it. The ledger is a ConfigMap beside the
 * operator, so it outlives the parent and the process; each debt is paid as soon as its cluster takes it. When a child
 * is owed is decided in `domain/session/session-cleanup.ts`.
 */
import { Clock, Effect, Random, Result, Schema, type Scope } from "effect"
import { clusterName, type ClusterName } from "../../../domain/fleet/cluster-name.ts"
import { configMaps } from "../../../domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../domain/resources/mirrord-cluster-session.ts"
import { childAnnotations, ownerLabel } from "../../../domain/session/names.ts"
import type { KubeApi, KubeError, KubeErrorReason } from "../../../ports/kube-api.ts"
import { logInfo, logWarning } from "../../kernel/log.ts"
import { makeReflector, type Reflector } from "../../kernel/reflector.ts"

const ledgerName = "mirrord-operator-debts"
const ledgerLabel = "operator.metalbear.co/ledger"

/**
 * How often what is owed is tried again, in ms, before jitter: also a cluster that never was away can refuse to delete.
 */
const payEvery = 30_000

const DebtText = Schema.fromJsonString(Schema.Struct({ cluster: Schema.String, parentUid: Schema.String }))

/** A child that is owed. By its name alone it could be mistaken for that of a later parent of the same name. */
interface Debt {
  readonly childName: string
  readonly cluster: ClusterName
  readonly parentUid: string
}

/** Two parents of the same name, one after the other, may owe a child of the same name. */
const keyOf = ({ childName, parentUid }: Debt): string => `${childName}.${parentUid}`

export interface DebtLedger {
  /** Names of the children that are owed; with the UID of a parent, of those that this very parent owes. */
  readonly names: (parentUid?: string) => ReadonlySet<string>
  readonly record: (cluster: ClusterName, childName: string, parentUid: string) => Effect.Effect<void, KubeError>
  /**
   * Deletes what is owed in a cluster. A child that another parent made meanwhile is left alone. Fails with the first
   * problem after everything was tried, with the first silence of the cluster, or as long as it has asked to be left
   * alone; what could not be paid stays.
   */
  readonly pay: (cluster: ClusterName, api: KubeApi) => Effect.Effect<void, KubeError>
  /** Pays again and again, wherever something is owed and `apiOf` knows an API server to ask. Never ends. */
  readonly keepPaying: (apiOf: (cluster: ClusterName) => KubeApi | undefined) => Effect.Effect<never>
}

interface LedgerState {
  /** The operator's own cluster. */
  readonly local: KubeApi
  readonly namespace: string
  /** The ConfigMap as cached. */
  readonly cache: Reflector
  /**
   * Until when servers want to be left alone, epoch ms, and their answers that said so: an occasion to pay changes
   * nothing about it.
   */
  readonly busy: Map<ClusterName, { readonly until: number; readonly error: KubeError }>
  /** What the log said last of each cluster that stays in debt: once is enough. */
  readonly reported: Map<ClusterName, string>
}

/** The debt that one entry of the ConfigMap stands for; nothing for an entry that nobody here wrote. */
const readDebt = (key: string, text: unknown): Debt | undefined => {
  const read = Schema.decodeUnknownResult(DebtText)(text)
  if (Result.isFailure(read)) return undefined
  const { cluster, parentUid } = read.success
  const suffix = `.${parentUid}`
  return key.endsWith(suffix)
    ? { childName: key.slice(0, -suffix.length), cluster: clusterName(cluster), parentUid }
    : undefined
}

const debtsOf = ({ cache, namespace }: LedgerState): ReadonlyArray<Debt> => {
  const data = (cache.get(ledgerName, namespace)?.["data"] ?? {}) as Readonly<Record<string, unknown>>
  return Object.entries(data).flatMap(([key, text]) => readDebt(key, text) ?? [])
}

const namesOf = (state: LedgerState, parentUid?: string): ReadonlySet<string> =>
  new Set(
    debtsOf(state).flatMap((debt) => (parentUid === undefined || debt.parentUid === parentUid ? [debt.childName] : []))
  )

const patchLedger = (
  { local, namespace }: LedgerState,
  key: string,
  value: string | null
): Effect.Effect<void, KubeError> =>
  Effect.asVoid(local.mergePatch(configMaps, ledgerName, { data: { [key]: value } }, { namespace }))

const createLedger = (
  { local, namespace }: LedgerState,
  key: string,
  value: string
): Effect.Effect<void, KubeError> => {
  const ledger = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: ledgerName, namespace, labels: { ...ownerLabel, [ledgerLabel]: "debts" } },
    data: { [key]: value }
  }
  return Effect.asVoid(local.create(configMaps, ledger, namespace))
}

/** Does something else after one kind of refusal. */
const orIf =
  (reason: KubeErrorReason, then: Effect.Effect<void, KubeError>) =>
  (call: Effect.Effect<void, KubeError>): Effect.Effect<void, KubeError> =>
    call.pipe(Effect.catch((error) => (error.reason === reason ? then : Effect.fail(error))))

const record = (state: LedgerState, debt: Debt): Effect.Effect<void, KubeError> => {
  const key = keyOf(debt)
  const value = JSON.stringify({ cluster: debt.cluster, parentUid: debt.parentUid })
  const patch = patchLedger(state, key, value)
  // Somebody else may make the ledger at the same moment.
  return patch.pipe(orIf("NotFound", createLedger(state, key, value).pipe(orIf("AlreadyExists", patch))))
}

const strike = (state: LedgerState, debt: Debt): Effect.Effect<void, KubeError> =>
  patchLedger(state, keyOf(debt), null).pipe(orIf("NotFound", Effect.void))

/** Deletes one child that is owed, unless another parent has made it meanwhile. */
const deleteOwed = (api: KubeApi, { childName, parentUid }: Debt): Effect.Effect<void, KubeError> =>
  Effect.gen(function* () {
    const child = yield* api.get(mirrordClusterSessions, childName)
    const { annotations, uid } = child.metadata
    if (annotations?.[childAnnotations.parentUid] !== parentUid) return
    yield* api.delete(mirrordClusterSessions, childName, uid === undefined ? {} : { uid })
    yield* logInfo("owed session deleted", { cluster: api.cluster, session: childName })
  }).pipe(orIf("NotFound", Effect.void))

const pay = (state: LedgerState, cluster: ClusterName, api: KubeApi): Effect.Effect<void, KubeError> =>
  Effect.gen(function* () {
    const { busy, cache } = state
    // Right after a start the cluster may be known to be well before the ledger was read.
    yield* cache.awaitSynced
    const wish = busy.get(cluster)
    if (wish !== undefined && (yield* Clock.currentTimeMillis) < wish.until) return yield* wish.error
    busy.delete(cluster)
    let problem: KubeError | undefined
    for (const debt of debtsOf(state).filter((owed) => owed.cluster === cluster)) {
      const paid = yield* Effect.result(Effect.andThen(deleteOwed(api, debt), () => strike(state, debt)))
      if (Result.isSuccess(paid)) continue
      problem ??= paid.failure
      const { reason, retryAfterMs } = paid.failure
      if (retryAfterMs !== undefined)
        busy.set(cluster, { until: (yield* Clock.currentTimeMillis) + retryAfterMs, error: paid.failure })
      if (reason === "Unreachable" || retryAfterMs !== undefined) break
    }
    if (problem !== undefined) return yield* problem
  })

const report = ({ reported }: LedgerState, cluster: ClusterName, problem: string | undefined): Effect.Effect<void> =>
  Effect.suspend(() => {
    const isNews = problem !== undefined && reported.get(cluster) !== problem
    if (problem === undefined) reported.delete(cluster)
    else reported.set(cluster, problem)
    return isNews ? logWarning("debts not paid", { cluster, problem }) : Effect.void
  })

const payOrReport = (state: LedgerState, cluster: ClusterName, api: KubeApi | undefined): Effect.Effect<void> =>
  api === undefined
    ? report(state, cluster, "the cluster is not configured, or cannot be connected")
    : Effect.matchEffect(pay(state, cluster, api), {
        onFailure: ({ message }) => report(state, cluster, message),
        onSuccess: () => report(state, cluster, undefined)
      })

const keepPaying = (state: LedgerState, apiOf: (cluster: ClusterName) => KubeApi | undefined): Effect.Effect<never> => {
  const payWherePossible = Effect.suspend(() => {
    const clusters = new Set(debtsOf(state).map(({ cluster }) => cluster))
    return Effect.forEach(clusters, (cluster) => payOrReport(state, cluster, apiOf(cluster)), {
      discard: true,
      concurrency: "unbounded"
    })
  })
  const pause = Effect.flatMap(Random.nextBetween(0.8, 1.2), (jitter) => Effect.sleep(payEvery * jitter))
  return Effect.forever(Effect.andThen(pause, () => payWherePossible))
}

export const makeDebtLedger = (local: KubeApi, namespace: string): Effect.Effect<DebtLedger, never, Scope.Scope> =>
  Effect.gen(function* () {
    const cache = yield* makeReflector(local, configMaps, () => {}, {
      namespace,
      labelSelector: `${ledgerLabel}=debts`
    })
    const state: LedgerState = { local, namespace, cache, busy: new Map(), reported: new Map() }
    return {
      names: (parentUid) => namesOf(state, parentUid),
      record: (cluster, childName, parentUid) => record(state, { childName, cluster, parentUid }),
      pay: (cluster, api) => pay(state, cluster, api),
      keepPaying: (apiOf) => keepPaying(state, apiOf)
    }
  })
