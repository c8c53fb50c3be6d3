/**
 * Explains why no token for an EKS cluster can be made: the AWS SDK's error as a clause with a cure, without secrets.
 *
 * Not here: refusals of the cluster itself (app/fleet).
 */

import { quotation } from "../clean-text.ts"

/** An error of the AWS SDK or of the system. */
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

const usualCure = "let the operator's pod reach AWS STS, or what gives it its AWS identity"

/** A clause that says what went wrong, and what to do about it. */
export const eksFailure = ({ message, name }: SdkError): string => {
  const [, cure = usualCure] = cures.find(([pattern]) => pattern.test(name)) ?? []
  const detail = quotation(withoutSecrets(message))
  return `the operator gets no AWS identity (${name}: ${detail}); ${cure}`
}
