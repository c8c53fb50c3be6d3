import { Effect, Result, Schema, type Scope } from "effect"
import { clusterName, type ClusterName } from "../../domain/fleet/cluster-name.ts"
import { configMaps } from "../../domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../domain/resources/mirrord-cluster-session.ts"
import { childAnnotations, ownerLabel } from "../../domain/session/names.ts"
import type { KubeApi, KubeError, KubeErrorReason } from "../../ports/kube-api.ts"
import { makeReflector } from "./reflector.ts"
import { logInfo } from "../log.ts"

const ledgerName = "mirrord-operator-debts"

const Debt = Schema.fromJsonString(Schema.Struct({ cluster: Schema.String, parentUid: Schema.String }))

/**
 * Children that could not be deleted because their cluster was away. The ledger is a ConfigMap beside the operator, so it outlives
 * the parent and the process; each debt is paid when its cluster is back.
 */
export interface DebtLedger {
  /** Names of the children that are owed. */
  readonly names: () => ReadonlySet<string>
  readonly record: (cluster: ClusterName, childName: string, parentUid: string) => Effect.Effect<void, KubeError>
  /**
   * Deletes what is owed in a cluster that is back. A child that another parent made meanwhile is left alone. Fails with the first
   * problem after everything was tried; what could not be paid stays.
   */
  readonly pay: (cluster: ClusterName, api: KubeApi) => Effect.Effect<void, KubeError>
}

export const makeDebtLedger = (local: KubeApi, namespace: string): Effect.Effect<DebtLedger, never, Scope.Scope> =>
  Effect.gen(function* () {
    const reflector = yield* makeReflector(local, configMaps, () => {}, { namespace, labelSelector: "operator.metalbear.co/ledger=debts" })

    const entries = (): ReadonlyArray<{ readonly childName: string; readonly cluster: ClusterName; readonly parentUid: string }> => {
      const data = (reflector.get(ledgerName, namespace)?.["data"] ?? {}) as Readonly<Record<string, unknown>>
      return Object.entries(data).flatMap(([childName, text]) => {
        const debt = Schema.decodeUnknownResult(Debt)(text)
        return Result.isSuccess(debt) ? [{ childName, cluster: clusterName(debt.success.cluster), parentUid: debt.success.parentUid }] : []
      })
    }

    const patch = (childName: string, value: string | null): Effect.Effect<unknown, KubeError> =>
      local.mergePatch(configMaps, ledgerName, { data: { [childName]: value } }, { namespace })

    const record = (childName: string, value: string): Effect.Effect<void, KubeError> => {
      const create = local.create(
        configMaps,
        {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { name: ledgerName, namespace, labels: { ...ownerLabel, "operator.metalbear.co/ledger": "debts" } },
          data: { [childName]: value }
        },
        namespace
      )
      const otherwise = <A>(reason: KubeErrorReason, then: Effect.Effect<A, KubeError>) =>
        Effect.catch((error: KubeError) => (error.reason === reason ? then : Effect.fail(error)))
      // Somebody else may make the ledger at the same moment.
      return patch(childName, value).pipe(
        otherwise("NotFound", create.pipe(otherwise("AlreadyExists", patch(childName, value)))),
        Effect.asVoid
      )
    }

    const strike = (childName: string): Effect.Effect<void, KubeError> =>
      patch(childName, null).pipe(
        Effect.catch((error) => (error.reason === "NotFound" ? Effect.void : Effect.fail(error))),
        Effect.asVoid
      )

    const payOne = (api: KubeApi, childName: string, parentUid: string): Effect.Effect<void, KubeError> =>
      Effect.gen(function* () {
        const child = yield* api.get(mirrordClusterSessions, childName)
        const { annotations, uid } = child.metadata
        if (annotations?.[childAnnotations.parentUid] !== parentUid) return
        yield* api.delete(mirrordClusterSessions, childName, uid === undefined ? {} : { uid })
        yield* logInfo("owed session deleted", { cluster: api.cluster, session: childName })
      }).pipe(Effect.catch((error) => (error.reason === "NotFound" ? Effect.void : Effect.fail(error))))

    return {
      names: () => new Set(entries().map(({ childName }) => childName)),
      record: (cluster, childName, parentUid) => record(childName, JSON.stringify({ cluster, parentUid })),
      pay: (cluster, api) =>
        Effect.gen(function* () {
          // Right after a start the cluster may be known to be well before the ledger was read.
          yield* reflector.awaitSynced
          const results = yield* Effect.forEach(
            entries().filter((debt) => debt.cluster === cluster),
            ({ childName, parentUid }) => Effect.result(Effect.andThen(payOne(api, childName, parentUid), () => strike(childName)))
          )
          const failed = results.find(Result.isFailure)
          if (failed !== undefined) return yield* failed.failure
        })
    }
  })
