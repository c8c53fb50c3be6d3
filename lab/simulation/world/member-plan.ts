/**
 * How a simulated member is found, and by which credentials it knows the primary. A member without such a plan stands
 * in the primary's configuration, with a token in its Secret.
 *
 * Not here: the people and controllers that write these things (member-authors.ts), and the clouds and plugins that
 * make credentials (credential-makers.ts).
 */

import type { ClusterProvider } from "../../../src/domain/fleet/provided-clusters.ts"

/** Ways of a configured member. */
export const configuredAuths = ["mtls", "eks", "aks"] as const
/** Ways of a kubeconfig's user. */
export const kubeconfigAuths = ["token", "mtls"] as const

export type MemberPlan =
  | { readonly _tag: "Configured"; readonly auth: (typeof configuredAuths)[number] }
  | {
      readonly _tag: "Kubeconfig"
      readonly provider: Exclude<ClusterProvider, "clusterProfile">
      readonly auth: (typeof kubeconfigAuths)[number]
    }
  /** A plugin gives the credentials. */
  | { readonly _tag: "Profile" }

/** By member. */
export type MemberPlans = Readonly<Record<string, MemberPlan>>

/** The members that dial out, which no way leads to. */
export interface OutboundPlan {
  readonly members: ReadonlyArray<string>
  /** How long their certificates are valid, ms. */
  readonly lifetime: number
}

/** Whether the operator makes the member's credentials itself. */
export const isMade = (plan: MemberPlan): boolean =>
  plan._tag === "Profile" || (plan._tag === "Configured" && plan.auth !== "mtls")

/** The provider that finds the member; undefined: it stands in the configuration. */
export const providerOf = (plan: MemberPlan | undefined): ClusterProvider | undefined => {
  switch (plan?._tag) {
    case undefined:
    case "Configured":
      return undefined
    case "Kubeconfig":
      return plan.provider
    case "Profile":
      return "clusterProfile"
  }
}

/** Namespace of the primary's cluster in which its providers find objects of other projects. */
export const clustersNamespace = "clusters"
/** The kubeconfig whose contexts are clusters. */
export const contextsFile = "/contexts"
/** The directory of kubeconfigs. */
const kubeconfigDirectory = "/kubeconfigs"
/** Name of the access provider whose plugin gives credentials. */
export const pluginName = "simulated"

/** Where a primary looks for members; its providers are empty if all are configured. */
export const searchOf = (plans: MemberPlans) => ({
  providers: Object.values(plans).flatMap((plan) => providerOf(plan) ?? []),
  clusterApiNamespace: clustersNamespace,
  kubeconfigFile: contextsFile,
  kubeconfigDirectory,
  clusterProfileNamespace: clustersNamespace
})
