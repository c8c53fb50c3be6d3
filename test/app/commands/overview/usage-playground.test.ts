/** The record of use over a playground: through the API server's rights, and over the death of the operator. */

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Exit, Schedule, Scope } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { startPlayground } from "../../../../lab/playground/playground.ts"
import { openStorySession } from "../../../../lab/playground/story-session.ts"
import { topology } from "../../../../lab/playground/topology.ts"
import { readUsage } from "../../../../src/app/commands/overview/usage-command.ts"
import { subnetOf } from "../../../address-plan.ts"
import { quietNode } from "../../../support/quiet-node.ts"

let directory: string
let scope: Scope.Closeable
let playground: Effect.Success<ReturnType<typeof startPlayground>>

const run = <A>(effect: Effect.Effect<A, unknown, Scope.Scope | NodeServices.NodeServices>): Promise<A> =>
  Effect.runPromise(effect.pipe(Effect.provideService(Scope.Scope, scope), Effect.provide(quietNode)))

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "braid-usage-"))
  scope = await Effect.runPromise(Scope.make())
  playground = await run(
    startPlayground({
      topology: topology("management", subnetOf("braid usage")),
      directory,
      sessionTtlSecs: 60,
      remoteSessionTimeoutSecs: 60,
      recordsUsage: true,
      progress: () => Effect.void
    })
  )
})
afterAll(async () => {
  await Effect.runPromise(Scope.close(scope, Exit.void))
  rmSync(directory, { recursive: true, force: true })
})

const read = (kubeconfig = playground.primary.cluster.kubeconfigPath) =>
  readUsage({
    kubeconfig,
    context: undefined,
    from: undefined,
    to: undefined,
    by: "machine_id",
    userMinutes: "15",
    ciMinutes: "15"
  })

describe("the record of use of a fleet", () => {
  it("has a session while it runs, with its clusters", async () => {
    const again = Effect.retry(Schedule.spaced("1 second"))
    await run(again(openStorySession(playground, { target: "deployment.myapp" })))
    const report = await run(
      read().pipe(
        Effect.filterOrFail(({ liveMetrics }) => liveMetrics.userSessions === 1),
        Effect.retry(Schedule.spaced("200 millis"))
      )
    )
    expect(report.generalMetrics.clusterName).toBe("primary")
    expect(report.clusterSetMetrics).toMatchObject([{ clusters: ["cluster-a", "cluster-b"], totalSessionCount: 1 }])
  })

  it("is not for everybody who may have sessions", async () => {
    const path = join(directory, "dev.kubeconfig")
    await run(playground.primary.cluster.userKubeconfig({ user: "dev", path }))
    expect((await run(Effect.flip(read(path)))) as object).toMatchObject({
      message: expect.stringContaining("You may not read the reports on use")
    })
  })
})
