import { Effect } from "effect"
import type { OperatorFacade } from "../../src/app/api/operator-facade.ts"
import { forbidden, notFound } from "../../src/app/api/status.ts"

/** An operator without sessions, which nobody may connect to. */
export const idleFacade: OperatorFacade["Service"] = {
  describe: Effect.succeed({ kind: "MirrordOperator", metadata: { name: "operator" } }),
  problems: Effect.succeed([]),
  issueCertificate: () => Effect.succeed("PEM"),
  listSessions: () => Effect.succeed([]),
  deleteSession: () => Effect.fail(notFound("There is no session.")),
  deleteSessions: () => Effect.succeed(0),
  connect: () => Effect.fail(forbidden("nobody may"))
}
