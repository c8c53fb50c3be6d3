/**
 * Explains why no token for an EKS cluster can be made: the AWS SDK's error as a clause with a cure, without secrets.
 *
 * Not here: refusals of the cluster itself (app/fleet).
 */

import { detailOf, type SdkError } from "./sdk-error.ts"

/** The cure by the error's name; the first that fits counts. */
const cures: ReadonlyArray<readonly [RegExp, string]> = [
  [
    /^AccessDenied/u,
    "let the role's trust policy name the OIDC issuer of the operator's cluster and the operator's service account"
  ],
  [
    /^InvalidIdentityToken|^IDPCommunicationError/u,
    "register the OIDC issuer of the operator's cluster as an identity provider of the AWS account"
  ],
  [/^ExpiredToken|^IDPRejectedClaim/u, "restart the operator's pod, so that it gets a new web identity token"],
  [
    /^CredentialsProviderError|^ENOENT|^EACCES/u,
    "give the operator an AWS identity, by sa.roleArn in the chart's values or by an EKS Pod Identity, and restart " +
      "its pod"
  ]
]

/** Cures for errors of the agent of EKS Pod Identities: it answered, or it could not be asked. */
const agentCure =
  "make a Pod Identity association in the operator's EKS cluster for its service account, with a role whose trust " +
  "policy lets pods.eks.amazonaws.com do sts:AssumeRole and sts:TagSession"
const noAgentCure = "let the add-on eks-pod-identity-agent run on the operator's node"

const defaultCure = "let the operator's pod reach AWS STS, or what gives it its AWS identity"

/** A clause that says what went wrong, and what to do about it. */
export const eksFailure = (error: SdkError): string => {
  const [, cure = defaultCure] = cures.find(([pattern]) => pattern.test(error.name)) ?? []
  return `the operator gets no AWS identity ${detailOf(error)}; ${cure}`
}

/** The same for the agent of EKS Pod Identities. `hasAnswered`: the error is its answer. */
export const podIdentityFailure = (error: SdkError, hasAnswered: boolean): string =>
  `the operator gets no AWS identity from its Pod Identity ${detailOf(error)}; ${hasAnswered ? agentCure : noAgentCure}`
