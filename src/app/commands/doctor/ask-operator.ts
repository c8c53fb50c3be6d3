/**
 * Asks the operator of a cluster, through its API server, which version it is and what it can do.
 *
 * Not here: whether that is right (domain/commands/doctor/examine-operator.ts).
 */

import { Effect, Result } from "effect"
import { pathOf } from "../../../adapters/kubernetes/kube-api-http.ts"
import type { Answer, OperatorFacts } from "../../../domain/commands/doctor/cluster-facts.ts"
import { isAboutIdentity } from "../../../domain/fleet/cluster-identity.ts"
import {
  type ConnectedCluster,
  mirrordOperators,
  refusedConfiguration,
  unreadCollections
} from "../../../domain/resources/mirrord-operator.ts"
import { readResource } from "../../../domain/resources/resource-descriptor.ts"
import type { ClusterProbe } from "../../../ports/cluster-probe.ts"
import { servedPlurals, valueOf } from "./probe-answer.ts"

const refusedIdentities = (clusters: ReadonlyArray<ConnectedCluster>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    clusters.flatMap((cluster) =>
      "error" in cluster && isAboutIdentity(cluster.error.message) ? [[cluster.name, cluster.error.message]] : []
    )
  )

const readOperatorFacts = (body: unknown): OperatorFacts | undefined => {
  const operator = readResource(mirrordOperators, body)
  if (Result.isFailure(operator)) return undefined
  const {
    operator_version: version,
    protocol_version: protocolVersion,
    supported_features: features
  } = operator.success.spec
  return {
    version,
    protocolVersion: protocolVersion ?? undefined,
    features: features ?? [],
    refusedConfiguration: refusedConfiguration(operator.success.status),
    unreadCollections: unreadCollections(operator.success.status),
    refusedIdentities: refusedIdentities(operator.success.status?.connected_clusters ?? [])
  }
}

/** Asks for the operator's object; without the right to read it, for its discovery, which everybody may read. */
export const askOperator = Effect.fnUntraced(function* (probe: ClusterProbe): Effect.fn.Return<Answer<OperatorFacts>> {
  const answer = valueOf(
    yield* probe.request("GET", pathOf(mirrordOperators, undefined, "operator")),
    readOperatorFacts
  )
  if (answer._tag !== "Refused" || answer.code !== 403) return answer
  const { group, plural, version } = mirrordOperators
  return valueOf(yield* probe.request("GET", `/apis/${group}/${version}`), (body) =>
    servedPlurals(body).includes(plural) ? { version: undefined, protocolVersion: undefined, features: [] } : undefined
  )
})
