/**
 * How `braid doctor` examines credentials that stand in no Secret: in the operator's pod it makes some, as the operator
 * does. Elsewhere it has neither the operator's identity nor its plugins, and looks up what the operator and its
 * service account say.
 *
 * Not here: what that means (domain/commands/doctor/examine-credentials.ts).
 */

import { Effect, Result } from "effect"
import { memberConfig } from "../../../adapters/kubernetes/cluster-connector.ts"
import type { CredentialFacts } from "../../../domain/commands/doctor/cluster-facts.ts"
import type { MemberConfiguration } from "../../../domain/fleet/configuration.ts"
import type { MadeAuth } from "../../../domain/fleet/credentials/cluster-auth.ts"
import { asString, at } from "../../../domain/json.ts"
import { mirrordOperators } from "../../../domain/resources/mirrord-operator.ts"
import { readResource } from "../../../domain/resources/resource-descriptor.ts"
import { CredentialMaker } from "../../../ports/credential-maker.ts"
import type { KubeObject, ResourceRef } from "../../../ports/kube-api.ts"
import type { ExaminedCluster } from "./examined-cluster.ts"
import type { Installation } from "./installation.ts"

const serviceAccounts: ResourceRef = { group: "", version: "v1", plural: "serviceaccounts", scope: "Namespaced" }

type Report = Extract<CredentialFacts, { readonly _tag: "CloudOfOperator" }>["report"]

/** Annotations of a service account that name its identity in a cloud. */
const annotations = {
  Eks: "eks.amazonaws.com/role-arn",
  Aks: "azure.workload.identity/client-id",
  ExecPlugin: undefined
} as const

const reportOf = (object: KubeObject, name: string): Report => {
  const operator = Result.getOrUndefined(readResource(mirrordOperators, object))
  const cluster = operator?.status?.connected_clusters?.find((connected) => connected.name === name)
  if (cluster === undefined) return undefined
  return "error" in cluster ? { _tag: "Lost", why: cluster.error.message } : { _tag: "Connected" }
}

/** All that can be found out without the operator's identity. */
const seenElsewhere = Effect.fnUntraced(function* (
  name: string,
  auth: MadeAuth,
  { account, own }: Pick<Installation, "account" | "own">
): Effect.fn.Return<CredentialFacts> {
  const operator = yield* Effect.option(own.get(mirrordOperators, "operator"))
  const annotation = annotations[auth._tag]
  const found =
    account === undefined || annotation === undefined
      ? undefined
      : yield* Effect.option(own.get(serviceAccounts, account.name, account.namespace))
  const annotated =
    found?._tag === "Some" && annotation !== undefined
      ? (asString(at(found.value, "metadata", "annotations", annotation)) ?? "")
      : undefined
  return {
    _tag: "CloudOfOperator",
    auth,
    identity: auth._tag === "Aks" ? (auth.clientId ?? annotated) : annotated,
    report: operator._tag === "Some" ? reportOf(operator.value, name) : undefined
  }
})

const unusable = (problem: string, fix: string) => ({ credentials: { _tag: "Unusable", problem, fix } }) as const

const sections = { Eks: "EKS clusters", Aks: "AKS clusters", ExecPlugin: "clusters by ClusterProfile" } as const

/** The credentials that are made for a cluster, and the configuration that has them if there are any. */
export const examineMadeCredentials = Effect.fnUntraced(function* (
  member: MemberConfiguration,
  auth: MadeAuth,
  installation: Pick<Installation, "account" | "own" | "seenFrom">
): Effect.fn.Return<Pick<ExaminedCluster, "credentials"> & Partial<Pick<ExaminedCluster, "config">>> {
  if (member.problems.length > 0)
    return unusable("Its configuration is wrong, so no credentials are made.", "First correct that.")
  if (installation.seenFrom === "kubeconfig")
    return { credentials: yield* seenElsewhere(member.name, auth, installation) }
  const make = yield* CredentialMaker
  const { certificateAuthority, name, server } = member
  const none = auth._tag === "ExecPlugin" ? "Its plugin gives no credentials" : "No token can be made"
  const made = yield* Effect.result(make({ certificateAuthority, name, server, auth }))
  return Result.isSuccess(made)
    ? {
        credentials: { _tag: "Cloud", auth },
        config: memberConfig(member, made.success.credentials)
      }
    : unusable(
        `${none}: ${made.failure}.`,
        `The section of docs/operating/clouds.md on ${sections[auth._tag]} says what the operator needs.`
      )
})
