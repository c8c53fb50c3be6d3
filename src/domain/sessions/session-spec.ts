/**
 * The specs of new sessions' objects, made from a user's connect request.
 *
 * Not here: the children of a primary's session, which are made from their parent (new-child.ts).
 */

import * as Result from "effect/Result"
import { cleanText, textLimits } from "../clean-text.ts"
import type { ClusterName } from "../fleet/cluster-name.ts"
import type { MirrordClusterSessionSpec } from "../resources/mirrord-cluster-session.ts"
import type { MirrordMultiClusterSessionSpec } from "../resources/mirrord-multi-cluster-session.ts"
import type { SessionOwner } from "../resources/session-shapes.ts"
import { toKubeTarget } from "../targets/kube-target.ts"
import { parseTargetName } from "../targets/target-path.ts"
import type { Target } from "../targets/target.ts"
import type { ConnectParams } from "./connect-request.ts"

/** A user's request for a session. */
export interface SessionRequest {
  readonly namespace: string
  /** The target as the URL names it, such as `deployment.foo.container.bar`. */
  readonly target: string
  readonly clientVersion: string | undefined
  /** Set for a copy of a target, whose pod is the target. */
  readonly copyTarget?: { readonly scaledown: boolean }
}

/** The clusters of a new multi-cluster session. */
export interface SessionFleet {
  readonly clusters: ReadonlyArray<ClusterName>
  readonly primaryCluster: ClusterName
  readonly defaultCluster: ClusterName | undefined
}

/** A connect parameter as it is stored and shown. Members get the parameter itself, with the connect request. */
const storedText = (parameter: string): string => cleanText(parameter, textLimits.parameter)

/** The texts by which a CI run describes itself. The definition of parents takes no nulls. */
const storedTexts = (texts: Readonly<Record<string, string | null>>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(texts).flatMap(([name, text]) => (text === null ? [] : [[name, storedText(text)] as const]))
  )

/** The parts of a spec that the client chose, the same in both kinds of sessions. */
const chosen = (
  { values: { header_filter: headerFilter, key, session_ci_info: ciInfo } }: ConnectParams,
  { clientVersion, copyTarget }: SessionRequest
) => ({
  ...(key === undefined ? {} : { key: storedText(key) }),
  ...(headerFilter === undefined ? {} : { httpFilter: { headerFilter: storedText(headerFilter) } }),
  ...(clientVersion === undefined ? {} : { clientCliVersion: clientVersion }),
  ...(ciInfo === undefined ? {} : { ciInfo: storedTexts(ciInfo) }),
  ...(copyTarget === undefined ? {} : { copyTarget: { scaledown: copyTarget.scaledown } })
})

/** The target that a request names; fails with a sentence for the client. */
const targetOf = (request: SessionRequest, { values }: ConnectParams): Result.Result<Target, string> =>
  Result.mapError(parseTargetName(request.target, values.label_target), ({ message }) => message)

/** The target of a session over many clusters, which is no label target. */
const parentTarget = (request: SessionRequest, params: ConnectParams): Result.Result<Target, string> =>
  Result.flatMap(targetOf(request, params), (target) =>
    target._tag === "Label"
      ? Result.fail("Label targets are not possible in a multi-cluster session; name a workload.")
      : Result.succeed(target)
  )

/** The spec of a session over many clusters; fails with a sentence for the client. */
export const parentSpec = (
  request: SessionRequest,
  owner: SessionOwner,
  params: ConnectParams,
  { clusters, defaultCluster, primaryCluster }: SessionFleet
): Result.Result<MirrordMultiClusterSessionSpec, string> =>
  Result.map(parentTarget(request, params), (named) => {
    const target = toKubeTarget(named)
    return {
      owner,
      namespace: request.namespace,
      targetAlias: request.target,
      clusters,
      primaryCluster,
      ...(target === undefined ? {} : { target }),
      ...(defaultCluster === undefined ? {} : { defaultCluster }),
      ...chosen(params, request)
    }
  })

/** The spec of a session in one cluster, for a user who connects to it directly; fails with a sentence. */
export const sessionSpec = (
  request: SessionRequest,
  owner: SessionOwner,
  params: ConnectParams
): Result.Result<MirrordClusterSessionSpec, string> =>
  Result.map(targetOf(request, params), (named) => {
    const target = toKubeTarget(named)
    return {
      namespace: request.namespace,
      owner,
      ...(target === undefined ? {} : { target }),
      ...chosen(params, request)
    }
  })
