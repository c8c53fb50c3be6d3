import { Effect, Stream } from "effect"
import type { OperatorFacade } from "../../src/app/api/operator-facade.ts"
import { forbidden, notFound } from "../../src/app/api/status.ts"

/** An operator without sessions, which nobody may connect to. */
export const idleFacade: OperatorFacade["Service"] = {
  describe: Effect.succeed({ kind: "MirrordOperator", metadata: { name: "operator" } }),
  problems: Effect.succeed([]),
  issueCertificate: () => Effect.succeed("PEM"),
  listSessions: () => Effect.succeed([]),
  listClusters: Effect.succeed([]),
  cluster: () => Effect.fail(notFound("There is no cluster.")),
  proxy: () => Effect.fail(forbidden("nobody may")),
  listQueueSplits: () => Effect.succeed([]),
  queueSplit: () => Effect.fail(notFound("There is no split.")),
  listTargets: () => Effect.succeed([]),
  target: () => Effect.succeed({ kind: "Target" }),
  portLocks: () => Effect.succeed({ kind: "Target" }),
  watchInterceptions: () => Effect.succeed(Stream.empty),
  deleteSession: () => Effect.fail(notFound("There is no session.")),
  deleteSessions: () => Effect.succeed(0),
  createCopyTarget: () => Effect.fail(forbidden("nobody may")),
  listCopyTargets: () => Effect.succeed([]),
  copyTarget: () => Effect.fail(notFound("There is no copy target.")),
  takeCredentials: () => Effect.fail(forbidden("nobody may")),
  reviewPod: () => Effect.succeed({ kind: "AdmissionReview" }),
  usageReport: () => Effect.fail(notFound("No use is recorded.")),
  connect: () => Effect.fail(forbidden("nobody may"))
}
