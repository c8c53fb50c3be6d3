/**
 * Takes requests with values for database branches: reads them, and hands them to the capability that has branches
 * made. No value is told.
 */

import { Effect, Result } from "effect"
import { type BranchCredentials, readBranchCredentials } from "../../domain/branches/branch-credentials.ts"
import { branchCredentials } from "../../domain/resources/branch-credentials-kind.ts"
import { apiVersionOf } from "../../domain/resources/resource-descriptor.ts"
import { askedBy } from "../api/asked-by.ts"
import type { Facade } from "../api/facade-gate.ts"
import type { CredentialsRequest } from "../api/operator-facade.ts"
import { type ApiError, badRequest, notFound } from "../api/status.ts"
import { audit } from "../kernel/audit.ts"
import { type Reception, usable } from "./admit-connect.ts"

/** The answer. Clients read the field `secret_name`, and a primary any object. */
const answer = (secret: string): object => ({
  apiVersion: apiVersionOf(branchCredentials),
  kind: branchCredentials.kind,
  metadata: { name: secret },
  secret_name: secret
})

const taken = (
  reception: Reception,
  credentials: BranchCredentials,
  { caller }: CredentialsRequest
): Effect.Effect<string, ApiError> =>
  Effect.gen(function* () {
    const take = reception.capabilities.find(({ takeCredentials }) => takeCredentials !== undefined)?.takeCredentials
    if (take === undefined) return yield* notFound("This operator has no database branches made.")
    yield* usable(reception)
    return yield* take(credentials, caller)
  })

export const credentialsRequests = (reception: Reception): Pick<Facade, "takeCredentials"> => ({
  takeCredentials: (asked) => {
    const read = readBranchCredentials(asked.body)
    const where = Result.isSuccess(read) ? { namespace: read.success.namespace } : {}
    return Effect.fromResult(Result.mapError(read, badRequest)).pipe(
      Effect.flatMap((credentials) => taken(reception, credentials, asked)),
      Effect.map(answer),
      Effect.tapError(({ code, message, reason }) =>
        audit({ act: "refused", ...askedBy({ ...asked, certificate: undefined }), ...where, code, reason, message })
      )
    )
  }
})
