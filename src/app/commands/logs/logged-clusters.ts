/**
 * The clusters whose operators' logs `braid logs` reads: the chosen one and, of a primary, its members, as far as the
 * same kubeconfig has a context for them. People read logs with their own rights, never with the operator's.
 *
 * Not here: reading the logs (operator-logs.ts).
 */

import type { KubeConfig } from "@kubernetes/client-node"
import { Effect, Result, type Scope } from "effect"
import { makeKubeApi } from "../../../adapters/kubernetes/kube-api-http.ts"
import { quoted } from "../../../domain/clean-text.ts"
import type { KubeApi, PodLogs } from "../../../ports/kube-api.ts"
import { chosenConfig, type Unanswered } from "../overview/ask-cluster.ts"
import { readOperator } from "../overview/read-operator.ts"
import type { KubeConfigChoice } from "../user-kube-config.ts"

/** A cluster, by the name that the primary has for it; the chosen one by its context. */
export interface LoggedCluster {
  readonly name: string
  readonly api: KubeApi & PodLogs
}

interface LoggedClusters {
  readonly clusters: ReadonlyArray<LoggedCluster>
  /** Which clusters are left out, and why. */
  readonly notes: ReadonlyArray<string>
}

/** The context of a member: one of its name, or one of a cluster of its name. */
const contextOf = (config: KubeConfig, member: string): string | undefined => {
  const contexts = config.getContexts()
  return (contexts.find(({ name }) => name === member) ?? contexts.find(({ cluster }) => cluster === member))?.name
}

const newContext = (member: string): string =>
  `Make one of that name: kubectl config set-context ${member} --cluster=CLUSTER --user=USER.`

const noContext = (member: string): string => `The kubeconfig has no context for cluster ${quoted(member)}.`

/** A member as the person's own kubeconfig reaches it. */
const member = (
  choice: KubeConfigChoice,
  name: string,
  context: string
): Effect.Effect<LoggedCluster, Unanswered, Scope.Scope> =>
  Effect.gen(function* () {
    const config = yield* chosenConfig({ ...choice, context })
    return { name, api: yield* makeKubeApi(config, name) }
  })

/** The one cluster of that name. Without the operator's list every context of the kubeconfig counts as a cluster. */
const only = (
  choice: KubeConfigChoice,
  config: KubeConfig,
  name: string,
  members: ReadonlyArray<string> | undefined
): Effect.Effect<LoggedClusters, Unanswered, Scope.Scope> => {
  if (members !== undefined && !members.includes(name))
    return Effect.fail({
      message: `There is no cluster ${quoted(name)}.`,
      fix: `Name one of ${[config.getCurrentContext(), ...members].join(", ")}.`
    })
  const context = contextOf(config, name)
  return context === undefined
    ? Effect.fail({ message: noContext(name), fix: newContext(name) })
    : Effect.map(member(choice, name, context), (cluster) => ({ clusters: [cluster], notes: [] }))
}

/** The clusters that a person can read. `cluster`: only the one of that name. */
export const loggedClusters = (
  choice: KubeConfigChoice,
  cluster: string | undefined
): Effect.Effect<LoggedClusters, Unanswered, Scope.Scope> =>
  Effect.gen(function* () {
    const config = yield* chosenConfig(choice)
    const name = config.getCurrentContext()
    const own = { name, api: yield* makeKubeApi(config, name) }
    if (cluster === name) return { clusters: [own], notes: [] }
    const operator = yield* Effect.result(readOperator(own.api))
    const names = Result.isSuccess(operator)
      ? (operator.success.status?.connected_clusters ?? []).map((connected) => connected.name)
      : undefined
    if (cluster !== undefined) return yield* only(choice, config, cluster, names)
    const found = (names ?? []).map((each) => ({ each, context: contextOf(config, each) }))
    const members = yield* Effect.forEach(found, ({ context, each }) =>
      context === undefined || context === name
        ? Effect.succeed([])
        : Effect.map(member(choice, each, context), Array.of)
    )
    return {
      clusters: [own, ...members.flat()],
      notes: [
        ...(Result.isFailure(operator)
          ? [`The members, if there are any, are not known, and left out. ${operator.failure.message}`]
          : []),
        ...found.flatMap(({ context, each }) =>
          context === undefined ? [`${each} is left out. ${noContext(each)} ${newContext(each)}`] : []
        )
      ]
    }
  })
