/**
 * The operator's own cluster as `braid doctor` examines it, with the credentials of the kubeconfig or of the pod.
 *
 * Not here: members (examined-member.ts), and connecting to the cluster (observe-cluster.ts).
 */

import { readFileSync } from "node:fs"
import type { KubeConfig } from "@kubernetes/client-node"
import { readCertificate } from "../../../adapters/x509/read-certificate.ts"
import type { CredentialFacts } from "../../../domain/commands/doctor/cluster-facts.ts"
import { type FleetConfiguration } from "../../../domain/fleet/configuration.ts"
import { readTokenClaims } from "../../../domain/fleet/credentials/token-claims.ts"
import { roleOf } from "../../../domain/fleet/roles.ts"
import type { ExaminedCluster } from "./examined-cluster.ts"

/** File of the token of a pod's service account. The kubelet renews it. */
const podToken = "/var/run/secrets/kubernetes.io/serviceaccount/token"

const fileOf = (data: string | undefined, path: string | undefined): string | undefined => {
  if (data !== undefined && data !== "") return Buffer.from(data, "base64").toString("utf8")
  if (path === undefined || path === "") return undefined
  try {
    return readFileSync(path, "utf8")
  } catch {
    return undefined
  }
}

/** The credentials of the user of a kubeconfig, or of a pod's service account. */
const describe = (config: KubeConfig): CredentialFacts => {
  const user = config.getCurrentUser()
  if (user === null) return { _tag: "Other", from: "nobody" }
  const tokenFile: unknown = user.authProvider?.config?.tokenFile
  const renewed = typeof tokenFile === "string" && tokenFile.endsWith(podToken)
  const from = renewed ? "the pod's service account" : `user ${user.name} of the kubeconfig`
  const token = user.token ?? (typeof tokenFile === "string" ? fileOf(undefined, tokenFile)?.trim() : undefined)
  if (token !== undefined && token !== "") return { _tag: "Token", from, claims: readTokenClaims(token), renewed }
  const pem = fileOf(user.certData, user.certFile)
  const certificate = pem === undefined ? undefined : readCertificate(pem)
  return certificate === undefined
    ? { _tag: "Other", from }
    : { _tag: "Certificate", from, validity: certificate.validity }
}

export interface ExaminedSelfOptions extends Pick<
  ExaminedCluster,
  "account" | "agentNamespace" | "config" | "kept" | "namespace"
> {
  readonly fleet: FleetConfiguration | undefined
}

/** The cluster that the operator runs in. */
export const examinedSelf = ({
  account,
  agentNamespace,
  config,
  fleet,
  kept,
  namespace
}: ExaminedSelfOptions): ExaminedCluster => ({
  name: fleet?.clusterName ?? "local",
  part: "own",
  isDefault: fleet !== undefined && fleet.defaultCluster === fleet.clusterName,
  role: roleOf(fleet),
  namespace,
  agentNamespace,
  kept,
  problems: [],
  credentials: describe(config),
  config,
  account
})
