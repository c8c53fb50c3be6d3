import { PassThrough } from "node:stream"
import { Effect, Exit, Stream } from "effect"
import { describe, expect, it } from "vitest"
import { type Facade, mapFacade } from "../../../src/app/api/facade-gate.ts"
import { internalError } from "../../../src/app/api/status.ts"
import { request } from "../../support/connect-request.ts"
import { servedCluster } from "../../support/fleet.ts"
import { servedSplit } from "../../support/queue-split.ts"

const behind: Facade = {
  describe: Effect.succeed({}),
  problems: Effect.succeed(["behind"]),
  issueCertificate: (csr) => Effect.succeed(csr),
  listSessions: (namespace) => Effect.succeed([{ namespace }]),
  listClusters: Effect.succeed([]),
  cluster: (name) => Effect.succeed(servedCluster(name)),
  proxy: () => Effect.sync(() => new PassThrough()),
  listQueueSplits: () => Effect.succeed([servedSplit()]),
  queueSplit: () => Effect.succeed(servedSplit()),
  listTargets: (namespace) => Effect.succeed([{ namespace }]),
  target: (namespace, name) => Effect.succeed({ namespace, name }),
  portLocks: (namespace, target) => Effect.succeed({ namespace, target }),
  watchInterceptions: () => Effect.succeed(Stream.empty),
  usageReport: () => Effect.succeed({ contentType: "text/csv", body: "" }),
  deleteSession: () => Effect.void,
  deleteSessions: () => Effect.succeed(2),
  createCopyTarget: ({ namespace }) => Effect.succeed({ namespace }),
  listCopyTargets: (selection) => Effect.succeed([selection]),
  copyTarget: (namespace, name) => Effect.succeed({ namespace, name }),
  takeCredentials: () => Effect.succeed({}),
  reviewPod: (uid) => Effect.succeed({ uid }),
  connect: () => Effect.succeed({ serve: () => Effect.void })
}
const { caller } = request(undefined)
const requests: Readonly<
  Record<"read" | "write" | "connect", (facade: Facade) => ReadonlyArray<Effect.Effect<unknown, unknown>>>
> = {
  read: (facade) => [
    facade.describe,
    facade.issueCertificate("csr"),
    facade.listSessions("a"),
    facade.listClusters,
    facade.cluster("a"),
    facade.listQueueSplits("a"),
    facade.queueSplit("a", "b"),
    facade.usageReport("usage", new URLSearchParams()),
    facade.listTargets("a"),
    facade.target("a", "pod.b"),
    facade.portLocks("a", "pod.b"),
    facade.watchInterceptions(caller, "key"),
    facade.listCopyTargets({ namespace: "a" }),
    facade.copyTarget("a", "b", caller),
    facade.reviewPod("a", () => Effect.succeed({}))
  ],
  write: (facade) => [
    facade.deleteSession("1", caller, "a"),
    facade.deleteSessions("All", caller),
    facade.createCopyTarget({ ...request(undefined), body: {} }),
    facade.takeCredentials({ ...request(undefined), body: {} })
  ],
  connect: (facade) => [Effect.scoped(facade.connect(request(undefined)))]
}

describe("a gate before the operator", () => {
  it.each(["read", "write", "connect"] as const)("holds for each request of the kind %s, and for no other", (kind) => {
    const closed = { [kind]: () => Effect.fail(internalError("closed")) }
    const facade = mapFacade(Effect.succeed(behind), { problems: Effect.succeed(["gate"]), ...closed })
    for (const [of, made] of Object.entries(requests)) {
      const passed = made(facade).map((one) => Exit.isSuccess(Effect.runSyncExit(one)))
      expect(passed).toEqual(passed.map(() => of !== kind))
    }
    expect(Effect.runSync(facade.problems)).toEqual(["gate"])
  })

  it("asks with each request who answers, and hands everything on", () => {
    let asked = 0
    const facade = mapFacade(
      Effect.sync(() => {
        asked++
        return behind
      }),
      { problems: behind.problems }
    )
    expect(Effect.runSync(facade.listSessions("a"))).toEqual([{ namespace: "a" }])
    expect(Effect.runSync(facade.deleteSessions("All", caller))).toBe(2)
    expect(asked).toBe(2)
  })
})
