/** Says why the AWS SDK finds no identity, as a clause with a cure and without secrets. */

import { eksFailure, podIdentityFailure } from "../../domain/fleet/credentials/eks-failure.ts"

/** `cause`: the failure of a search by `identityFinder` (identity.ts). */
export const identityProblem = (cause: unknown): string => {
  const error = cause instanceof Error ? cause : new Error(String(cause))
  const name = "code" in error && typeof error.code === "string" ? error.code : error.name
  const { message } = error
  return "hasAnswered" in error
    ? podIdentityFailure({ name, message }, error.hasAnswered === true)
    : eksFailure({ name, message })
}
