/** mirrord's own programs at the socket of the lab's client, and at the files of `braid ui`. */

import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit, Redacted, Scope } from "effect"
import { afterEach, beforeEach, expect, it } from "vitest"
import { serveSession } from "../../lab/client/session-monitor.ts"
import { freePort } from "../../lab/playground/free-ports.ts"
import { claim, holder } from "../../src/app/commands/ui/single-instance.ts"
import recorded from "../app/commands/ui/session-api.json" with { type: "json" }
import sockets from "../app/commands/ui/session-sockets.json" with { type: "json" }
import { until } from "../support/until.ts"
import { describeReal, runClient } from "./harness.ts"
import { uiPage } from "./ui-page.ts"

describeReal("the real client beside braid ui", ["mirrord"], ({ mirrord }) => {
  let home: string
  let scope: Scope.Closeable
  beforeEach(async () => {
    home = mkdtempSync(join(tmpdir(), "braid-home-"))
    scope = await Effect.runPromise(Scope.make())
  })
  afterEach(async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    rmSync(home, { recursive: true, force: true })
  })
  const scoped = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>): Promise<A> =>
    Effect.runPromise(Effect.provideService(effect, Scope.Scope, scope))
  const run = async (...args: ReadonlyArray<string>): Promise<string> => {
    const command = runClient({ file: mirrord, args, home, kubeconfig: join(home, "none"), progress: "off" })
    expect(await command.ended(), command.stderr()).toBe(0)
    return command.stdout()
  }
  const folder = (): string => join(home, ".mirrord")

  it("lists and ends a session of the lab's client by its socket", async () => {
    await scoped(serveSession(join(folder(), "sessions"), sockets.info))
    expect(await run("session", "list")).toMatch(/1A2B3C +\| 4711 +\| ann-key +\| deployment\/web\/container\/app/u)
    expect(await run("session", "stop", "1A2B3C")).toContain("Killed session 1A2B3C.")
    await until("the socket is gone", () => !existsSync(join(folder(), "sessions", "1A2B3C.sock")) || undefined)
  })

  it("answers of the sessions of this machine as the recorded requests say", async () => {
    await scoped(serveSession(join(folder(), "sessions"), sockets.info))
    const { page, token } = uiPage(await run("ui", "--no-browser", "--port", String(await freePort())))
    expect(holder(folder())).toEqual({ pid: expect.any(Number) as number, link: undefined, flags: [] })
    const local = recorded.conversation.filter(({ request }) => /\/(?:sessions|rules|token|health)/u.test(request))
    const ofHere = local.filter(({ request }) => !request.includes("operator"))
    for (const { request, status } of ofHere) {
      const [method = "", path = ""] = request.split(" ")
      const body = JSON.stringify({ effect: { latency: {} }, selector: { upstream: "db" } })
      const headers = { "x-auth-token": token, ...(method === "POST" && { "content-type": "application/json" }) }
      const found = await fetch(new URL(path, page), { method, headers, ...(method === "POST" && { body }) })
      expect([request, found.status]).toEqual([request, status])
    }
    const found = await fetch(new URL("/api/sessions", page), { headers: { "x-auth-token": token } })
    expect(await found.json()).toEqual([sockets.info])
    await run("ui", "stop")
    await until("its end", () => holder(folder()) === undefined || undefined)
  })

  it("finds an aggregator of ours, and takes nothing from it", async () => {
    expect((await scoped(claim(folder(), Redacted.make("ours"))))._tag).toBe("Claimed")
    const told = await run("ui", "--no-browser")
    expect(told).toContain("Another session monitor is already running")
    expect(told).toContain(`-> ${process.pid}\n`)
    expect(uiPage(told).token).toBe("ours")
  })
})
