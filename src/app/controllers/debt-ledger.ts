import { Effect, Result, Schema, type Scope } from "effect"
import { clusterName, type ClusterName } from "../../domain/fleet/cluster-name.ts"
import { configMaps } from "../../domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../domain/resources/mirrord-cluster-session.ts"
import { childAnnotations, ownerLabel } from "../../domain/session/names.ts"
import type { KubeApi, KubeError } from "../../ports/kube-api.ts"
import { makeReflector } from "./reflector.ts"

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
  /** Deletes what is owed in a cluster that is back. A child that another parent made meanwhile is left alone. */
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

    const write = (childName: string, value: string | null): Effect.Effect<void, KubeError> =>
      local.mergePatch(configMaps, ledgerName, { data: { [childName]: value } }, { namespace }).pipe(
        Effect.catch((error) =>
          error.reason !== "NotFound"
            ? Effect.fail(error)
            : local.create(
                configMaps,
                {
                  apiVersion: "v1",
                  kind: "ConfigMap",
                  metadata: { name: ledgerName, namespace, labels: { ...ownerLabel, "operator.metalbear.co/ledger": "debts" } },
                  data: value === null ? {} : { [childName]: value }
                },
                namespace
              )
        ),
        Effect.asVoid
      )

    const payOne = (api: KubeApi, childName: string, parentUid: string): Effect.Effect<void, KubeError> =>
      Effect.gen(function* () {
        const child = yield* api.get(mirrordClusterSessions, childName)
        const { annotations, uid } = child.metadata
        if (annotations?.[childAnnotations.parentUid] !== parentUid) return
        yield* api.delete(mirrordClusterSessions, childName, uid === undefined ? {} : { uid })
        yield* Effect.logInfo("owed session deleted", { cluster: api.cluster, session: childName })
      }).pipe(Effect.catch((error) => (error.reason === "NotFound" ? Effect.void : Effect.fail(error))))

    return {
      names: () => new Set(entries().map(({ childName }) => childName)),
      record: (cluster, childName, parentUid) => write(childName, JSON.stringify({ cluster, parentUid })),
      pay: (cluster, api) =>
        Effect.forEach(
          entries().filter((debt) => debt.cluster === cluster),
          ({ childName, parentUid }) => Effect.andThen(payOne(api, childName, parentUid), () => write(childName, null)),
          { discard: true }
        )
    }
  })
