/**
 * The other cluster of `braid join` and `braid leave`, as a person's kubeconfig leads to it: its address, its identity,
 * and the primary that it serves.
 *
 * Not here: the credentials that the primary gets for it (join-credentials.ts).
 */

import { readFileSync } from "node:fs"
import type { KubeConfig } from "@kubernetes/client-node"
import { Effect, type Scope } from "effect"
import { makeKubeApi } from "../../../adapters/kubernetes/kube-api-http.ts"
import { asString, at } from "../../../domain/json.ts"
import { leases } from "../../../domain/resources/core-kinds.ts"
import { primaryLeaseName } from "../../../domain/sessions/primary-claim.ts"
import type { KubeApi } from "../../../ports/kube-api.ts"
import { clusterUid } from "../../kernel/cluster-uid.ts"
import type { Unanswered } from "../overview/ask-cluster.ts"
import { userKubeConfig } from "../user-kube-config.ts"
import { failedDoing, orNothing } from "./primary.ts"

export interface MemberChoice {
  /** The cluster's name in the fleet; its context unless one is given. */
  readonly name: string
  readonly kubeconfig: string | undefined
  readonly memberKubeconfig: string | undefined
  readonly memberContext: string | undefined
  /** Namespace of the member's operator. */
  readonly memberNamespace: string
}

export interface MemberCluster {
  readonly api: KubeApi
  readonly config: KubeConfig
  readonly context: string
  readonly namespace: string
  /** UID of the cluster; `undefined` if it may not be read. */
  readonly uid: string | undefined
  /** UID of the primary that it serves; `undefined` while it serves none. */
  readonly holder: string | undefined
  /** UID of the Lease that says so. */
  readonly leaseUid: string | undefined
}

/** The member, by a context of its own. */
export const findMember = Effect.fnUntraced(function* ({
  kubeconfig,
  memberContext,
  memberKubeconfig,
  memberNamespace,
  name
}: MemberChoice): Effect.fn.Return<MemberCluster, Unanswered, Scope.Scope> {
  const context = memberContext ?? name
  const config = yield* userKubeConfig({ kubeconfig: memberKubeconfig ?? kubeconfig, context }).pipe(
    Effect.mapError(({ message }) => ({
      message,
      fix: "Choose the context of the other cluster with --member-context, and its file with --member-kubeconfig."
    }))
  )
  const api = yield* makeKubeApi(config, name)
  const lease = orNothing(api.get(leases, primaryLeaseName, memberNamespace))
  const known = yield* Effect.mapError(Effect.all({ uid: clusterUid(api), lease }), (error) =>
    failedDoing(`looking at cluster ${name} with context ${context}`, error)
  )
  return {
    api,
    config,
    context,
    namespace: memberNamespace,
    uid: known.uid,
    holder: known.lease === undefined ? undefined : (asString(at(known.lease, "spec", "holderIdentity")) ?? ""),
    leaseUid: known.lease?.metadata.uid
  }
})

/** Address and CA of an API server, as the primary will use them. */
export interface MemberAddress {
  readonly server: string
  readonly certificateAuthority: string | undefined
}

/** Reads a file that a flag names. */
export const readFlagFile = (flag: string, path: string): Effect.Effect<string, Unanswered> =>
  Effect.try({
    try: () => readFileSync(path, "utf8"),
    catch: () => ({
      message: `${flag}: found ${JSON.stringify(path)}, which cannot be read.`,
      fix: "Give the path of a file with PEM."
    })
  })

/** The address in the kubeconfig, unless flags give another one. */
export const memberAddress = Effect.fnUntraced(function* (
  { config, context }: Pick<MemberCluster, "config" | "context">,
  { caFile, server }: { readonly server: string | undefined; readonly caFile: string | undefined }
): Effect.fn.Return<MemberAddress, Unanswered> {
  const cluster = config.getCurrentCluster()
  const address = server ?? cluster?.server ?? ""
  if (caFile !== undefined) return { server: address, certificateAuthority: yield* readFlagFile("--ca-file", caFile) }
  const { caData, caFile: known, skipTLSVerify } = { caFile: undefined, ...cluster }
  if (caData !== undefined && caData !== "")
    return { server: address, certificateAuthority: Buffer.from(caData, "base64").toString("utf8") }
  if (known !== undefined && known !== "")
    return {
      server: address,
      certificateAuthority: yield* readFlagFile("certificate-authority of the kubeconfig", known)
    }
  if (skipTLSVerify === true)
    return yield* Effect.fail({
      message: `Context ${context} does not check the API server's certificate, which a primary always does.`,
      fix: "Give the CA of the API server with --ca-file."
    })
  return { server: address, certificateAuthority: undefined }
})
