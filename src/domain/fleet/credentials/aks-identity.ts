/**
 * The operator's identity in Azure for an AKS cluster: what the cluster's configuration says, and for the rest the
 * variables that Azure's workload identity webhook sets in pods.
 *
 * Not here: the token that it is exchanged for (adapters/azure).
 */

import * as Result from "effect/Result"
import { quoted } from "../../clean-text.ts"
import type { AksAuth } from "./cluster-auth.ts"

/** The scope of tokens for the application "Azure Kubernetes Service AAD Server", which is the same in every cloud. */
export const aksScope = "6dae42f8-4368-4678-94ff-3960e28e3630/.default"

/** The authority of Azure's public cloud. */
const publicAuthority = "https://login.microsoftonline.com/"

export interface AksIdentity {
  readonly tenantId: string
  readonly clientId: string
  /** File with the token of the pod's service account. The kubelet writes it again. */
  readonly tokenFile: string
  /** Address of Microsoft Entra; sovereign clouds have their own. */
  readonly authorityHost: string
}

const isHttps = (text: string): boolean => URL.canParse(text) && new URL(text).protocol === "https:"

/** Whether a text has the form of a tenant's id or domain. */
export const isTenant = (text: string): boolean => /^[A-Za-z0-9.-]+$/u.test(text)

const noIdentity = (missing: ReadonlyArray<string>): string =>
  `the operator has no Azure identity: ${missing.join(", ")} ${missing.length === 1 ? "is" : "are"} not set in its ` +
  "pod; set sa.azureClientId in the chart's values, turn on workload identity in the operator's AKS cluster (az aks " +
  "update --enable-oidc-issuer --enable-workload-identity), and restart the pod"

/** The identity, or a clause that says what is missing. */
export const aksIdentity = (
  { clientId, tenantId }: AksAuth,
  environment: Readonly<Record<string, string | undefined>>
): Result.Result<AksIdentity, string> => {
  const found = {
    AZURE_TENANT_ID: tenantId ?? environment["AZURE_TENANT_ID"] ?? "",
    AZURE_CLIENT_ID: clientId ?? environment["AZURE_CLIENT_ID"] ?? "",
    AZURE_FEDERATED_TOKEN_FILE: environment["AZURE_FEDERATED_TOKEN_FILE"] ?? ""
  }
  const missing = Object.entries(found).flatMap(([name, value]) => (value === "" ? [name] : []))
  if (missing.length > 0) return Result.fail(noIdentity(missing))
  if (!isTenant(found.AZURE_TENANT_ID))
    return Result.fail(`AZURE_TENANT_ID is ${quoted(found.AZURE_TENANT_ID)}, which is no tenant; correct it`)
  const authorityHost = environment["AZURE_AUTHORITY_HOST"] ?? ""
  if (authorityHost !== "" && !isHttps(authorityHost))
    return Result.fail(`AZURE_AUTHORITY_HOST is ${quoted(authorityHost)}, which is no https address; correct it`)
  return Result.succeed({
    tenantId: found.AZURE_TENANT_ID,
    clientId: found.AZURE_CLIENT_ID,
    tokenFile: found.AZURE_FEDERATED_TOKEN_FILE,
    authorityHost: authorityHost === "" ? publicAuthority : authorityHost
  })
}
