/**
 * The specs of new sessions' objects, made from a user's connect request.
 *
 * Not here: the children of a primary's session, which are made from their parent (new-child.ts).
 */

import * as Result from "effect/Result"
import type { ClusterName } from "../fleet/cluster-name.ts"
import type { MirrordClusterSessionSpec } from "../resources/mirrord-cluster-session.ts"
import type { MirrordMultiClusterSessionSpec } from "../resources/mirrord-multi-cluster-session.ts"
import type { KubeResourceTarget, SessionOwner } from "../resources/session-shapes.ts"
import { parseTargetName } from "../target/target-path.ts"
import { toKubeTarget } from "../target/target.ts"
import type { ConnectParams } from "./connect-request.ts"

/** A user's request for a session. */
export interface SessionRequest {
  readonly namespace: string
  /** The target as the URL names it, such as `deployment.foo.container.bar`. */
  readonly target: string
  readonly clientVersion: string | undefined
}

/** The clusters of a new multi-cluster session. */
export interface SessionFleet {
  readonly clusters: ReadonlyArray<ClusterName>
  readonly primaryCluster: ClusterName
  readonly defaultCluster: ClusterName | undefined
}

/** The workload that a request names, nothing for a targetless one; fails with a sentence for the client. */
const targetOf = (
  request: SessionRequest,
  params: ConnectParams,
  labelProblem: string
): Result.Result<KubeResourceTarget | undefined, string> => {
  const target = parseTargetName(request.target, params.values.label_target)
  if (Result.isFailure(target)) return Result.fail(target.failure.message)
  return target.success._tag === "Label" ? Result.fail(labelProblem) : Result.succeed(toKubeTarget(target.success))
}

/** The spec of a session over many clusters; fails with a sentence for the client. */
export const parentSpec = (
  request: SessionRequest,
  owner: SessionOwner,
  params: ConnectParams,
  { clusters, defaultCluster, primaryCluster }: SessionFleet
): Result.Result<MirrordMultiClusterSessionSpec, string> =>
  Result.map(
    targetOf(request, params, "Label targets are not possible in a multi-cluster session; name a workload."),
    (target) => {
      const { header_filter: headerFilter, key } = params.values
      return {
        owner,
        namespace: request.namespace,
        targetAlias: request.target,
        clusters,
        primaryCluster,
        ...(target === undefined ? {} : { target }),
        ...(defaultCluster === undefined ? {} : { defaultCluster }),
        ...(key === undefined ? {} : { key }),
        ...(headerFilter === undefined ? {} : { httpFilter: { headerFilter } }),
        ...(request.clientVersion === undefined ? {} : { clientCliVersion: request.clientVersion })
      }
    }
  )

/** The spec of a session in one cluster, for a user who connects to it directly; fails with a sentence. */
export const sessionSpec = (
  request: SessionRequest,
  owner: SessionOwner,
  params: ConnectParams
): Result.Result<MirrordClusterSessionSpec, string> =>
  Result.map(targetOf(request, params, "Label targets are not supported yet; name a workload."), (target) => {
    const { key } = params.values
    return {
      namespace: request.namespace,
      owner,
      ...(target === undefined ? {} : { target }),
      ...(key === undefined ? {} : { key }),
      ...(request.clientVersion === undefined ? {} : { clientCliVersion: request.clientVersion })
    }
  })
