/**
 * One replica of the operator: stands by or leads, and runs an operator while it leads. The election is in leadership,
 * the operator in operator.ts.
 */

import { Effect, type Scope } from "effect"
import type { OperatorPod } from "../../domain/leadership/identity.ts"
import type { LeaseTimes } from "../../domain/leadership/lease-times.ts"
import { Agents } from "../../ports/agents.ts"
import { ClusterConnector } from "../../ports/cluster-connector.ts"
import type { KubeApi } from "../../ports/kube-api.ts"
import type { Facade } from "../api/facade-gate.ts"
import type { Term } from "../kernel/term.ts"
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
  /** Without a candidacy, as outside of a cluster, this process is the operator, and no other process may be. */
  readonly candidacy: Candidacy | undefined
  readonly elected: ElectedFacade
}

/** Starts an operator in a given world: a leader's, or one without any bounds. */
const startOperator = (
  { operator }: ReplicaOptions,
  connector: ClusterConnector["Service"],
  agents: Agents["Service"]
): Effect.Effect<Facade, never, Scope.Scope> =>
  untilStarted(
    makeOperator(operator).pipe(
      Effect.provideService(ClusterConnector, connector),
      Effect.provideService(Agents, agents)
    )
  )

/** Runs the operator from the start of this process to its end. */
const runAlone = (options: ReplicaOptions): Effect.Effect<never, never, Scope.Scope> => {
  const { agents, connector, elected } = options
  return startOperator(options, connector, agents(connector.own.api)).pipe(
    Effect.flatMap(elected.serve),
    Effect.andThen(Effect.never)
  )
}

/** Runs an operator for one term, in a world that checks at each write whether the term lasts. */
const runForTerm = (
  options: ReplicaOptions,
  { pod }: Candidacy,
  term: Term
): Effect.Effect<never, never, Scope.Scope> => {
  const { agents, connector, elected, operator } = options
  const connected = connectorWhileLeading(term, connector)
  return startOperator(options, connected, agentsWhileLeading(term, agents(connected.own.api))).pipe(
    Effect.flatMap((facade) => elected.serve(facadeWhileLeading(term, facade))),
    Effect.andThen(
      keepLeaderLabel({ api: apiWhileLeading(term, connector.own.api), namespace: operator.namespace, pod })
    )
  )
}

/** Runs an operator whenever this replica is the leader. */
export const runReplica = (options: ReplicaOptions): Effect.Effect<never, never, Scope.Scope> => {
  const { candidacy, connector, operator } = options
  if (candidacy === undefined) return runAlone(options)
  const { pod, times } = candidacy
  const at = { api: connector.own.api, namespace: operator.namespace, pod }
  return electLeader({ ...at, times, resign: dropLeaderLabel(at) }, (term) => runForTerm(options, candidacy, term))
}
