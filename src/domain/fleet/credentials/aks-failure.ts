/**
 * Explains why no token for an AKS cluster can be made: the error of Microsoft Entra or of the system as a clause with
 * a cure, without secrets.
 *
 * Not here: refusals of the cluster itself (app/fleet).
 */

import type { AksIdentity } from "./aks-identity.ts"
import { detailOf, type SdkError } from "./sdk-error.ts"

const federation =
  "give the application or managed identity a federated credential with the issuer of the operator's cluster, the " +
  "operator's service account as subject, and the audience api://AzureADTokenExchange"

/** The cure by Entra's code or the error's name; the first that fits counts. */
const cures: ReadonlyArray<readonly [RegExp, string]> = [
  [/^AADSTS7002\d+$|^AADSTS700027$/u, federation],
  [/^AADSTS7000(?:16|38)$/u, "check that clientId is an application of the tenant tenantId"],
  [/^AADSTS9000(?:2|23)$/u, "correct tenantId, or the pod's AZURE_TENANT_ID"],
  [/^AADSTS(?:500011|650057)$/u, "look whether the AKS cluster belongs to this tenant, and correct tenantId"],
  [/^AADSTS50166$/u, "let Microsoft Entra reach the OIDC issuer of the operator's cluster"],
  [
    /^AADSTS700024$/u,
    "set the clock of the operator's node, or restart the operator's pod for a new service account token"
  ],
  [/^AADSTS530\d\d$/u, "exempt the operator's identity from that conditional access policy"],
  [/^AADSTS/u, "look the code up at https://login.microsoftonline.com/error"],
  [
    /^ENOENT$|^EACCES$|^EISDIR$|^ENOTDIR$|^ENODATA$/u,
    "turn on workload identity in the operator's AKS cluster, and restart the operator's pod"
  ]
]

/**
 * The error in the words of Entra, such as `AADSTS700016: …`, without what differs each time. The SDK quotes the whole
 * of an answer that is not Entra's.
 */
const inEntraWords = (error: SdkError): SdkError => {
  const [name] = /AADSTS\d+/u.exec(error.message) ?? []
  const [, status] = /Http status code: (\d\d\d)/u.exec(error.message) ?? []
  if (name === undefined)
    return status === undefined ? error : { name: `HTTP ${status}`, message: "the answer is not Microsoft Entra's" }
  const words = error.message.slice(error.message.indexOf(name)).replace(/Current time: [^ ]{1,40} /u, "")
  return { name, message: words.split(/Trace ID:| - Correlation ID:/u, 1)[0] ?? "" }
}

/** A clause that says what went wrong, and what to do about it. `identity`: with which the token was asked for. */
export const aksFailure = (error: SdkError, { authorityHost, clientId, tenantId }: AksIdentity): string => {
  const told = inEntraWords(error)
  const defaultCure = `let the operator's pod reach ${authorityHost}`
  const [, cure = defaultCure] = cures.find(([pattern]) => pattern.test(told.name)) ?? []
  return `client ${clientId} of tenant ${tenantId} gets no token ${detailOf(told)}; ${cure}`
}
