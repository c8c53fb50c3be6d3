/**
 * The cases of mirrord's own client, for every topology: exec, steal, mirror, files, reconnects. Run by
 * `management.test.ts` and, on real control planes, `../kubernetes/real-client.test.ts`.
 */

import { readFileSync, writeFileSync } from "node:fs"
import * as net from "node:net"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { Effect } from "effect"
import { afterEach, beforeAll, expect, it } from "vitest"
import { freePort } from "../../lab/playground/free-ports.ts"
import { tableOf } from "../charts/api-call.ts"
import { auditedCalls, outsideOf, readTable, resourceCalls } from "../charts/audited-calls.ts"
import { eventually } from "../support/eventually.ts"
import { runBraid } from "../support/run-braid.ts"
import { until } from "../support/until.ts"
import { workload } from "./branches.ts"
import { applyObjects } from "./cluster-writes.ts"
import { developers, namespaceDevelopers } from "./developers.ts"
import { podDoors } from "./disturbances.ts"
import { fleetIs } from "./fleet-health.ts"
import {
  type AnyRealPlayground,
  clientUser,
  describeReal,
  type LayerEvent,
  request,
  runClient,
  type RunningCommand
} from "./harness.ts"
import { refusalText, statusCode } from "./refusal.ts"
import { newParent, nothingLeft, parentNames, readySession, strayRequests } from "./sessions.ts"
import { unservedBranches, unservedQueues } from "./unserved-settings.ts"

const target = ["--target", "deployment/myapp"] as const

/** The first line with which a TCP server greets, then its answer to `line`. */
const greetingAndEcho = (port: number, line: string): Promise<ReadonlyArray<string>> =>
  new Promise((resolve, reject) => {
    const socket = net.connect(port, "127.0.0.1")
    const seen: Array<string> = []
    socket.once("error", reject)
    socket.once("close", () => reject(new Error(`closed after ${JSON.stringify(seen)}`)))
    const lines = createInterface({ input: socket })
    // readline repeats the socket's errors, which are handled above.
    lines
      .on("error", () => undefined)
      .on("line", (text) => {
        seen.push(text)
        if (seen.length === 1) socket.write(`${line}\n`)
        if (seen.length === 2) {
          resolve(seen)
          socket.destroy()
        }
      })
  })

const pathOf = (event: LayerEvent): string => String(event["path"])

/**
 * The client's default: without an answer for so long it takes its connection for lost, so a loaded machine has to be
 * given as much.
 */
const pingSeconds = 30

/** mirrord's client against the primary of a playground. */
export const realClientCases = (where: string, use: () => AnyRealPlayground): void =>
  describeReal(`the real client, ${where}`, ["mirrord", "layerApp"], ({ layerApp, mirrord }) => {
    const real = use()
    const commands: Array<RunningCommand> = []
    const start = (args: ReadonlyArray<string>, home: string, kubeconfig = real.kubeconfig()): RunningCommand =>
      runClient({ file: mirrord, args, home, kubeconfig })
    /** A command that ends with the test at the latest. */
    const run = (
      args: ReadonlyArray<string>,
      home = real.home("test"),
      kubeconfig = real.kubeconfig()
    ): RunningCommand => {
      const command = start(args, home, kubeconfig)
      commands.push(command)
      return command
    }
    const entry = (cluster: string): string => {
      const url = real.cluster(cluster).entry
      if (url === undefined) throw new Error(`${cluster} runs no workload`)
      return url
    }
    /** A cluster that was slow to be ready takes part in a subscription a moment later. */
    const served = (cluster: string, path: string, headers: Readonly<Record<string, string>>, answer: string) =>
      eventually(`the application answers in ${cluster}`, async () =>
        expect(await request(entry(cluster), path, headers)).toBe(answer)
      )
    const primaryRequests = () => real.playground().primary.cluster.callers()
    const credentialPosts = () =>
      primaryRequests().filter(
        ({ method, path }) => method === "POST" && path.includes("/mirrordclusteroperatorusercredentials")
      ).length

    /** A session that is pinged from the first test to the last. */
    const pings = { home: "", log: "", command: undefined as RunningCommand | undefined }
    beforeAll(async () => {
      await fleetIs(real.playground())
      pings.home = real.home("pings")
      pings.log = join(pings.home, "internal-proxy.log")
      const config = join(pings.home, "mirrord.json")
      const internalProxy = {
        ping_interval: pingSeconds,
        log_level: "mirrord_intproxy=debug",
        log_destination: pings.log
      }
      writeFileSync(config, JSON.stringify({ internal_proxy: internalProxy }))
      const args = ["exec", ...target, "-f", config, "--", layerApp, "--mirror", "7000"]
      const known = parentNames(real.playground())
      pings.command = start(args, pings.home)
      await readySession(real, known)
    })
    afterEach(() => {
      for (const command of commands.splice(0)) command.stop()
    })

    it("operator status prints version, licence and the session tables", async () => {
      const status = run(["operator", "status"])
      expect(await status.ended(), status.stderr()).toBe(0)
      expect(status.stdout()).toMatch(/Operator version: 3\.250\.0\+braid\.\d+\.\d+\.\d+/)
      expect(status.stdout()).toMatch(/Operator License\s+name: braid\s+organization: braid\s+expire at: 31-Dec-9999/)
      expect(status.stdout()).toMatch(/\| Session ID\s+\| Target/)
      const [first = "", second = ""] = status.stdout().split("Multi-Cluster Sessions:")
      // The session that is pinged is in both tables, under the id of its table.
      expect(first).toMatch(/\| [0-9A-F]{1,16}\s+\| deployment\/myapp/)
      expect(second).toMatch(/\| mc-[0-9a-f]{16}\s+\| deployment\/myapp/)
    })

    it("operator status and session list name a cluster that takes no part, and the first one says why", async () => {
      await applyObjects(real.cluster("cluster-a").cluster, JSON.stringify(workload("lonely", {})))
      await until("a ready pod of lonely", () => podDoors(real, "cluster-a", 80, "lonely").size > 0 || undefined)
      const known = parentNames(real.playground())
      run(["exec", "--target", "deployment/lonely", "--", "sleep", "600"])
      await newParent(real, known, "Ready")
      const status = run(["operator", "status"], real.home("looks"))
      expect(await status.ended(), status.stderr()).toBe(0)
      expect(status.stdout()).toMatch(
        /\| deployment\/lonely .*\| cluster-a +\| Ready, without cluster-b: there is no deployment\/lonely in/u
      )
      const list = run(["session", "list"], real.home("looks"))
      expect(await list.ended(), list.stderr()).toBe(0)
      expect(list.stdout()).toContain("| deployment/lonely (without cluster-b) ")
      // A developer, who may not list the sessions' objects.
      const told = await runBraid(["sessions", "--kubeconfig", real.kubeconfig()])
      expect(told.output).toMatch(/deployment\/lonely .* 1\/2 .* cluster-b: there is no deployment\/lonely in/u)
    })

    it("exec runs a command with the default cluster's variables; it asks for the certificate once", async () => {
      const home = real.home("env")
      const postsBefore = credentialPosts()
      for (const round of ["first", "second"]) {
        const known = parentNames(real.playground())
        const env = run(["exec", ...target, "--", "env"], home)
        const [code, parent] = await Promise.all([env.ended(), newParent(real, known, "Ready")])
        expect(code, env.stderr()).toBe(0)
        expect(parent.spec.targetAlias).toBe("deployment.myapp")
        expect(parent.spec.owner.k8sUsername).toBe("ann")
        const lines = env.stdout().split("\n")
        expect(lines, round).toEqual(
          expect.arrayContaining(["CLUSTER=cluster-a", "DB_HOST=db.cluster-a.example", "ONLY_IN_CLUSTER_A=yes"])
        )
        expect(env.stdout(), round).not.toContain("cluster-b")
        expect(env.stdout(), round).not.toContain("ONLY_IN_CLUSTER_B")
        expect(credentialPosts() - postsBefore, round).toBe(1)
      }
    })

    it("dump prints requests that enter at either cluster, and the workload answers them", async () => {
      const known = parentNames(real.playground())
      const dump = run(["dump", ...target, "-p", "80"])
      await readySession(real, known)
      for (const cluster of ["cluster-a", "cluster-b"]) {
        await eventually(`the dump of a request to ${cluster}`, async () => {
          const path = `/dumped-in-${cluster}`
          expect(await request(entry(cluster), path)).toContain(`hello from ${cluster}: GET ${path}`)
          expect(dump.stdout()).toContain(path)
        })
      }
    })

    it("port-forward -L reaches a service as seen from the default cluster", async () => {
      const known = parentNames(real.playground())
      const port = await freePort()
      const forward = run(["port-forward", ...target, "-L", `${port}:myapp:7000`])
      await readySession(real, known)
      const lines = await eventually(`an answer through port ${port}${forward.stderr()}`, () =>
        greetingAndEcho(port, "round trip")
      )
      expect(lines).toEqual(["hello from cluster-a", "cluster-a: round trip"])
    })

    it("port-forward -R steals requests that enter at either cluster, and gives them back at its end", async () => {
      const known = parentNames(real.playground())
      const received: Array<string> = []
      const server = net.createServer((socket) => {
        socket.on("error", () => undefined)
        socket.once("data", (bytes) => {
          received.push(bytes.toString().split(" ")[1] ?? "")
          socket.end("HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nlocal")
        })
      })
      const port = await freePort()
      await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve))
      const home = real.home("reverse")
      const config = join(home, "mirrord.json")
      writeFileSync(config, JSON.stringify({ feature: { network: { incoming: "steal" } } }))
      const forward = run(["port-forward", ...target, "-f", config, "-R", `80:${port}`], home)
      try {
        await readySession(real, known)
        for (const cluster of ["cluster-a", "cluster-b"]) {
          await eventually(`a request to ${cluster} is answered locally`, async () => {
            expect(await request(entry(cluster), `/stolen-in-${cluster}`)).toBe("local")
          })
        }
        expect(received).toEqual(expect.arrayContaining(["/stolen-in-cluster-a", "/stolen-in-cluster-b"]))
      } finally {
        forward.stop()
        server.close()
      }
      for (const cluster of ["cluster-a", "cluster-b"]) {
        await eventually(`${cluster} answers by itself again`, async () => {
          expect(await request(entry(cluster), "/back")).toContain(`hello from ${cluster}`)
        })
      }
    })

    it("an application steals port 80 in both clusters, and reads, resolves, connects in the default", async () => {
      const known = parentNames(real.playground())
      const app = run([
        "exec",
        ...target,
        "--",
        layerApp,
        "--env",
        "DB_HOST",
        "--read",
        "/etc/myapp/settings.txt",
        "--resolve",
        "myapp",
        "--connect",
        "myapp:7000",
        "--steal",
        "80",
        "--respond",
        "from the laptop"
      ])
      const parent = await readySession(real, known)
      expect(parent.spec.clusters).toEqual(["cluster-a", "cluster-b"])
      expect(await app.waitForEvent("env")).toMatchObject({ name: "DB_HOST", value: "db.cluster-a.example" })
      expect(await app.waitForEvent("file")).toMatchObject({ text: "settings of cluster-a\n" })
      const { addresses } = await app.waitForEvent("resolve")
      expect(addresses).toEqual([expect.stringMatching(/^\d+\.\d+\.\d+\.\d+$/)])
      expect(await app.waitForEvent("connect")).toMatchObject({
        protocol: "tcp",
        port: 7000,
        reply: expect.stringMatching(/^hello from cluster-a/)
      })
      expect(await app.waitForEvent("subscribed")).toMatchObject({ mode: "steal", port: 80, ok: true })
      for (const cluster of ["cluster-a", "cluster-b"]) {
        const path = `/to-${cluster}`
        await served(cluster, path, { "x-from": "test" }, `from the laptop ${path}\n`)
        const seen = await app.waitForEvent("request", (event) => pathOf(event) === path)
        expect(seen).toMatchObject({
          port: 80,
          method: "GET",
          headers: expect.objectContaining({ "x-from": "test" })
        })
      }
      expect(app.events().filter(({ event }) => event === "closed" || event === "connection-error")).toEqual([])
    })

    it("an application steals by header; other requests are answered by the workload of their cluster", async () => {
      const known = parentNames(real.playground())
      const app = run(["exec", ...target, "--", layerApp, "--steal", "80:^x-user: ann$", "--respond", "for ann"])
      await readySession(real, known)
      expect(await app.waitForEvent("subscribed")).toMatchObject({ mode: "steal", port: 80, ok: true })
      for (const cluster of ["cluster-a", "cluster-b"]) {
        await served(cluster, "/match", { "x-user": "ann" }, "for ann /match\n")
        expect(await request(entry(cluster), "/other", { "x-user": "bob" })).toContain(
          `hello from ${cluster}: GET /other`
        )
        expect(await request(entry(cluster), "/none")).toContain(`hello from ${cluster}: GET /none`)
      }
      expect(
        app
          .events()
          .filter(({ event }) => event === "request")
          .map(pathOf)
      ).toEqual(["/match", "/match"])
    })

    it("subscribe prints the requests that a session with the key steals, and the answers", async () => {
      const known = parentNames(real.playground())
      const watcher = run(["subscribe", "--key", "watched"])
      const other = run(["subscribe", "--key", "other"])
      for (const { stderr } of [watcher, other])
        await eventually("the subscription", () => expect(stderr()).toContain("Subscribed to events"))
      const steal = ["--steal", "80:^x-user: ann$", "--respond", "for ann"]
      const app = run(["exec", "--key", "watched", ...target, "--", layerApp, ...steal])
      await readySession(real, known)
      await app.waitForEvent("subscribed")
      for (const cluster of ["cluster-a", "cluster-b"]) {
        const path = `/seen-in-${cluster}`
        await served(cluster, path, { "x-user": "ann" }, `for ann ${path}\n`)
        expect(await request(entry(cluster), "/left", { "x-user": "bob" })).toContain("GET /left")
        await eventually(`the event of ${path}`, () => {
          const events = watcher
            .stdout()
            .split("\n")
            .filter((line) => line !== "")
            .map((line) => JSON.parse(line) as unknown)
          expect(events.slice(-2)).toEqual([
            expect.objectContaining({
              service_name: "myapp",
              session_key: "watched",
              data: {
                http_request: {
                  method: "GET",
                  uri: path,
                  version: "HTTP/1.1",
                  headers: expect.objectContaining({ "x-user": "ann", "mirrord-key": "watched" }) as unknown
                }
              }
            }),
            expect.objectContaining({
              data: { http_response: expect.objectContaining({ status: 200, version: "HTTP/1.1" }) as unknown }
            })
          ])
        })
      }
      expect(watcher.stdout()).not.toContain("/left")
      expect(other.stdout()).toBe("")
      expect(watcher.stderr()).not.toContain("rror")
    })

    it.each([
      [
        "a wrong target name",
        ["--target", "deployment/nope"],
        "there is no deployment/nope in namespace default",
        "check the target's name"
      ],
      [
        "a job that is not there, of which the client asks for a copy",
        ["--target", "job/nightly"],
        "there is no job/nightly in namespace default",
        "check the target's name"
      ],
      [
        "an unknown namespace",
        [...target, "--target-namespace", "nowhere"],
        "there is no deployment/myapp in namespace nowhere",
        "check the target's name, container and namespace"
      ],
      [
        "an unknown container",
        ["--target", "deployment/myapp/container/sidecar"],
        "sidecar",
        "check the target's name, container"
      ]
    ])("%s is refused at once, with cause and cure", async (_what, args, cause, cure) => {
      const command = run(["exec", ...args, "--", "env"])
      expect(await command.ended()).toBe(1)
      const text = refusalText(command)
      expect(text).toContain(cause)
      expect(text).toContain(cure)
      expect(text).toContain("cluster-a")
      expect(statusCode(text)).toBe(404)
      expect(command.stdout()).toBe("")
    })

    it.each(unservedQueues)("a queue split by $what is refused before the program starts", async (unserved) => {
      const home = real.home("split")
      const config = join(home, "mirrord.json")
      writeFileSync(config, JSON.stringify(unserved.config))
      const command = run(["exec", ...target, "-f", config, "--", "env"], home)
      expect(await command.ended()).toBe(1)
      const text = refusalText(command)
      expect(text).toContain(unserved.sentence)
      expect(text).toContain("feature.split_queues")
      expect(statusCode(text)).toBe(400)
      expect(command.stdout()).toBe("")
    })

    /** Runs a command as a user whose calls are not for the table of calls below. */
    const runAsCleo = async (args: ReadonlyArray<string>, config: object, group: string): Promise<RunningCommand> => {
      const home = real.home("cleo")
      const file = join(home, "mirrord.json")
      writeFileSync(file, JSON.stringify(config))
      const path = join(home, "kubeconfig")
      const { cluster } = real.playground().primary
      await Effect.runPromise(cluster.userKubeconfig({ user: "cleo", groups: [group], path }))
      return run(["exec", ...args, "-f", file, "--", "env"], home, path)
    }

    it.each(unservedBranches)(
      "a $what branch ends the client, which else would use the real database",
      async ({ config, sentence }) => {
        const command = await runAsCleo(target, config, developers)
        expect(await command.ended()).toBe(1)
        expect(refusalText(command)).toContain(sentence)
        expect(command.stdout()).toBe("")
      }
    )

    it("labels that no pod of the primary's own cluster has end the client before the program starts", async () => {
      // A primary that only manages has no pods of the workload, whatever the members have.
      const labels = real.playground().primary.entry === undefined ? "app=myapp" : "app=nowhere"
      // Not even the rights of an administrator help.
      const command = await runAsCleo(["--target", `label/${labels}`], {}, "system:masters")
      expect(await command.ended()).toBe(1)
      expect(refusalText(command)).toContain(`no target-ready pod matching label selector \`${labels}\` was found`)
      expect(command.stdout()).toBe("")
    })

    it("pings of a minute are answered one by one and the connection stays", async () => {
      const { command, log } = pings
      if (command === undefined) throw new Error("the session was not started")
      const logged = () => readFileSync(log, "utf8")
      await until("three answers", () => (logged().split("Agent responded to ping").length > 3 ? true : undefined))
      expect(command.code(), command.stderr()).toBeUndefined()
      expect(command.events().filter(({ event }) => event === "resubscribed" || event === "closed")).toEqual([])
      expect(logged()).not.toContain("attempting to reconnect")
    })

    it("diagnose latency measures a hundred answers, and starts no session for it", async () => {
      const known = parentNames(real.playground())
      const home = real.home("latency")
      const args = ["diagnose", "latency"]
      const latency = runClient({ file: mirrord, args, home, kubeconfig: real.kubeconfig(), progress: "json" })
      commands.push(latency)
      expect(await latency.ended(), latency.stderr()).toBe(0)
      // Sessions of earlier tests may end meanwhile.
      expect([...parentNames(real.playground())].filter((name) => !known.has(name))).toEqual([])
      const output = latency.stdout()
      const rounds = Array.from(output.matchAll(/(\d+)\/100 iterations completed/g), ([, round]) => Number(round))
      expect(rounds).toEqual(Array.from({ length: 100 }, (_, round) => round))
      const statistics = /Latency statistics: min=(\d+)ms, max=(\d+)ms, avg=(\d+)ms/.exec(output) ?? []
      const [min = NaN, max = NaN, average = NaN] = statistics.slice(1).map(Number)
      expect(min, output).toBeLessThanOrEqual(average)
      expect(average).toBeLessThanOrEqual(max)
    })

    it("queues status says that queue splitting is not enabled", async () => {
      const home = real.home("queues")
      const args = ["queues", "status"]
      const queues = runClient({ file: mirrord, args, home, kubeconfig: real.kubeconfig(), progress: "json" })
      commands.push(queues)
      expect(await queues.ended(), queues.stderr()).toBe(0)
      expect(queues.stdout()).toContain("Can't list queuesplits, assuming they're not enabled on this cluster.")
    })

    it.each([
      [
        "exec with a copy of a target that is not there",
        ["exec", "--target", "deployment/nowhere", "-f", { feature: { copy_target: true } }, "--", "env"],
        1,
        "In the default cluster"
      ],
      [
        "exec with a profile that does not exist",
        ["exec", ...target, "-f", { profile: "none" }, "--", "env"],
        1,
        "profile was not found"
      ],
      [
        "exec with a namespace's profile that does not exist",
        ["exec", ...target, "-f", { profile: "default/none" }, "--", "env"],
        1,
        "profile was not found"
      ]
    ])("%s does what it can without that feature, and no right is missing", async (_what, args, code, text) => {
      const home = real.home("feature")
      const config = join(home, "mirrord.json")
      const command = run(
        args.map((arg) => {
          if (typeof arg === "string") return arg
          writeFileSync(config, JSON.stringify(arg))
          return config
        }),
        home
      )
      expect(await command.ended(), command.stderr()).toBe(code)
      // The client breaks lines where it likes.
      expect(command.stderr().replaceAll(/\s+│?\s*/g, " ")).toContain(text)
    })

    it("session list shows sessions; operator session and braid sessions end them by id, and all", async () => {
      const apps: Array<RunningCommand> = []
      const ids: Array<string> = []
      for (const _ of ["by braid", "by id", "with all"]) {
        const known = parentNames(real.playground())
        const home = real.home("stopped")
        apps.push(run(["exec", ...target, "--", layerApp, "--mirror", "7000"], home))
        ids.push((await readySession(real, known)).metadata.name.replace("mc-", ""))
        await apps.at(-1)?.waitForEvent("subscribed")
      }
      const list = run(["session", "list"])
      expect(await list.ended(), list.stderr()).toBe(0)
      for (const id of ids)
        expect(list.stdout().split(` ${id.replace(/^0+/, "").toUpperCase()} `), "once, not twice").toHaveLength(2)
      // Both have a client, so both go on.
      const retain = run(["operator", "session", "retain-active"])
      expect(await retain.ended(), retain.stderr()).toBe(0)
      // layer-app ends with 3 when its session is lost.
      const [first, second, third] = apps
      const { kubeconfigPath } = real.playground().primary.cluster
      const name = `mc-${ids[0] ?? ""}`
      const braid = await runBraid(["sessions", "stop", "mc-404", name, "--kubeconfig", kubeconfigPath])
      expect(braid).toEqual({
        code: 1,
        output: `Session ${name} is being stopped.\n`,
        errors: "braid: There is no session mc-404.\nfix: braid sessions lists those that there are.\n"
      })
      expect(await first?.ended()).toBe(3)
      const byId = run(["operator", "session", "stop", "--id", ids[1] ?? ""])
      expect(await byId.ended(), byId.stderr()).toBe(0)
      expect(await second?.ended()).toBe(3)
      expect(third?.events().map(({ event }) => event)).not.toContain("closed")
      const all = run(["operator", "session", "stop", "--all"])
      expect(await all.ended(), all.stderr()).toBe(0)
      expect(await third?.ended()).toBe(3)
    })

    it("a developer of one namespace has a session there, and is refused one anywhere else", async () => {
      const user = "bea"
      const path = join(real.home("namespace"), "kubeconfig")
      const { cluster } = real.playground().primary
      await Effect.runPromise(cluster.userKubeconfig({ user, groups: [namespaceDevelopers], path }))
      const env = run(["exec", ...target, "--", "env"], undefined, path)
      expect(await env.ended(), env.stderr()).toBe(0)
      expect(env.stdout()).toContain("CLUSTER=cluster-a")
      expect(outsideOf(["users"], auditedCalls(cluster, user))).toEqual([])
      const refused = () =>
        cluster
          .callers()
          .filter((call) => call.user === user && call.status === 403)
          .map((call) => call.path)
      expect(refused()).toEqual([])
      const elsewhere = run(["exec", ...target, "--target-namespace", "kube-system", "--", "env"], undefined, path)
      expect(await elsewhere.ended()).toBe(1)
      // A real API server writes its audit log after the answer.
      await eventually("the refused call", () =>
        expect(refused()).toEqual([expect.stringContaining("/namespaces/kube-system/targets/")])
      )
    })

    it("after the TTL nothing but failed parents is left, and no member has ever seen the user", async () => {
      pings.command?.stop()
      await nothingLeft(real)
      expect(strayRequests(real.playground())).toEqual([])
      const users = await until("requests of the user at the primary", () =>
        primaryRequests().find(({ user }) => user === "ann")
      )
      expect(users.user).toBe("ann")
    })

    it("the client has made the calls that the users' roles are for, and no others, and was refused none", () => {
      const { cluster } = real.playground().primary
      // `braid sessions` makes calls of its own, and may be refused the list of the sessions' objects.
      const calls = cluster.callers().filter(({ user, userAgent }) => user === clientUser && userAgent !== "braid")
      expect(calls.filter(({ status }) => status === 403)).toEqual([])
      // A missing row belongs in test/charts/calls/users.txt, and its right in the chart's roles.
      expect(tableOf(resourceCalls(calls)).trimEnd().split("\n")).toEqual(readTable("users"))
    })
  })
