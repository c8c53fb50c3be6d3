/**
 * Remembers children that could not be deleted because their cluster was unreachable or refused. The ledger is a
 * ConfigMap beside the operator, so it outlives the parent and the process; a debt is paid as soon as its cluster
 * accepts the deletion. When a child is owed is decided in `domain/sessions/session-cleanup.ts`.
 */

import { Clock, Effect, Random, Result, Schema } from "effect"
import { clusterName, type ClusterName } from "../../../domain/fleet/cluster-name.ts"
import { mirrordClusterSessions } from "../../../domain/resources/mirrord-cluster-session.ts"
import { childMarks } from "../../../domain/sessions/child-owner.ts"
import type { KubeApi, KubeError } from "../../../ports/kube-api.ts"
import { type LedgerPlace, patchLedger, writeLedger } from "../../kernel/ledger.ts"
import { logInfo, logWarning } from "../../kernel/log.ts"
import { deleteMeant } from "../../kernel/mirrored-object.ts"
import { orIf } from "../../kernel/or-if.ts"
import type { Reflector } from "../../kernel/reflector.ts"

const ledgerName = "mirrord-operator-debts"

/** How often debts are tried again, in ms, before jitter: a cluster that was never lost can refuse a deletion too. */
const payEvery = 30_000

const DebtText = Schema.fromJsonString(Schema.Struct({ cluster: Schema.String, parentUid: Schema.String }))

/** A child that is still to be deleted. Its name alone could belong to the child of a later parent of the same name. */
interface Debt {
  readonly childName: string
  readonly cluster: ClusterName
  readonly parentUid: string
}

/** Contains the UID, because two successive parents of the same name may owe a child of the same name. */
const keyOf = ({ childName, parentUid }: Debt): string => `${childName}.${parentUid}`

export interface DebtLedger {
  /** Names of the owed children: of all parents, or only of the parent with the given UID. */
  readonly names: (parentUid?: string) => ReadonlySet<string>
  readonly record: (cluster: ClusterName, childName: string, parentUid: string) => Effect.Effect<void, KubeError>
  /**
   * Deletes the owed children of a cluster. A child that another parent has created since is left alone. Fails with the
   * first problem after all debts were tried; stops early when the cluster does not answer, or has asked to be left
   * alone. Unpaid debts stay in the ledger.
   */
  readonly pay: (cluster: ClusterName, api: KubeApi) => Effect.Effect<void, KubeError>
  /** Pays all debts again and again, in every cluster for which `apiOf` gives an API server. Never ends. */
  readonly keepPaying: (apiOf: (cluster: ClusterName) => KubeApi | undefined) => Effect.Effect<never>
}

interface LedgerState {
  readonly place: LedgerPlace
  /** All ledgers as cached. */
  readonly cache: Reflector
  /**
   * By cluster: its Retry-After deadline, epoch ms, and the error that carried it. A chance to pay does not shorten it.
   */
  readonly busy: Map<ClusterName, { readonly until: number; readonly error: KubeError }>
  /** The last logged problem of each cluster that stays in debt; the same problem is logged once. */
  readonly reported: Map<ClusterName, string>
}

/** The debt in an entry of the ConfigMap; `undefined` if the operator did not write it. */
const readDebt = (key: string, text: unknown): Debt | undefined => {
  const read = Schema.decodeUnknownResult(DebtText)(text)
  if (Result.isFailure(read)) return undefined
  const { cluster, parentUid } = read.success
  const suffix = `.${parentUid}`
  return key.endsWith(suffix)
    ? { childName: key.slice(0, -suffix.length), cluster: clusterName(cluster), parentUid }
    : undefined
}

const debtsOf = ({ cache, place }: LedgerState): ReadonlyArray<Debt> => {
  const data = (cache.get(ledgerName, place.namespace)?.["data"] ?? {}) as Readonly<Record<string, unknown>>
  return Object.entries(data).flatMap(([key, text]) => readDebt(key, text) ?? [])
}

const namesOf = (state: LedgerState, parentUid?: string): ReadonlySet<string> =>
  new Set(
    debtsOf(state).flatMap((debt) => (parentUid === undefined || debt.parentUid === parentUid ? [debt.childName] : []))
  )

const record = ({ place }: LedgerState, debt: Debt): Effect.Effect<void, KubeError> =>
  writeLedger(place, { [keyOf(debt)]: JSON.stringify({ cluster: debt.cluster, parentUid: debt.parentUid }) })

const strike = ({ place }: LedgerState, debt: Debt): Effect.Effect<void, KubeError> =>
  patchLedger(place, { [keyOf(debt)]: null }).pipe(orIf("NotFound", Effect.void))

/** Deletes one owed child, unless another parent has created it since. */
const deleteOwed = Effect.fnUntraced(function* (
  api: KubeApi,
  { childName: name, parentUid }: Debt
): Effect.fn.Return<void, KubeError> {
  const place = { api, resource: mirrordClusterSessions, name }
  const deletion = yield* deleteMeant(place, (child) => childMarks(child).parentUid === parentUid)
  if (deletion === "Begun") yield* logInfo("owed session deleted", { cluster: api.cluster, session: name })
})

const pay = Effect.fnUntraced(function* (
  state: LedgerState,
  cluster: ClusterName,
  api: KubeApi
): Effect.fn.Return<void, KubeError> {
  const { busy, cache } = state
  // Right after a start a cluster may be known as healthy before the ledger has been read.
  yield* cache.awaitSynced
  const backOff = busy.get(cluster)
  if (backOff !== undefined && (yield* Clock.currentTimeMillis) < backOff.until) return yield* backOff.error
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

/** `cache`: all ledgers of the operator, see {@link LedgerPlace}. */
export const makeDebtLedger = (api: KubeApi, namespace: string, cache: Reflector): DebtLedger => {
  const place: LedgerPlace = { api, namespace, name: ledgerName, kind: "debts" }
  const state: LedgerState = { place, cache, busy: new Map(), reported: new Map() }
  return {
    names: (parentUid) => namesOf(state, parentUid),
    record: (cluster, childName, parentUid) => record(state, { childName, cluster, parentUid }),
    pay: (cluster, memberApi) => pay(state, cluster, memberApi),
    keepPaying: (apiOf) => keepPaying(state, apiOf)
  }
}
