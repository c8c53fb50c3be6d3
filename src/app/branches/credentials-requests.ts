/**
 * Takes requests with values for database branches: reads them, and hands them to the branches of this operator. Values
 * appear in no log and no error.
 */

import { Effect, Result } from "effect"
import { readBranchCredentials } from "../../domain/branches/branch-credentials.ts"
import { branchCredentials } from "../../domain/resources/branch-credentials-kind.ts"
import { apiVersionOf } from "../../domain/resources/resource-descriptor.ts"
import { askedBy } from "../api/asked-by.ts"
import type { Facade } from "../api/facade-gate.ts"
import { type ApiError, badRequest } from "../api/status.ts"
import { audit } from "../kernel/audit.ts"
import type { Branches } from "./branches.ts"

/** The answer. Clients read the field `secret_name`, and a primary any object. */
const answer = (secret: string): object => ({
  apiVersion: apiVersionOf(branchCredentials),
  kind: branchCredentials.kind,
  metadata: { name: secret },
  secret_name: secret
})

/** `usable`: completes when the operator has started, and fails with its problems. */
export const credentialsRequests = (
  { areMade, takeCredentials }: Branches["Service"],
  usable: Effect.Effect<void, ApiError>
): Pick<Facade, "takeCredentials"> => ({
  takeCredentials: (asked) => {
    const read = readBranchCredentials(asked.body)
    const where = Result.isSuccess(read) ? { namespace: read.success.namespace } : {}
    return Effect.fromResult(Result.mapError(read, badRequest)).pipe(
      Effect.tap(areMade ? usable : Effect.void),
      Effect.flatMap((credentials) => takeCredentials(credentials, asked.caller)),
      Effect.map(answer),
      Effect.tapError(({ code, message, reason }) =>
        audit({ act: "refused", ...askedBy({ ...asked, certificate: undefined }), ...where, code, reason, message })
      )
    )
  }
})
