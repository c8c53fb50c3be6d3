/**
 * Explains why no token for an EKS cluster can be made: the AWS SDK's error as a clause with a cure, without secrets.
 *
 * Not here: refusals of the cluster itself (app/fleet).
 */

import { quotation } from "../clean-text.ts"

/** An error of a cloud's SDK or of the system. */
export interface SdkError {
  /** Such as `AccessDenied`, the code of STS, or `ENOENT`, the code of the system. */
  readonly name: string
  readonly message: string
}

/** Longest message of the SDK that is looked at, UTF-16 code units. */
const longest = 2_000

/** JWTs, keys and session tokens. A path has a dot and an ARN a colon before it is so long. */
const isSecret = (word: string): boolean => word.startsWith("eyJ") || word.split(".").some(({ length }) => length >= 40)

const withoutSecrets = (text: string): string =>
  text
    .slice(0, longest)
    .split(/([^\w+/=.-])/u)
    .map((word) => (isSecret(word) ? "…" : word))
    .join("")

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

const usualCure = "let the operator's pod reach AWS STS, or what gives it its AWS identity"

/** A clause that says what went wrong, and what to do about it. */
export const eksFailure = ({ message, name }: SdkError): string => {
  const [, cure = usualCure] = cures.find(([pattern]) => pattern.test(name)) ?? []
  return `the operator gets no AWS identity (${name}: ${quotation(withoutSecrets(message))}); ${cure}`
}

/** The same for the agent of EKS Pod Identities. `hasAnswered`: the error is its answer. */
export const podIdentityFailure = ({ message, name }: SdkError, hasAnswered: boolean): string =>
  `the operator gets no AWS identity from its Pod Identity (${name}: ${quotation(withoutSecrets(message))}); ` +
  (hasAnswered ? agentCure : noAgentCure)
