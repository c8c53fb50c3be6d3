/** Further wishes of developers to mirrord's own client, beside the common cases, with three workload clusters. */

import { createSocket } from "node:dgram"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import * as http from "node:http"
import * as net from "node:net"
import { join } from "node:path"
import { Effect } from "effect"
import { afterEach, beforeAll, expect, it } from "vitest"
import { freePort } from "../../lab/playground/free-ports.ts"
import { eventually } from "../support/eventually.ts"
import { listenLocally } from "../support/listen-locally.ts"
import { until } from "../support/until.ts"
import { bulkServer, download, upload } from "./bulk-transfer.ts"
import { developers } from "./developers.ts"
import { podDoors, whileCut, whileKilled } from "./disturbances.ts"
import { fleetIs } from "./fleet-health.ts"
import {
  describeReal,
  type AnyRealPlayground,
  request,
  runClient,
  type RunningCommand,
  type RealPlayground
} from "./harness.ts"
import { refusalText } from "./refusal.ts"
import { serve, serves, type ServedSession } from "./served-session.ts"
import { nothingLeft, parentNames, parents, readySession } from "./sessions.ts"

const target = ["--target", "deployment/myapp"] as const
const workloads = ["cluster-a", "cluster-b", "cluster-c"] as const

/** The cases of mirrord's own client with three workload clusters. */
export const clientFeatures = (real: RealPlayground): void =>
  describeReal("the real client with three workload clusters", ["mirrord", "layerApp"], (binaries) => {
    const { layerApp, mirrord } = binaries
    const commands: Array<RunningCommand> = []
    const closing: Array<() => void> = []
    const bob = { home: "", kubeconfig: "" }
    beforeAll(async () => {
      await fleetIs(real.playground())
      bob.home = real.home("bob")
      bob.kubeconfig = join(bob.home, "kubeconfig")
      const { cluster } = real.playground().primary
      await Effect.runPromise(cluster.userKubeconfig({ user: "bob", groups: [developers], path: bob.kubeconfig }))
    })
    afterEach(() => {
      for (const command of commands.splice(0)) command.stop()
      for (const close of closing.splice(0)) close()
    })

    /** A command that ends with the test; `config` is the client's configuration. */
    const run = (
      command: ReadonlyArray<string>,
      {
        config,
        environment = {},
        progress = "off",
        home = real.home("test"),
        kubeconfig = real.kubeconfig(),
        program = []
      }: {
        readonly config?: object
        readonly environment?: Readonly<Record<string, string>>
        readonly home?: string
        readonly progress?: "off" | "json"
        readonly kubeconfig?: string
        readonly program?: ReadonlyArray<string>
      } = {}
    ): RunningCommand => {
      const file = join(home, "mirrord.json")
      if (config !== undefined) writeFileSync(file, JSON.stringify(config))
      const args = [
        ...command,
        ...(config === undefined ? [] : ["-f", file]),
        ...(program.length === 0 ? [] : ["--", ...program])
      ]
      const started = runClient({ file: mirrord, args, home, kubeconfig, environment, progress })
      commands.push(started)
      return started
    }
    const kept = (session: ServedSession): ServedSession => {
      commands.push(session.app)
      return session
    }
    const entry = (cluster: string): string => real.cluster(cluster).entry ?? ""
    const isEnvironment = async (
      config: object,
      { absent, present }: Readonly<Record<"present" | "absent", ReadonlyArray<string>>>
    ): Promise<void> => {
      const env = run(["exec", ...target], { config: { feature: { env: config } }, program: ["env"] })
      expect(await env.ended(), env.stderr()).toBe(0)
      const names = env.stdout().split("\n")
      expect(names).toEqual(expect.arrayContaining([...present]))
      for (const name of absent) expect(env.stdout()).not.toContain(`${name}=`)
    }

    it("an application steals two ports in three clusters: one by header, the other one whole", async () => {
      const known = parentNames(real.playground())
      const steal = ["--steal", "80:^x-user: ann$", "--steal", "7000", "--respond", "ann"]
      const app = run(["exec", ...target], { program: [layerApp, ...steal] })
      const parent = await readySession(real, known)
      expect(parent.spec.clusters).toEqual(workloads)
      for (const port of [80, 7000])
        expect(await app.waitForEvent("subscribed", (event) => event["port"] === port)).toMatchObject({ ok: true })
      for (const cluster of workloads) {
        await eventually(`the application answers in ${cluster}`, async () =>
          expect(await request(entry(cluster), "/http", { "x-user": "ann" })).toBe("ann /http\n")
        )
        expect(await request(entry(cluster), "/own")).toContain(`hello from ${cluster}`)
        // layer-app echoes what is not HTTP, where the workload would greet first.
        await eventually(`the application has port 7000 of ${cluster}`, async () =>
          expect(await firstLine(real, cluster, `bytes for ${cluster}`)).toBe(`bytes for ${cluster}`)
        )
      }
    })

    it("two users share a port by header in three clusters, and one leaves", async () => {
      const ann = kept(await serve(real, binaries, { user: "ann", stays: true }))
      const other = kept(await serve(real, binaries, { user: "bob", stays: true, ...bob }))
      for (const cluster of workloads) for (const session of [ann, other]) await serves(real, session, cluster)
      expect(
        parents(real.playground())
          .filter(({ metadata }) => [ann.parent, other.parent].includes(metadata.name))
          .map(({ spec }) => spec.owner.k8sUsername)
          .toSorted()
      ).toEqual(["ann", "bob"])
      ann.app.stop()
      for (const cluster of workloads) {
        await eventually("the workload answers the first user", async () =>
          expect(await request(entry(cluster), "/left", { "x-user": "ann" })).toContain(`hello from ${cluster}`)
        )
        await serves(real, other, cluster)
      }
      expect(other.returns()).toBe(0)
    })

    it.each([
      ["abort", "the second is refused with a sentence", "first", "runs"],
      ["override", "the second gets the port, and the first one's session ends", "second", "ends"],
      ["continue", "the second gets the port, and the first one goes on without", "second", "runs"]
    ] as const)(
      "two users want one port, on_concurrent_steal is %s: %s",
      async (choice, _outcome, winner, firstOne) => {
        for (const cluster of workloads)
          await eventually(`the port of ${cluster} is the workload's`, async () =>
            expect(await firstLine(real, cluster, "free")).toBe(`hello from ${cluster}`)
          )
        const program = [layerApp, "--steal", "7000"]
        const home = real.home("first")
        const log = join(home, "internal-proxy.log")
        const internalProxy = { log_level: "mirrord_intproxy=info", log_destination: log }
        const first = run(["exec", ...target], { config: { internal_proxy: internalProxy }, home, program })
        expect(await first.waitForEvent("subscribed")).toMatchObject({ ok: true })
        const config = { feature: { network: { incoming: { mode: "steal", on_concurrent_steal: choice } } } }
        const second = run(["exec", ...target], { ...bob, config, program })
        expect(String((await second.waitForEvent("subscribed"))["ok"])).toMatch(
          choice === "abort" ? /port `7000`, as it is being stolen by another mirrord client/ : /^true$/
        )
        for (const cluster of workloads) {
          const said = `${choice} ${cluster}`
          await eventually(`the ${winner} has port 7000 of ${cluster}`, async () =>
            expect(await firstLine(real, cluster, said)).toBe(said)
          )
          const { waitForEvent } = winner === "first" ? first : second
          await waitForEvent("data", ({ text }) => String(text).includes(said))
        }
        if (winner === "second") {
          const told = `another session has taken port 7000 (on_concurrent_steal=${choice})`
          await eventually("the first user's log", () => expect(readFileSync(log, "utf8")).toContain(told))
        }
        if (firstOne === "ends") expect(await first.ended()).toBe(3)
        else expect(first.code(), first.stderr()).toBeUndefined()
      }
    )

    it.each([
      ["abort", "the second is refused with a sentence", "ann", "refused"],
      ["override", "the second gets the port, and the first one's session ends", "all", "ended"],
      ["continue", "the second gets the port, and the first one goes on without", "all", "runs"]
    ] as const)(
      "port-forward -R by two users with a filter each, then by one without, on_concurrent_steal is %s: %s",
      async (choice, _outcome, winner, loser) => {
        const forward = async (name: string, who: object, http_filter?: object): Promise<RunningCommand> => {
          const server = http.createServer((_, response) => response.end(name))
          const port = await listenLocally(server)
          closing.push(() => void server.close())
          const filter = http_filter === undefined ? {} : { http_filter }
          const incoming = { mode: "steal", on_concurrent_steal: choice, ...filter }
          return run(["port-forward", ...target, "-R", `80:${port}`], {
            config: { feature: { network: { incoming } } },
            ...who
          })
        }
        const answered = async (user: string, by: string): Promise<void> => {
          for (const cluster of workloads)
            await eventually(`the request of ${user} to ${cluster} is answered by ${by}`, async () =>
              expect(await request(entry(cluster), "/", { "x-user": user })).toContain(by)
            )
        }
        await answered("ann", "hello from")
        const header = (user: string): object => ({ header_filter: `^x-user: ${user}$` })
        const first = await forward("ann", {}, header("ann"))
        await answered("ann", "ann")
        const shares = await forward("bob", { ...bob, home: real.home("bob") }, header("bob"))
        await answered("bob", "bob")
        await answered("ann", "ann")
        shares.stop()
        await answered("bob", "hello from")
        const all = await forward("all", { ...bob, home: real.home("bob") })
        if (loser === "refused") {
          expect(await all.ended()).toBe(1)
          expect(refusalText(all)).toContain("it is being stolen by another mirrord client")
        }
        await answered("ann", winner)
        if (loser === "ended") expect(await first.ended()).toBe(1)
        else expect(first.code(), first.stderr()).toBeUndefined()
      }
    )

    it.each([
      [
        "include",
        { include: "DB_*;CLUSTER" },
        ["DB_HOST=db.cluster-a.example", "CLUSTER=cluster-a"],
        ["ONLY_IN_CLUSTER_A"]
      ],
      ["exclude", { exclude: "DB_*" }, ["CLUSTER=cluster-a", "ONLY_IN_CLUSTER_A=yes"], ["DB_HOST"]],
      [
        "override",
        { override: { DB_HOST: "localhost", MINE: "too" } },
        ["DB_HOST=localhost", "MINE=too", "CLUSTER=cluster-a"],
        []
      ]
    ] as const)(
      "feature.env.%s: a program has exactly those variables of the default cluster",
      async (_option, env, present, absent) => {
        await isEnvironment(env, { present, absent })
      }
    )

    it("names are resolved, and TCP and UDP connections made to them, in the default cluster", async () => {
      const name = "myapp.default.svc"
      const lookup = run(["exec", ...target], { program: [layerApp, "--resolve", name, "--connect", `${name}:7000`] })
      expect(await lookup.ended(), lookup.stderr()).toBe(0)
      const { addresses } = await lookup.waitForEvent("resolve")
      expect(addresses).toEqual([expect.stringMatching(/^[0-9.]+$/)])
      const address = String(Array.isArray(addresses) ? addresses[0] : "")
      expect(await lookup.waitForEvent("connect")).toMatchObject({
        protocol: "tcp",
        peer: `${address}:7000`,
        // The greeting, and the answer to the ping if it came before the greeting was read.
        reply: expect.stringMatching(/^hello from cluster-a\n(cluster-a: ping\n)?$/)
      })
      const udp = createSocket("udp4")
      udp.on("message", (bytes, { address: from, port }) => udp.send(`udp saw ${bytes.toString()}`, port, from))
      await new Promise<void>((resolve) => udp.bind(0, address, resolve))
      const { port } = udp.address()
      try {
        const app = run(["exec", ...target], { program: [layerApp, "--udp", `${name}:${port}`] })
        expect(await app.ended(), app.stderr()).toBe(0)
        const answer = { protocol: "udp", peer: `${address}:${port}`, reply: "udp saw ping\n" }
        expect(await app.waitForEvent("connect")).toMatchObject(answer)
      } finally {
        udp.close()
      }
    })

    it("a git branch's name is taken, whatever its characters, and refused where it is too long", async () => {
      const inBranch = (name: string): RunningCommand =>
        run(["exec", ...target], { environment: { MIRRORD_BRANCH_NAME: name }, program: ["env"] })
      const odd = inBranch('fix/größe&key=1+2 #3 100%"')
      expect(await odd.ended(), odd.stderr()).toBe(0)
      expect(odd.stdout()).toContain("CLUSTER=cluster-a")
      const long = inBranch("b".repeat(4_097))
      expect(await long.ended()).toBe(1)
      expect(refusalText(long)).toContain("branch_name")
    })

    it("mirrord up runs services, though it asks for splits of all queues that there may be", async () => {
      const home = real.home("up")
      const answers = ["first", "second"].map((name) => [name, `--steal 80:^x-user:.${name}$ --respond ${name}`])
      const services = answers.map(([name, actions = ""]) => [
        name,
        { target: { path: "deployment/myapp" }, run: { command: [layerApp, ...actions.split(" ")] } }
      ])
      const file = join(home, "mirrord-up.yaml")
      writeFileSync(file, JSON.stringify({ services: Object.fromEntries(services) }))
      const up = run(["up", "-f", file], { home })
      for (const cluster of workloads)
        for (const user of ["first", "second"])
          await eventually(`${user} serves ${cluster}`, async () => {
            expect(up.code(), up.stderr()).toBeUndefined()
            expect(await request(entry(cluster), "/up", { "x-user": user })).toBe(`${user} /up\n`)
          })
    })

    it("a CI job with an API key has a session and asks for no certificate, until `ci stop`", async () => {
      const command = run(["ci", "api-key"], { progress: "json" })
      expect(await command.ended(), command.stderr()).toBe(0)
      const [key = ""] = /mci-v1:[\w-]+/.exec(command.stdout()) ?? []
      const ci = { home: real.home("ci"), environment: { MIRRORD_CI_API_KEY: key } }
      const before = certificateRequests(real)
      const known = parentNames(real.playground())
      const program = [layerApp, "--steal", "80:^x-user: ci$", "--respond", "ci"]
      const start = run(["ci", "start", "--pipeline", "end to end", ...target], { ...ci, program })
      expect(await start.ended(), start.stderr()).toBe(0)
      expect((await readySession(real, known)).spec.ciInfo).toMatchObject({ pipeline: "end to end" })
      for (const cluster of workloads)
        await eventually(`the job serves ${cluster}`, async () =>
          expect(await request(entry(cluster), "/job", { "x-user": "ci" })).toBe("ci /job\n")
        )
      const stop = run(["ci", "stop"], ci)
      expect(await stop.ended(), stop.stderr()).toBe(0)
      for (const cluster of workloads)
        await eventually(`the workload serves ${cluster} again`, async () =>
          expect(await request(entry(cluster), "/job", { "x-user": "ci" })).toContain(`hello from ${cluster}`)
        )
      expect(certificateRequests(real)).toBe(before)
      expect(existsSync(join(ci.home, ".mirrord", "credentials"))).toBe(false)
    })

    it.each([
      ["a cluster is cut off", whileCut],
      ["a member's operator is killed", whileKilled]
    ] as const)("200 MB go up, and 200 MB come down, whole through port-forward while %s", async (_what, disturbed) => {
      const size = 200 * 1024 * 1024
      // The second half waits until the disturbance has begun, however fast the first half is.
      let begun = Promise.withResolvers<void>()
      const gate = (): Promise<void> => begun.promise
      const { close, port: remote } = await bulkServer(size, gate)
      const port = await freePort()
      const known = parentNames(real.playground())
      run(["port-forward", ...target, "-L", `${port}:127.0.0.1:${remote}`])
      await readySession(real, known)
      try {
        await eventually("the way is open", () => upload(port, 0).done)
        // One after the other: the client reads nothing while it waits to send, and neither does an agent.
        for (const transfer of [upload, download]) {
          begun = Promise.withResolvers()
          const { bytes, done } = transfer(port, size, gate)
          const outcome = done.catch((error: unknown) => error)
          await until("an eighth of the bytes", () => (bytes() > size / 8 ? true : undefined))
          await disturbed(real, "cluster-c", async () => {
            expect(bytes()).toBeLessThan(size)
            begun.resolve()
            const { received, sent } = await done
            expect(received).toBe(sent)
          })
          await outcome
          await fleetIs(real.playground())
        }
      } finally {
        close()
      }
    })

    it("leaves nothing", async () => {
      await nothingLeft(real)
    })
  })

/** Says something to the workload's port 7000 in a cluster, and hears the first line of whoever answers. */
const firstLine = (real: AnyRealPlayground, cluster: string, said: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const [door] = podDoors(real, cluster, 7000).values()
    if (door === undefined) throw new Error(`the workload of ${cluster} has no pod`)
    const socket = net.connect(door.port, door.ip, () => socket.write(`${said}\n`))
    socket.once("data", (bytes) => {
      socket.destroy()
      resolve(bytes.toString().split("\n")[0] ?? "")
    })
    socket.once("error", reject).once("close", () => reject(new Error("closed without a word")))
  })

/** Requests for user certificates so far. */
const certificateRequests = (real: AnyRealPlayground): number =>
  real
    .playground()
    .primary.cluster.callers()
    .filter(({ method, path }) => method === "POST" && path.includes("/mirrordclusteroperatorusercredentials")).length
