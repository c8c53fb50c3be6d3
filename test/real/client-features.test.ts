/** What developers ask of mirrord's own client beside the common cases, with three workload clusters. */

import { createHash } from "node:crypto"
import { createSocket } from "node:dgram"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import * as net from "node:net"
import { join } from "node:path"
import { Effect } from "effect"
import { afterEach, beforeAll, expect, it } from "vitest"
import { subnetOf } from "../address-plan.ts"
import { freePort } from "../support/free-port.ts"
import { listenLocally } from "../support/listen-locally.ts"
import { developers } from "./developers.ts"
import { podDoors, whileNoticedCut } from "./disturbances.ts"
import { fleetIs } from "./fleet-health.ts"
import {
  describeReal,
  eventually,
  type RealPlayground,
  request,
  runClient,
  type RunningCommand,
  until,
  usePlayground
} from "./harness.ts"
import { endsWith, serve, serves, type ServedSession } from "./served-session.ts"
import { nothingLeft, parentNames, parents, readySession } from "./sessions.ts"

const target = ["--target", "deployment/myapp"] as const
const workloads = ["cluster-a", "cluster-b", "cluster-c"] as const

describeReal(
  "the real client with three workload clusters",
  ["mirrord", "layerApp"],
  (binaries) => {
    const { layerApp, mirrord } = binaries
    const real = usePlayground({ topology: "three-workloads", subnet: subnetOf("real client, features") })
    const commands: Array<RunningCommand> = []
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
    })

    /** A command that ends with the test; `config` is the client's configuration. */
    const run = (
      command: ReadonlyArray<string>,
      {
        config,
        environment = {},
        home = real.home("test"),
        kubeconfig = real.kubeconfig(),
        program = []
      }: {
        readonly config?: object
        readonly environment?: Readonly<Record<string, string>>
        readonly home?: string
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
      const started = runClient({ file: mirrord, args, home, kubeconfig, environment, deadlineMs: 120_000 })
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
        expect(await request(entry(cluster), "/http", { "x-user": "ann" })).toBe("ann /http\n")
        expect(await request(entry(cluster), "/own")).toContain(`hello from ${cluster}`)
        // layer-app echoes what is not HTTP, where the workload would greet first.
        expect(await firstLine(real, cluster, `bytes for ${cluster}`)).toBe(`bytes for ${cluster}`)
      }
    })

    it("two users share a port by header in three clusters, and one leaves", async () => {
      const ann = kept(await serve(real, binaries, { user: "ann" }))
      const other = kept(await serve(real, binaries, { user: "bob", ...bob }))
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
      ["abort", /another session|already/i],
      ["override", undefined],
      ["continue", undefined]
    ] as const)("two users want one port, and the second says on_concurrent_steal: %s", async (choice, refusal) => {
      const steal = [layerApp, "--steal", "7000"]
      const first = run(["exec", ...target], { program: steal })
      expect(await first.waitForEvent("subscribed")).toMatchObject({ ok: true })
      const config = { feature: { network: { incoming: { mode: "steal", on_concurrent_steal: choice } } } }
      const second = run(["exec", ...target], { ...bob, config, program: steal })
      const { ok } = await second.waitForEvent("subscribed")
      console.log(choice, ok, first.events(), first.took())
      if (refusal !== undefined) expect(String(ok)).toMatch(refusal)
      await new Promise((r) => setTimeout(r, 5000))
      console.log(choice, ok, first.events(), first.took(), second.events())
    })

    it.each([
      ["include", { include: "DB_*;CLUSTER" }, ["DB_HOST=db.cluster-a.example", "CLUSTER=cluster-a"], ["ONLY_IN_CLUSTER_A"]],
      ["exclude", { exclude: "DB_*" }, ["CLUSTER=cluster-a", "ONLY_IN_CLUSTER_A=yes"], ["DB_HOST"]],
      [
        "override",
        { override: { DB_HOST: "localhost", MINE: "too" } },
        ["DB_HOST=localhost", "MINE=too", "CLUSTER=cluster-a"],
        []
      ]
    ] as const)("feature.env.%s: a program has exactly those variables of the default cluster", async (_option, env, present, absent) => {
      await isEnvironment(env, { present, absent })
    })

    it("names are resolved, and TCP and UDP connections made, in the default cluster", async () => {
      const udp = createSocket("udp4")
      udp.on("message", (bytes, { address, port }) => udp.send(`udp saw ${bytes.toString()}`, port, address))
      await new Promise<void>((resolve) => udp.bind(0, "127.0.0.1", resolve))
      const actions = ["--resolve", "myapp.default.svc", "--connect", "myapp.default.svc:7000", "--udp", `127.0.0.1:${udp.address().port}`]
      const app = run(["exec", ...target], { program: [layerApp, ...actions] })
      try {
        expect(await app.ended(), app.stderr()).toBe(0)
      } finally {
        udp.close()
      }
      console.log(app.events())
    })

    it("a CI job with an API key has a session without a certificate of its own", async () => {
      const key = run(["ci", "api-key"])
      expect(await key.ended(), key.stderr()).toBe(0)
      console.log(key.stdout(), key.stderr())
      const [apiKey = ""] = /mci-v1:[\w-]+/.exec(key.stdout() + key.stderr()) ?? []
      const home = real.home("ci")
      const known = parentNames(real.playground())
      const job = run(["ci", "start", ...target, "--foreground"], { home, environment: { MIRRORD_CI_API_KEY: apiKey }, program: ["env"] })
      console.log(await job.ended(), job.stdout().slice(0, 300), job.stderr().slice(0, 1500))
      const parent = await readySession(real, known)
      console.log(JSON.stringify(parent.spec), existsSync(join(home, ".mirrord", "credentials")))
      const first = run(["exec", ...target], { home, program: ["env"] })
      console.log(await first.ended())
      console.log(readFileSync(join(home, ".mirrord", "credentials"), "utf8"))
    })

    it("200 MB up and down arrive whole while another cluster is cut off", async () => {
      const size = 200 * 1024 * 1024
      const server = net.createServer((socket) => {
        socket.on("error", () => undefined)
        socket.pipe(socket)
      })
      const remote = await listenLocally(server)
      const port = await freePort()
      const known = parentNames(real.playground())
      run(["port-forward", ...target, "-L", `${port}:127.0.0.1:${remote}`])
      await readySession(real, known)
      const t = Date.now()
      const seen = await eventually("echo", () => echoed(port, size, (n) => { if (n > size / 4) void 0 }))
      console.log(seen, Date.now() - t)
      void createHash, endsWith, whileNoticedCut, until
      server.close()
    })

    it("leaves nothing", async () => {
      await nothingLeft(real)
    })
  },
  { timeout: 900_000 }
)

/** Says something to the workload's port 7000 in a cluster, and hears the first line of whoever answers. */
const firstLine = (real: RealPlayground, cluster: string, said: string): Promise<string> =>
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

const echoed = (port: number, size: number, progress: (n: number) => void): Promise<{ up: string; down: string }> =>
  new Promise((resolve, reject) => {
    const up = createHash("sha256")
    const down = createHash("sha256")
    let sent = 0
    let received = 0
    const chunk = Buffer.alloc(64 * 1024)
    const socket = net.connect(port, "127.0.0.1")
    const push = (): void => {
      while (sent < size) {
        const c = Buffer.from(chunk)
        c.writeUInt32BE(sent >>> 0, 0)
        up.update(c)
        sent += c.length
        if (!socket.write(c)) return
      }
    }
    socket.on("drain", push).on("connect", push).on("error", reject).on("close", () => reject(new Error(`closed after ${received}`)))
    socket.on("data", (b) => {
      down.update(b)
      received += b.length
      progress(received)
      if (received === size) resolve({ up: up.digest("hex"), down: down.digest("hex") })
    })
  })
