/**
 * How `braid doctor` examines the tokens of an EKS cluster: in the operator's pod it makes one, as the operator does.
 * Elsewhere it has not the operator's AWS identity, and looks up what the operator and its service account say.
 *
 * Not here: what that means (domain/doctor/examine-credentials.ts).
 */

import { Effect, Result } from "effect"
import { memberConfig } from "../../../adapters/kubernetes/cluster-connector.ts"
import type { CredentialFacts } from "../../../domain/doctor/cluster-facts.ts"
import type { MemberConfiguration } from "../../../domain/fleet/configuration.ts"
import { asString, at } from "../../../domain/json.ts"
import { mirrordOperators } from "../../../domain/resources/mirrord-operator.ts"
import { readResource } from "../../../domain/resources/resource-descriptor.ts"
import { EksTokens } from "../../../ports/eks-tokens.ts"
import type { KubeObject, ResourceRef } from "../../../ports/kube-api.ts"
import type { ExaminedCluster } from "./examined-cluster.ts"
import type { Installation } from "./installation.ts"

const serviceAccounts: ResourceRef = { group: "", version: "v1", plural: "serviceaccounts", scope: "Namespaced" }

type EksReport = Extract<CredentialFacts, { readonly _tag: "EksOfOperator" }>["report"]

const reportOf = (object: KubeObject, name: string): EksReport => {
  const operator = Result.getOrUndefined(readResource(mirrordOperators, object))
  const cluster = operator?.status?.connected_clusters?.find((connected) => connected.name === name)
  if (cluster === undefined) return undefined
  return "error" in cluster ? { _tag: "Lost", why: cluster.error.message } : { _tag: "Connected" }
}

/** All that can be told without the operator's AWS identity. */
const seenElsewhere = (
  name: string,
  region: string,
  { account, own }: Pick<Installation, "account" | "own">
): Effect.Effect<CredentialFacts> =>
  Effect.gen(function* () {
    const operator = yield* Effect.option(own.get(mirrordOperators, "operator"))
    const found =
      account === undefined
        ? undefined
        : yield* Effect.option(own.get(serviceAccounts, account.name, account.namespace))
    const role =
      found?._tag === "Some"
        ? (asString(at(found.value, "metadata", "annotations", "eks.amazonaws.com/role-arn")) ?? "")
        : undefined
    return {
      _tag: "EksOfOperator",
      region,
      role,
      report: operator._tag === "Some" ? reportOf(operator.value, name) : undefined
    }
  })

const unusable = (problem: string, fix: string) => ({ credentials: { _tag: "Unusable", problem, fix } }) as const

/** The credentials for an EKS cluster in `region`, and the configuration that has them if there are any. */
export const eksCredentials = (
  member: MemberConfiguration,
  region: string | undefined,
  installation: Pick<Installation, "account" | "own" | "seenFrom">
): Effect.Effect<Pick<ExaminedCluster, "credentials"> & Partial<Pick<ExaminedCluster, "config">>> =>
  Effect.gen(function* () {
    if (region === undefined || member.problems.length > 0)
      return unusable("Its configuration is wrong, so no token is made.", "First correct that.")
    if (installation.seenFrom === "kubeconfig")
      return { credentials: yield* seenElsewhere(member.name, region, installation) }
    const makeToken = yield* EksTokens
    const { certificateAuthority, name, server } = member
    const made = yield* Effect.result(makeToken({ certificateAuthority, name, server, region }))
    return Result.isSuccess(made)
      ? {
          credentials: { _tag: "Eks", region },
          config: memberConfig(member, { _tag: "BearerToken", token: made.success.token })
        }
      : unusable(
          `No token can be made: ${made.failure}.`,
          "The section of docs/operations.md on EKS clusters says what the operator needs."
        )
  })
