/**
 * Wraps a facade with one treatment for each kind of request, instead of one for each request. Layers of the facade
 * (elected, starting, leading, own clock) differ only in their gates; no gate knows a capability.
 */

import { Effect, identity, type Scope } from "effect"
import type { AcceptedConnection, OperatorFacade } from "./operator-facade.ts"
import type { ApiError } from "./status.ts"

export type Facade = OperatorFacade["Service"]

type Connecting = Effect.Effect<AcceptedConnection, ApiError, Scope.Scope>

/** The treatment of requests, by kind. Requests of a missing kind pass unchanged. */
export interface FacadeGate {
  /** Answered here while the operator cannot; never fails. */
  readonly problems: Facade["problems"]
  /** Requests that change nothing. */
  readonly read?: <A>(request: Effect.Effect<A, ApiError>) => Effect.Effect<A, ApiError>
  /** Requests that change the cluster. */
  readonly write?: <A>(request: Effect.Effect<A, ApiError>) => Effect.Effect<A, ApiError>
  readonly connect?: (connecting: Connecting) => Connecting
}

/** The facade behind a gate. `behind` is evaluated for each request, because the facade that answers may change. */
export const mapFacade = (behind: Effect.Effect<Facade, ApiError>, gate: FacadeGate): Facade => {
  const { connect = identity, problems, read = identity, write = identity } = gate
  return {
    problems,
    describe: read(Effect.flatMap(behind, (facade) => facade.describe)),
    issueCertificate: (csr) => read(Effect.flatMap(behind, (facade) => facade.issueCertificate(csr))),
    listSessions: (...which) => read(Effect.flatMap(behind, (facade) => facade.listSessions(...which))),
    listClusters: read(Effect.flatMap(behind, (facade) => facade.listClusters)),
    cluster: (name) => read(Effect.flatMap(behind, (facade) => facade.cluster(name))),
    proxy: (...request) => read(Effect.flatMap(behind, (facade) => facade.proxy(...request))),
    listQueueSplits: (namespace) => read(Effect.flatMap(behind, (facade) => facade.listQueueSplits(namespace))),
    queueSplit: (...which) => read(Effect.flatMap(behind, (facade) => facade.queueSplit(...which))),
    listTargets: (namespace) => read(Effect.flatMap(behind, (facade) => facade.listTargets(namespace))),
    target: (...which) => read(Effect.flatMap(behind, (facade) => facade.target(...which))),
    portLocks: (...which) => read(Effect.flatMap(behind, (facade) => facade.portLocks(...which))),
    watchInterceptions: (...which) => read(Effect.flatMap(behind, (facade) => facade.watchInterceptions(...which))),
    deleteSession: (...stop) => write(Effect.flatMap(behind, (facade) => facade.deleteSession(...stop))),
    deleteSessions: (which, caller, namespace) =>
      write(Effect.flatMap(behind, (facade) => facade.deleteSessions(which, caller, namespace))),
    createCopyTarget: (request) => write(Effect.flatMap(behind, (facade) => facade.createCopyTarget(request))),
    listCopyTargets: (selection) => read(Effect.flatMap(behind, (facade) => facade.listCopyTargets(selection))),
    copyTarget: (...which) => read(Effect.flatMap(behind, (facade) => facade.copyTarget(...which))),
    takeCredentials: (request) => write(Effect.flatMap(behind, (facade) => facade.takeCredentials(request))),
    reviewPod: (...review) => read(Effect.flatMap(behind, (facade) => facade.reviewPod(...review))),
    usageReport: (...which) => read(Effect.flatMap(behind, (facade) => facade.usageReport(...which))),
    connect: (request) => connect(Effect.flatMap(behind, (facade) => facade.connect(request)))
  }
}
