/** `braid ui` over a playground of three workload clusters, in a real browser, from the link to a session's end. */

import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Exit, Schedule, Scope } from "effect"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { serveSession } from "../../../../lab/client/session-monitor.ts"
import { mergedKubeconfig } from "../../../../lab/playground/merged-kubeconfig.ts"
import { startPlayground } from "../../../../lab/playground/playground.ts"
import { openStorySession, type StorySession } from "../../../../lab/playground/story-session.ts"
import { topology } from "../../../../lab/playground/topology.ts"
import { startUi } from "../../../../src/app/commands/ui/ui-command.ts"
import { sessionIdHex } from "../../../../src/domain/sessions/session-id.ts"
import { subnetOf } from "../../../address-plan.ts"
import { startBrowser } from "../../../lab/simulation/report/browser.ts"
import { quietNode } from "../../../support/quiet-node.ts"
import { runBraid } from "../../../support/run-braid.ts"
import sockets from "./session-sockets.json" with { type: "json" }

let directory: string
let scope: Scope.Closeable
let session: StorySession
let kubeconfig: string
let link: string
let playground: Effect.Success<ReturnType<typeof startPlayground>>
let browser: Awaited<ReturnType<typeof startBrowser>>
let page: Page
const problems: Array<string> = []
const { HOME } = process.env

const run = <A>(effect: Effect.Effect<A, unknown, Scope.Scope | NodeServices.NodeServices>): Promise<A> =>
  Effect.runPromise(effect.pipe(Effect.provideService(Scope.Scope, scope), Effect.provide(quietNode)))

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "braid-ui-"))
  scope = await Effect.runPromise(Scope.make())
  playground = await run(
    startPlayground({
      topology: topology("three-workloads", subnetOf("braid ui")),
      directory,
      sessionTtlSecs: 60,
      remoteSessionTimeoutSecs: 60,
      progress: () => Effect.void
    })
  )
  // As a client does, which is asked to try again where a leader could not renew its lease in time.
  const again = Effect.retry(Schedule.spaced("1 second"))
  session = await run(again(openStorySession(playground, { target: "deployment.myapp" })))
  kubeconfig = mergedKubeconfig(
    join(directory, "kubeconfig"),
    playground.clusters.map(({ cluster: { kubeconfigPath }, description: { name } }) => ({ name, kubeconfigPath }))
  )
  await run(
    serveSession(join(directory, ".mirrord", "sessions"), { ...sockets.info, session_id: sessionIdHex(session.id) })
  )
  process.env["HOME"] = directory
  link = (
    await run(startUi({ kubeconfig, context: undefined, port: 0, noBrowser: true, opens: "fleet", withApi: true }))
  ).link
  browser = await startBrowser()
  page = await browser.browser.newPage()
  page.setDefaultTimeout(600_000)
  page.on("pageerror", ({ message }) => problems.push(message))
})
afterAll(async () => {
  if (HOME !== undefined) process.env["HOME"] = HOME
  await browser?.stop()
  await Effect.runPromise(Scope.close(scope, Exit.void))
  rmSync(directory, { recursive: true, force: true })
})

const cluster = (name: string) => playground.clusters.find(({ description }) => description.name === name)?.cluster
const lane = (name: string) => page.locator(`#sessions td.lane[title="${name}"]`)

describe("braid ui over three clusters", () => {
  it("opens by its link, and shows the clusters and the session's lane over them", async () => {
    await page.goto(link)
    expect(new URL(page.url()).pathname).toMatch(/^\/[0-9a-f]{64}\/$/u)
    expect(await page.locator("h1").textContent()).toBe("primary")
    await page
      .locator("#fleet tbody tr", { hasText: /^\s*cluster-[abc]\s+ready/u })
      .nth(2)
      .waitFor()
    await page.locator("#sessions td.lane.ready").nth(2).waitFor()
    expect(await page.locator("button.session").textContent()).toBe(sessionIdHex(session.id))
  })

  it("is refused a port that is taken, before it prints a link", async () => {
    const { port } = new URL(link)
    const home = { HOME: join(directory, "other") }
    expect(await runBraid(["ui", "--no-browser", "--kubeconfig", kubeconfig, "--port", port], home)).toEqual({
      code: 1,
      output: "",
      errors:
        `braid: Port ${port} of 127.0.0.1 is taken.\n` +
        "fix: Give another port with --port, or leave it out for any free one.\n"
    })
  })

  it("serves the API, in which the session of this machine and that of the operator have one id", async () => {
    const token = readFileSync(join(directory, ".mirrord", "token"), "utf8")
    expect(token).toMatch(/^[0-9a-f]{64}$/u)
    const headers = { "x-auth-token": token }
    const ask = (path: string): Promise<Response> => fetch(new URL(path, link), { headers })
    const api = async (path: string) => (await (await ask(path)).json()) as unknown
    const id = sessionIdHex(session.id)
    expect(await api("/api/sessions")).toMatchObject([{ session_id: id }])
    const ready = { ready: true }
    const clusters = { "cluster-a": ready, "cluster-b": ready, "cluster-c": ready }
    const target = { kind: "deployment", name: "myapp" }
    expect(await api("/api/operator-sessions")).toMatchObject({
      sessions: [{ id, key: "braid", target, clusters }],
      watch_status: { status: "watching" }
    })
    expect(await api("/api/v2/operator/sessions?context=primary")).toMatchObject({ sessions: [{ id }] })
    expect(await api("/api/v2/kube/namespaces?context=cluster-a")).toMatchObject({ context: "cluster-a" })
    expect((await ask("/api/v2/kube/namespaces?context=none")).status).toBe(400)
    expect(await api("/api/v2/kube/user")).toEqual({ username: expect.any(String) as string })
    await page.locator("button.session").click()
    await page.locator("#detail", { hasText: "process 4711, node" }).waitFor()
    await page.keyboard.press("Escape")
  })

  it("runs in the background from start to stop, once", async () => {
    const home = { HOME: join(directory, "background") }
    const flags = ["--kubeconfig", kubeconfig, "--no-browser"]
    const started = await runBraid(["ui", "start", ...flags, "--port", "0"], home)
    expect([started.code, started.errors]).toEqual([0, ""])
    const [itsLink = "", ...said] = started.output.split("\n")
    expect(said[0]).toMatch(/^braid ui runs as process \d+\. braid ui stop ends it/u)
    expect((await fetch(itsLink, { redirect: "manual" })).status).toBe(303)
    const again = await runBraid(["ui", "start", ...flags], home)
    expect(again.output).toMatch(/^http.*\nbraid ui runs already/u)
    expect(again.output.split("\n")[0]).toBe(itsLink)
    const other = await runBraid(["ui", "start", ...flags, "--context", "cluster-a"], home)
    expect([other.code, other.output]).toEqual([1, ""])
    expect(other.errors).toMatch(/braid ui runs already, as process \d+, with --kubeconfig=.* --port=0\./u)
    expect((await runBraid(["ui", "stop"], home)).output).toMatch(/is ended\.\n$/u)
    expect((await runBraid(["ui", "stop"], home)).output).toBe("braid ui does not run.\n")
    await expect(fetch(itsLink)).rejects.toThrow("fetch failed")
  })

  it("shows a port from the moment at which the session steals it", async () => {
    await run(
      session.client.ask({ _tag: "Steal", type: { _tag: "All", value: 80 } }, (event) =>
        event._tag === "Subscribed" && event.port === 80 ? event.result : undefined
      )
    )
    await page.locator("#sessions tbody tr", { hasText: "port 80" }).waitFor()
  })

  it("shows a member that is cut with the reason and the cure", async () => {
    await run(cluster("cluster-c")?.stop() ?? Effect.void)
    await page.locator("#fleet tbody tr", { hasText: /cluster-c\s+not ready/u }).waitFor()
    await lane("cluster-c").getByText("left out").waitFor()
    expect(await lane("cluster-c").textContent()).toContain("cluster-c")
    expect(await page.locator("#fleet").textContent()).toContain("braid doctor --cluster cluster-c")
    expect(await lane("cluster-b").textContent()).toContain("ready")
    await page.locator("#events tbody tr", { hasText: "The cluster is not ready" }).waitFor()
  })

  it("has nothing that axe-core complains about", async () => {
    // Through the debugger, since the page's policy lets no script in.
    const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js")
    const context = await browser.browser.newContext({ bypassCSP: true })
    const other = await context.newPage()
    await other.goto(link)
    await other.locator("#sessions td.lane").first().waitFor()
    await other.addScriptTag({ path: axe })
    const found = "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + nodes[0].html))"
    expect(await other.evaluate(found)).toEqual([])
    await other.locator("button.session").click()
    expect(await other.evaluate(found)).toEqual([])
    await context.close()
  })

  it("keeps the last known state while the primary's cluster does not answer, and goes on with it", async () => {
    const primary = playground.primary.cluster
    await run(primary.stop())
    await page.locator("#problem", { hasText: "does not answer" }).waitFor()
    expect(await page.locator("#sessions tbody tr").count()).toBe(1)
    await run(primary.restart())
    await page.locator("#problem").waitFor({ state: "detached" })
  })

  it("shows the member's lane ready again when it is back", async () => {
    await run(cluster("cluster-c")?.restart() ?? Effect.void)
    await page.locator(`#sessions td.lane.ready[title="cluster-c"]`).waitFor()
  })

  it("stops the session for good, after it was asked", async () => {
    await page.locator("button.session").click()
    await page.locator("#detail button.stop").click()
    await page.locator("#confirm button.yes").click()
    await page.locator("#said", { hasText: "is being stopped" }).waitFor()
    await page.locator("#detail button.close").click()
    await page.locator("#sessions .empty", { hasText: "mirrord exec --target" }).waitFor()
    await page.locator("#events tbody tr", { hasText: "has ended" }).waitFor()
    expect(problems).toEqual([])
  })
})
