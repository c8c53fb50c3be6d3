/** Commands of mirrord's own client beside the common cases, at a primary and at a cluster of its own. */

import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, beforeAll, describe, expect, it } from "vitest"
import { freePort } from "../../lab/playground/free-ports.ts"
import { eventually } from "../support/eventually.ts"
import { until } from "../support/until.ts"
import { fleetIs } from "./fleet-health.ts"
import { type AnyRealPlayground, describeReal, request, runClient, type RunningCommand } from "./harness.ts"
import { startLocalServer } from "./local-server.ts"
import { refusalText } from "./refusal.ts"
import { children, nothingLeft, parentNames } from "./sessions.ts"
import { singleUser } from "./single-user.ts"
import { uiPage, uiSessions } from "./ui-page.ts"

const target = ["--target", "deployment/myapp"] as const
/** The primary is the default and has workloads; the other cluster is asked past the primary. */
const [primary, single] = ["cluster-a", "cluster-b"] as const
/** The rights of the chart's roles do not hold the resources of branches. */
const noBranches = /branchdatabases\.dbs\.mirrord\.metalbear\.co is forbidden/
const noPreviews = /Feature `preview environments` is not supported in mirrord operator/
const noSession = /no local or remote session found with id `none`/

/**
 * The cases of commands that the client has besides.
 *
 * @param where what the clusters of the playground are
 */
export const furtherCommands = (where: string, use: () => AnyRealPlayground): void =>
  describeReal(`further commands of the real client, ${where}`, ["mirrord", "layerApp"], ({ layerApp, mirrord }) => {
    const real = use()
    const users = new Map<string, { readonly home: string; readonly kubeconfig: string }>()
    const commands: Array<RunningCommand> = []
    const closing: Array<() => void> = []
    beforeAll(async () => {
      await fleetIs(real.playground())
      for (const cluster of [primary, single]) users.set(cluster, await singleUser(real, cluster, `user-of-${cluster}`))
    })
    afterEach(() => {
      for (const command of commands.splice(0)) command.stop()
      for (const close of closing.splice(0)) close()
    })

    /** A command of a cluster's user; all commands of a user have one home. */
    const run = (cluster: string, args: ReadonlyArray<string>, progress: "json" | "off" = "off"): RunningCommand => {
      const { home, kubeconfig } = users.get(cluster) ?? { home: "", kubeconfig: "" }
      const command = runClient({ file: mirrord, args, home, kubeconfig, progress })
      commands.push(command)
      return command
    }
    /** The option that gives a command this configuration. */
    const configured = (cluster: string, config: object): ReadonlyArray<string> => {
      const file = join(users.get(cluster)?.home ?? "", "mirrord.json")
      writeFileSync(file, JSON.stringify(config))
      return ["-f", file]
    }
    const ends = async (command: RunningCommand, code: number): Promise<string> => {
      expect(await command.ended(), command.stderr()).toBe(code)
      return command.stdout() + refusalText(command)
    }
    const entry = (cluster: string): string => real.cluster(cluster).entry ?? ""

    describe.each([
      ["a primary", primary],
      ["a cluster by itself", single]
    ])("at %s", (_where, cluster) => {
      it.each([
        ["db-branches status", 1, noBranches],
        ["db-branches stop --all", 1, noBranches],
        ["db-branches connections", 0, /No active portforward sessions/],
        ["preview status", 1, noPreviews],
        ["preview start --target deployment/myapp --image web --key feature", 1, noPreviews],
        ["preview stop --key feature", 1, noPreviews],
        ["session stop none", 1, noSession],
        ["kill none", 1, noSession]
      ] as const)("%s ends with %i and says %s", async (line, code, text) => {
        expect(await ends(run(cluster, line.split(" ")), code)).toMatch(text)
      })

      it.each(["session stop", "kill"])("%s ends the session with the id that session list shows", async (words) => {
        const app = run(cluster, ["exec", ...target, "--", layerApp, "--mirror", "7000"])
        await app.waitForEvent("subscribed")
        const ids = async () => {
          const listed = await ends(run(cluster, ["session", "list"]), 0)
          return Array.from(listed.matchAll(/\| ([0-9A-F]+) +\| \d+ +\|/g), ([, found]) => found)
        }
        // It has a client, unlike those of earlier tests, which may still be ending.
        await ends(run(cluster, ["operator", "session", "retain-active"]), 0)
        const id = await until("the only session, once, not twice", async () => {
          const [only, ...others] = await ids()
          return others.length === 0 ? only : undefined
        })
        expect(await ends(run(cluster, [...words.split(" "), id]), 0)).toContain(`Killed session ${id}`)
        // layer-app ends with 3 when its session is lost.
        expect(await app.ended(), app.stderr()).toBe(3)
      })

      it("queues status says that queue splitting is not enabled", async () => {
        const output = await ends(run(cluster, ["queues", "status"], "json"), 0)
        expect(output).toContain("Can't list queuesplits, assuming they're not enabled on this cluster.")
      })

      it("ui start serves those who have its token, and ui stop ends it", async () => {
        const started = await ends(run(cluster, ["ui", "--no-browser", "--port", String(await freePort()), "start"]), 0)
        const { page, token } = uiPage(started)
        const status = async (headers: Readonly<Record<string, string>>) => (await fetch(page, { headers })).status
        expect(await status({})).toBe(401)
        // This build of the client holds no pages.
        expect(await status({ "x-auth-token": token })).toBe(404)
        const app = run(cluster, ["exec", ...target, "--", layerApp, "--mirror", "7000"])
        await app.waitForEvent("subscribed")
        await eventually("the list of the page has the session once", async () =>
          expect(await uiSessions({ page, token })).toMatchObject({
            sessions: [{ namespace: "default", target: { kind: "deployment", name: "myapp" } }]
          })
        )
        expect(await ends(run(cluster, ["ui", "stop"]), 0)).toContain("Sent stop command to UI server")
        app.stop()
      })
    })

    describe("at a cluster by itself", () => {
      it("a CI job with an API key has a session until `ci stop`", async () => {
        const [key = ""] = /mci-v1:[\w-]+/.exec(await ends(run(single, ["ci", "api-key"], "json"), 0)) ?? []
        const user = { home: real.home("ci-of-one"), kubeconfig: users.get(single)?.kubeconfig ?? "" }
        const asJob = (args: ReadonlyArray<string>): RunningCommand => {
          const environment = { MIRRORD_CI_API_KEY: key }
          const command = runClient({ file: mirrord, args, ...user, environment, progress: "off" })
          commands.push(command)
          return command
        }
        const program = [layerApp, "--steal", "80:^x-user: ci$", "--respond", "ci"]
        await ends(asJob(["ci", "start", ...target, "--", ...program]), 0)
        const ask = () => request(entry(single), "/job", { "x-user": "ci" })
        await eventually("the job serves", async () => expect(await ask()).toBe("ci /job\n"))
        await ends(asJob(["ci", "stop"]), 0)
        await eventually("the workload serves again", async () => expect(await ask()).toContain(`hello from ${single}`))
      })

      it("diagnose latency measures a hundred answers", async () => {
        const output = await ends(run(single, ["diagnose", "latency"], "json"), 0)
        expect(output.match(/\d+\/100 iterations completed/g)).toHaveLength(100)
        expect(output).toMatch(/Latency statistics: min=\d+ms, max=\d+ms, avg=\d+ms/)
      })

      it("dump prints requests, and the workload answers them", async () => {
        const dump = run(single, ["dump", ...target, "-p", "80"])
        await eventually("the dump of a request", async () => {
          expect(await request(entry(single), "/dumped")).toContain(`hello from ${single}: GET /dumped`)
          expect(dump.stdout()).toContain("/dumped")
        })
      })

      it("port-forward -L reaches a service, and -R steals by a header", async () => {
        const [local, server] = [await freePort(), await startLocalServer()]
        closing.push(server.close)
        const incoming = { mode: "steal", http_filter: { header_filter: "^x-user: sam$" } }
        const config = configured(single, { feature: { network: { incoming } } })
        run(single, ["port-forward", ...target, "-L", `${local}:myapp:80`])
        await eventually("the way there", async () =>
          expect(await request(`http://127.0.0.1:${local}`, "/there")).toContain(`hello from ${single}: GET /there`)
        )
        run(single, ["port-forward", ...target, ...config, "-R", `80:${server.port}`])
        await eventually("the way back", async () =>
          expect(await request(entry(single), "/here", { "x-user": "sam" })).toBe("local /here")
        )
        expect(await request(entry(single), "/here", { "x-user": "tom" })).toContain(`hello from ${single}: GET /here`)
      })
    })

    it("multi_cluster: false has a session of a primary's own workload alone", async () => {
      const known = parentNames(real.playground())
      const steal = ["--env", "CLUSTER", "--steal", "80:^x-user: pam$", "--respond", "pam"]
      const config = configured(primary, { multi_cluster: false })
      const app = run(primary, ["exec", ...target, ...config, "--", layerApp, ...steal])
      expect(await app.waitForEvent("env")).toMatchObject({ value: primary })
      expect(await app.waitForEvent("subscribed")).toMatchObject({ ok: true })
      expect(await request(entry(primary), "/one", { "x-user": "pam" })).toBe("pam /one\n")
      expect(await request(entry(single), "/one", { "x-user": "pam" })).toContain(`hello from ${single}: GET /one`)
      expect(children(real.cluster(primary)).map(({ spec }) => spec.multiClusterParentName ?? null)).toContain(null)
      expect([...parentNames(real.playground())].filter((name) => !known.has(name))).toEqual([])
    })

    it("leaves nothing", async () => {
      for (const cluster of [primary, single]) await ends(run(cluster, ["operator", "session", "stop", "--all"]), 0)
      await nothingLeft(real)
    })
  })
