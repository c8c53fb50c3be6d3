/**
 * The ways to authenticate at a member cluster, as its configuration chooses them.
 *
 * Not here: reading the credentials and using them (app/fleet/read-credentials.ts).
 */

/** The place of a kubeconfig. */
export type KubeconfigPlace =
  /** A key of a Secret. */
  | { readonly _tag: "Secret"; readonly name: string; readonly namespace: string; readonly key: string }
  /** A file of the operator's pod, and the context in it that counts; without one its current context. */
  | { readonly _tag: "File"; readonly path: string; readonly context: string | undefined }

/** A kubeconfig's place in a sentence about its cluster. */
export const kubeconfigTitle = (place: KubeconfigPlace): string => {
  if (place._tag === "Secret") return `the kubeconfig of Secret ${place.name}`
  return place.context === undefined ? `the kubeconfig ${place.path}` : `context ${place.context} of ${place.path}`
}

/**
 * How this operator proves who it is to a member cluster (`authType`, published-chart.md §2.5). It is a description
 * only: the secrets stay in the Secret `mirrord-cluster-<name>` and never pass through here.
 */
export type ClusterAuth =
  /** A ServiceAccount token from Secret key `bearerToken`. */
  | { readonly _tag: "BearerToken" }
  /**
   * A request presigned with the pod's AWS identity (eks-token.ts). Without `region` the cluster is reported as an
   * error.
   */
  | { readonly _tag: "Eks"; readonly region: string | undefined }
  /** A token of the pod's Azure workload identity; the ids override what the Azure webhook injects. */
  | { readonly _tag: "Aks"; readonly tenantId: string | undefined; readonly clientId: string | undefined }
  /** A client certificate from Secret keys `tls.crt` and `tls.key`. */
  | { readonly _tag: "Mtls" }
  /**
   * The user of the kubeconfig that the cluster was found by (fleet/kubeconfig.ts): its place, and its fingerprint, so
   * that another one is noticed.
   */
  | { readonly _tag: "Kubeconfig"; readonly fingerprint: string; readonly place: KubeconfigPlace }
  /**
   * A program that gives credentials (exec-credential.ts): that of the access provider of this name. `config`: the JSON
   * that the `ClusterProfile` has for it.
   */
  | { readonly _tag: "ExecPlugin"; readonly provider: string; readonly config: string | undefined }
  /** No credentials of the member: its operator dials this one, and acts there in the primary's name. */
  | { readonly _tag: "Outbound" }

export type EksAuth = Extract<ClusterAuth, { readonly _tag: "Eks" }>
export type AksAuth = Extract<ClusterAuth, { readonly _tag: "Aks" }>
/** The ways that need no Secret: by the operator's identity in a cloud. */
export type CloudAuth = EksAuth | AksAuth
export type ExecAuth = Extract<ClusterAuth, { readonly _tag: "ExecPlugin" }>
/** The ways that need no Secret, as the operator makes the credentials again before they end. */
export type MadeAuth = CloudAuth | ExecAuth

/** The way to authenticate at a cluster whose credentials are made; `undefined` for every other. */
export const madeAuth = (auth: ClusterAuth): MadeAuth | undefined =>
  auth._tag === "Eks" || auth._tag === "Aks" || auth._tag === "ExecPlugin" ? auth : undefined

/** The values that `authType` may have: four in the published spelling, and one of ours. */
export const authTypes = ["bearerToken", "eks", "aks", "mtls", "outbound"] as const
export type AuthType = (typeof authTypes)[number]

/** The words of each way, as configuration, metrics and MirrordClusters have them. */
export const authWords = {
  BearerToken: "bearerToken",
  Eks: "eks",
  Aks: "aks",
  Mtls: "mtls",
  ExecPlugin: "execPlugin",
  Kubeconfig: "kubeconfig",
  Outbound: "outbound"
} as const satisfies Readonly<Record<ClusterAuth["_tag"], string>>

/** Label of the Secrets that hold members' credentials; its value is `"true"`. */
export const credentialsLabel = "operator.metalbear.co/remote-cluster-credentials"
