import { Clock, Effect, Random, Result, Schema, type Scope } from "effect"
import { clusterName, type ClusterName } from "../../../domain/fleet/cluster-name.ts"
import { configMaps } from "../../../domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../domain/resources/mirrord-cluster-session.ts"
import { childAnnotations, ownerLabel } from "../../../domain/session/names.ts"
import type { KubeApi, KubeError, KubeErrorReason } from "../../../ports/kube-api.ts"
import { logInfo, logWarning } from "../../kernel/log.ts"
import { makeReflector } from "../../kernel/reflector.ts"

const ledgerName = "mirrord-operator-debts"

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

/**
 * Children that could not be deleted because their cluster was away or refused it. The ledger is a ConfigMap beside the
 * operator, so it outlives the parent and the process; each debt is paid as soon as its cluster takes it.
 */
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

export const makeDebtLedger = (local: KubeApi, namespace: string): Effect.Effect<DebtLedger, never, Scope.Scope> =>
  Effect.gen(function* () {
    const reflector = yield* makeReflector(local, configMaps, () => {}, {
      namespace,
      labelSelector: "operator.metalbear.co/ledger=debts"
    })

    const entries = (): ReadonlyArray<Debt> => {
      const data = (reflector.get(ledgerName, namespace)?.["data"] ?? {}) as Readonly<Record<string, unknown>>
      return Object.entries(data).flatMap(([key, text]) => {
        const read = Schema.decodeUnknownResult(DebtText)(text)
        if (Result.isFailure(read)) return []
        const { cluster, parentUid } = read.success
        const suffix = `.${parentUid}`
        return key.endsWith(suffix)
          ? [{ childName: key.slice(0, -suffix.length), cluster: clusterName(cluster), parentUid }]
          : []
      })
    }

    const patch = (key: string, value: string | null): Effect.Effect<unknown, KubeError> =>
      local.mergePatch(configMaps, ledgerName, { data: { [key]: value } }, { namespace })

    const record = (key: string, value: string): Effect.Effect<void, KubeError> => {
      const create = local.create(
        configMaps,
        {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { name: ledgerName, namespace, labels: { ...ownerLabel, "operator.metalbear.co/ledger": "debts" } },
          data: { [key]: value }
        },
        namespace
      )
      const otherwise = <A>(reason: KubeErrorReason, then: Effect.Effect<A, KubeError>) =>
        Effect.catch((error: KubeError) => (error.reason === reason ? then : Effect.fail(error)))
      // Somebody else may make the ledger at the same moment.
      return patch(key, value).pipe(
        otherwise("NotFound", create.pipe(otherwise("AlreadyExists", patch(key, value)))),
        Effect.asVoid
      )
    }

    const strike = (debt: Debt): Effect.Effect<void, KubeError> =>
      patch(keyOf(debt), null).pipe(
        Effect.catch((error) => (error.reason === "NotFound" ? Effect.void : Effect.fail(error))),
        Effect.asVoid
      )

    const payOne = (api: KubeApi, { childName, parentUid }: Debt): Effect.Effect<void, KubeError> =>
      Effect.gen(function* () {
        const child = yield* api.get(mirrordClusterSessions, childName)
        const { annotations, uid } = child.metadata
        if (annotations?.[childAnnotations.parentUid] !== parentUid) return
        yield* api.delete(mirrordClusterSessions, childName, uid === undefined ? {} : { uid })
        yield* logInfo("owed session deleted", { cluster: api.cluster, session: childName })
      }).pipe(Effect.catch((error) => (error.reason === "NotFound" ? Effect.void : Effect.fail(error))))

    /**
     * Until when servers want to be left alone, epoch ms, and their answers that said so: an occasion to pay changes
     * nothing about it.
     */
    const busy = new Map<ClusterName, { readonly until: number; readonly error: KubeError }>()

    const pay = (cluster: ClusterName, api: KubeApi): Effect.Effect<void, KubeError> =>
      Effect.gen(function* () {
        // Right after a start the cluster may be known to be well before the ledger was read.
        yield* reflector.awaitSynced
        const wish = busy.get(cluster)
        if (wish !== undefined && (yield* Clock.currentTimeMillis) < wish.until) return yield* wish.error
        busy.delete(cluster)
        let problem: KubeError | undefined
        for (const debt of entries().filter((one) => one.cluster === cluster)) {
          const paid = yield* Effect.result(Effect.andThen(payOne(api, debt), () => strike(debt)))
          if (Result.isSuccess(paid)) continue
          problem ??= paid.failure
          const { reason, retryAfterMs } = paid.failure
          if (retryAfterMs !== undefined)
            busy.set(cluster, { until: (yield* Clock.currentTimeMillis) + retryAfterMs, error: paid.failure })
          if (reason === "Unreachable" || retryAfterMs !== undefined) break
        }
        if (problem !== undefined) return yield* problem
      })

    return {
      names: (parentUid) =>
        new Set(
          entries().flatMap((debt) => (parentUid === undefined || debt.parentUid === parentUid ? [debt.childName] : []))
        ),
      record: (cluster, childName, parentUid) =>
        record(keyOf({ childName, cluster, parentUid }), JSON.stringify({ cluster, parentUid })),
      pay,
      keepPaying: (apiOf) => {
        /** What was said last of each cluster that stays in debt: once is enough. */
        const told = new Map<ClusterName, string>()
        const tell = (cluster: ClusterName, problem: string | undefined): Effect.Effect<void> =>
          Effect.suspend(() => {
            const isNews = problem !== undefined && told.get(cluster) !== problem
            if (problem === undefined) told.delete(cluster)
            else told.set(cluster, problem)
            return isNews ? logWarning("debts not paid", { cluster, problem }) : Effect.void
          })
        const payWherePossible = Effect.suspend(() =>
          Effect.forEach(
            new Set(entries().map(({ cluster }) => cluster)),
            (cluster) => {
              const api = apiOf(cluster)
              if (api === undefined) return tell(cluster, "the cluster is not configured, or cannot be connected")
              return Effect.matchEffect(pay(cluster, api), {
                onFailure: ({ message }) => tell(cluster, message),
                onSuccess: () => tell(cluster, undefined)
              })
            },
            { discard: true, concurrency: "unbounded" }
          )
        )
        const pause = Effect.flatMap(Random.nextBetween(0.8, 1.2), (jitter) => Effect.sleep(payEvery * jitter))
        return Effect.forever(Effect.andThen(pause, () => payWherePossible))
      }
    }
  })
