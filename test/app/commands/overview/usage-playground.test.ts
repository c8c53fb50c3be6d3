/** The record of use over a playground and its page: by the API server's rights, and over the operator's death. */

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type * as NodeServices from "@effect/platform-node/NodeServices"
import { KubeConfig } from "@kubernetes/client-node"
import { Effect, Exit, Schedule, Scope } from "effect"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { startPlayground } from "../../../../lab/playground/playground.ts"
import { openStorySession } from "../../../../lab/playground/story-session.ts"
import { topology } from "../../../../lab/playground/topology.ts"
import { makeKubeApi } from "../../../../src/adapters/kubernetes/kube-api-http.ts"
import { readUsage } from "../../../../src/app/commands/overview/usage-command.ts"
import { startUi } from "../../../../src/app/commands/ui/ui-command.ts"
import { pods } from "../../../../src/domain/resources/core-kinds.ts"
import { subnetOf } from "../../../address-plan.ts"
import { complaints, startBrowser } from "../../../lab/simulation/report/browser.ts"
import { quietNode } from "../../../support/quiet-node.ts"
import { runBraid } from "../../../support/run-braid.ts"

let directory: string
let scope: Scope.Closeable
let playground: Effect.Success<ReturnType<typeof startPlayground>>
let browser: Awaited<ReturnType<typeof startBrowser>>
let page: Page

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
  browser = await startBrowser()
  page = await (await browser.browser.newContext({ bypassCSP: true })).newPage()
  page.setDefaultTimeout(600_000)
})
afterAll(async () => {
  await browser?.stop()
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

/** Opens the page as this kubeconfig's person. */
const openPage = async (kubeconfig: string): Promise<void> => {
  const choice = { kubeconfig, context: undefined, port: 0, noBrowser: true, withApi: false }
  await page.goto((await run(startUi({ ...choice, opens: "usage" }))).link)
}
const figure = (name: string) => page.locator("#since-first .card", { hasText: name }).locator(".figure")

describe("the record of use of a fleet", () => {
  it("has a page, which is empty at first", async () => {
    await openPage(playground.primary.cluster.kubeconfigPath)
    await page.locator("#activity .empty").waitFor()
    expect(await page.locator("#clusters tbody th").allTextContents()).toEqual(["cluster-a", "cluster-b"])
  })

  it("has a session while it runs, with its clusters", async () => {
    const running = figure("Running now, people").getByText("1", { exact: true })
    const shownAt = running.waitFor().then(() => Date.now())
    const again = Effect.retry(Schedule.spaced("1 second"))
    await run(again(openStorySession(playground, { target: "deployment.myapp" })))
    const report = await run(
      read().pipe(
        Effect.filterOrFail(({ liveMetrics }) => liveMetrics.userSessions === 1),
        Effect.retry(Schedule.spaced("200 millis"))
      )
    )
    expect(report.generalMetrics.clusterName).toBe("primary")
    const startedAt = Date.parse(report.userMetrics[0]?.firstActive ?? "")
    console.log(`a session was on the page ${(await shownAt) - startedAt} ms after its begin`)
    const strips = page.locator("#health .strip").getByRole("img", { name: "ready 100 %" })
    await strips.nth(1).waitFor()
    await page.locator("#cluster-sets tbody th", { hasText: "cluster-a, cluster-b" }).waitFor()
    expect(await complaints(page)).toEqual([])
    const { clusterSetMetrics } = await run(read())
    expect(clusterSetMetrics).toMatchObject([{ clusters: ["cluster-a", "cluster-b"], totalSessionCount: 1 }])
  })

  it("goes on with its page and the exact number when the operator was ended", async () => {
    const config = new KubeConfig()
    config.loadFromFile(playground.primary.cluster.kubeconfigPath)
    const api = await run(makeKubeApi(config, "primary"))
    const { items } = await run(api.list(pods))
    const operators = items.filter(({ metadata }) => metadata.name.startsWith("mirrord-operator"))
    expect(operators).toHaveLength(1)
    for (const { metadata } of operators)
      await run(api.delete(pods, metadata.name, { namespace: metadata.namespace ?? "" }))
    await page.locator("#problem").waitFor()
    expect(await figure("Sessions").textContent()).toBe("1")
    await page.locator("#problem").waitFor({ state: "detached" })
    expect(await figure("Sessions").textContent()).toBe("1")
  })

  it("is not for everybody who may have sessions", async () => {
    const path = join(directory, "dev.kubeconfig")
    await run(playground.primary.cluster.userKubeconfig({ user: "dev", path }))
    expect((await run(Effect.flip(read(path)))) as object).toMatchObject({
      message: expect.stringContaining("You may not read the reports on use")
    })
    const refused = await runBraid(["dashboard", "--no-browser", "--kubeconfig", path])
    expect([refused.code, refused.output]).toEqual([1, ""])
    expect(refused.errors).toMatch(/You may not read the reports on use.*fix: .*mirrord-operator-usage-reader/su)
    await openPage(path)
    await page.locator("#problem", { hasText: "mirrord-operator-usage-reader" }).waitFor()
  })
})
