import { Effect, type Scope } from "effect"
import type { OperatorPod } from "../../domain/leadership/identity.ts"
import type { LeaseTimes } from "../../domain/leadership/lease-times.ts"
import { Agents } from "../../ports/agents.ts"
import { ClusterConnector } from "../../ports/cluster-connector.ts"
import type { KubeApi } from "../../ports/kube-api.ts"
import type { ElectedFacade } from "../leadership/elected-facade.ts"
import { electLeader } from "../leadership/elector.ts"
import { dropLeaderLabel, keepLeaderLabel } from "../leadership/leader-label.ts"
import {
  agentsWhileLeading,
  apiWhileLeading,
  connectorWhileLeading,
  facadeWhileLeading
} from "../leadership/while-leading.ts"
import { makeOperator, type OperatorOptions } from "./operator.ts"
import { untilStarted } from "./starting.ts"

/** How this replica takes part in the election. */
export interface Candidacy {
  readonly pod: OperatorPod
  readonly times: LeaseTimes
}

export interface ReplicaOptions {
  readonly operator: OperatorOptions
  readonly connector: ClusterConnector["Service"]
  /** The agents of this cluster, made through `api`. */
  readonly agents: (api: KubeApi) => Agents["Service"]
  /** Without one, as outside of a cluster: this process is the operator, and nobody else may be. */
  readonly candidacy: Candidacy | undefined
  readonly elected: ElectedFacade
}

/** Runs an operator whenever this replica is the leader. */
export const runReplica = (options: ReplicaOptions): Effect.Effect<never, never, Scope.Scope> => {
  const { agents, candidacy, connector, elected, operator } = options
  const run = (connected: ClusterConnector["Service"], started: Agents["Service"]) =>
    untilStarted(
      makeOperator(operator).pipe(
        Effect.provideService(ClusterConnector, connected),
        Effect.provideService(Agents, started)
      )
    )
  if (candidacy === undefined) {
    return run(connector, agents(connector.own.api)).pipe(Effect.flatMap(elected.serve), Effect.andThen(Effect.never))
  }
  const { namespace } = operator
  const { api } = connector.own
  const { pod, times } = candidacy
  return electLeader({ api, namespace, pod, times, resign: dropLeaderLabel({ api, namespace, pod }) }, (term) => {
    const connected = connectorWhileLeading(term, connector)
    return run(connected, agentsWhileLeading(term, agents(connected.own.api))).pipe(
      Effect.flatMap((facade) => elected.serve(facadeWhileLeading(term, facade))),
      Effect.andThen(keepLeaderLabel({ api: apiWhileLeading(term, api), namespace, pod }))
    )
  })
}
