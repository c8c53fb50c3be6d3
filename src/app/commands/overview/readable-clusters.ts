/**
 * The clusters that `braid logs` and `braid branches` read: the chosen one and, of a primary, its members, as far as
 * the same kubeconfig has a context for them. People read with their own rights, never with the operator's.
 *
 * Not here: reading them.
 */

import type { KubeConfig } from "@kubernetes/client-node"
import { Effect, Result, type Scope } from "effect"
import { makeKubeApi } from "../../../adapters/kubernetes/kube-api-http.ts"
import { quoted } from "../../../domain/clean-text.ts"
import type { KubeApi, PodLogs } from "../../../ports/kube-api.ts"
import type { KubeConfigChoice } from "../user-kube-config.ts"
import { chosenConfig, type Unanswered } from "./ask-cluster.ts"
import { readOperator } from "./read-operator.ts"

/** A cluster, by the name that the primary has for it; the chosen one by its context. */
export interface ReadableCluster {
  readonly name: string
  readonly api: KubeApi & PodLogs
  /** Namespace of its context. */
  readonly namespace: string
}

export interface ReadableClusters {
  readonly clusters: ReadonlyArray<ReadableCluster>
  /** Namespace of the operator, if the chosen cluster only manages others. */
  readonly operatorNamespace?: string | undefined
  /** Why the members are not known. */
  readonly notes: ReadonlyArray<string>
  /** The members for which the kubeconfig has no context. */
  readonly leftOut: ReadonlyArray<string>
}

/** The context of a member: one of its name, or one of a cluster of its name. */
const contextOf = (config: KubeConfig, member: string): string | undefined => {
  const contexts = config.getContexts()
  return (contexts.find(({ name }) => name === member) ?? contexts.find(({ cluster }) => cluster === member))?.name
}

const newContext = (member: string): string =>
  `Make one of that name: kubectl config set-context ${member} --cluster=CLUSTER --user=USER.`

const noContext = (member: string): string => `The kubeconfig has no context for cluster ${quoted(member)}.`

const namespaceOf = (config: KubeConfig): string =>
  config.getContextObject(config.getCurrentContext())?.namespace ?? "default"

/** A member as the person's own kubeconfig reaches it. */
const member = Effect.fnUntraced(function* (
  choice: KubeConfigChoice,
  name: string,
  context: string
): Effect.fn.Return<ReadableCluster, Unanswered, Scope.Scope> {
  const config = yield* chosenConfig({ ...choice, context })
  return { name, api: yield* makeKubeApi(config, name), namespace: namespaceOf(config) }
})

/** The one cluster of that name. Without the operator's list every context of the kubeconfig counts as a cluster. */
const only = (
  choice: KubeConfigChoice,
  config: KubeConfig,
  name: string,
  members: ReadonlyArray<string> | undefined
): Effect.Effect<ReadableClusters, Unanswered, Scope.Scope> => {
  if (members !== undefined && !members.includes(name))
    return Effect.fail({
      message: `There is no cluster ${quoted(name)}.`,
      fix: `Name one of ${[config.getCurrentContext(), ...members].join(", ")}.`
    })
  const context = contextOf(config, name)
  return context === undefined
    ? Effect.fail({ message: noContext(name), fix: newContext(name) })
    : Effect.map(member(choice, name, context), (cluster) => ({ clusters: [cluster], notes: [], leftOut: [] }))
}

/** The clusters that a person can read. `cluster`: only the one of that name. */
export const readableClusters = Effect.fnUntraced(function* (
  choice: KubeConfigChoice,
  cluster: string | undefined
): Effect.fn.Return<ReadableClusters, Unanswered, Scope.Scope> {
  const config = yield* chosenConfig(choice)
  const name = config.getCurrentContext()
  const own = { name, api: yield* makeKubeApi(config, name), namespace: namespaceOf(config) }
  if (cluster === name) return { clusters: [own], notes: [], leftOut: [] }
  const operator = yield* Effect.result(readOperator(own.api))
  const names = Result.isSuccess(operator)
    ? (operator.success.status?.connected_clusters ?? []).map((connected) => connected.name)
    : undefined
  if (cluster !== undefined) return yield* only(choice, config, cluster, names)
  const found = (names ?? []).map((each) => ({ each, context: contextOf(config, each) }))
  const members = yield* Effect.forEach(found, ({ context, each }) =>
    context === undefined || context === name ? Effect.succeed([]) : Effect.map(member(choice, each, context), Array.of)
  )
  return {
    clusters: [own, ...members.flat()],
    operatorNamespace: Result.isSuccess(operator) ? (operator.success.spec.operator_namespace ?? undefined) : undefined,
    notes: Result.isFailure(operator)
      ? [`The members, if there are any, are not known, and left out. ${operator.failure.message}`]
      : [],
    leftOut: found.flatMap(({ context, each }) =>
      context === undefined ? [`${each} is left out. ${noContext(each)} ${newContext(each)}`] : []
    )
  }
})
