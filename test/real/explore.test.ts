import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { beforeAll, it } from "vitest"
import { deployments, pods } from "../../lab/cluster/store/resource-refs.ts"
import { operatorNamespace } from "../../lab/playground/manifests.ts"
import { fleetIs } from "./fleet-health.ts"
import { describeReal, request, runClient, type RunningCommand, until, usePlayground } from "./harness.ts"
import { parentNames, parents, readySession } from "./sessions.ts"
import { asObject } from "../../src/domain/json.ts"

const t0 = Date.now()
const say = (...x: Array<unknown>) => console.log(`[${((Date.now() - t0) / 1000).toFixed(1)}]`, ...x)
const sleep = (ms: number) => new Promise((r) => setTimeout(r, ms))

describeReal("explore", ["mirrord", "layerApp"], ({ layerApp, mirrord }) => {
  const real = usePlayground({ topology: "management", subnet: 210, sessionTtlSecs: 20, remoteSessionTimeoutSecs: Number(process.env["RST"] ?? 30) })
  beforeAll(() => fleetIs(real.playground()))
  let n = 0
  const session = async (): Promise<{ app: RunningCommand; log: string; user: string; name: string; home: string }> => {
    const user = `u${n++}`
    const home = real.home(user)
    const log = join(home, "ip.log")
    const config = join(home, "mirrord.json")
    writeFileSync(config, JSON.stringify({ internal_proxy: { ping_interval: 5, log_level: "mirrord_intproxy=debug", log_destination: log } }))
    const known = parentNames(real.playground())
    const app = runClient({ file: mirrord, home, kubeconfig: real.kubeconfig(), deadlineMs: 600_000, args: ["exec", "--target", "deployment/myapp", "-f", config, "--", layerApp, "--steal", `80:^x-user: ${user}$`, "--respond", user] })
    const parent = await readySession(real, known)
    await app.waitForEvent("subscribed")
    return { app, log, user, name: parent.metadata.name, home }
  }
  const ask = async (cluster: string, user: string): Promise<string> => {
    const c = new AbortController()
    const timer = setTimeout(() => c.abort(), 4000)
    try { return (await request(real.cluster(cluster).entry ?? "", "/x", { "x-user": user }, c.signal)).trim().split("\n")[0] ?? "" } catch (e) { return `ERR ${(e as Error).message}` } finally { clearTimeout(timer) }
  }
  const watch = async (s: { app: RunningCommand; user: string }, secs: number, done?: () => boolean) => {
    let last = ""
    const end = Date.now() + secs * 1000
    while (Date.now() < end) {
      const now = `a=${await ask("cluster-a", s.user)} | b=${await ask("cluster-b", s.user)} | ${s.app.events().filter((e) => e.event !== "request").map((e) => e.event).join(",")} took=${s.app.took()} phase=${parents(real.playground()).map((p) => `${p.status?.phase}:${JSON.stringify(p.status?.clusterSessions)}`)}`
      if (now !== last) say(now)
      last = now
      if (done?.() === true) break
      if (s.app.took() !== undefined) break
      await sleep(500)
    }
  }
  const show = (s: { app: RunningCommand; log: string }) => {
    say("STDERR", s.app.stderr(), "EVENTS", JSON.stringify(s.app.events().filter((e) => e.event !== "request")))
    let text = ""; try { text = readFileSync(s.log, "utf8") } catch {}
    say("LOG", text.split("\n").filter((l) => /"level":"(WARN|ERROR)"/.test(l)).map((l) => l.replace(/.*"fields":/, "").slice(0, 420)).slice(-25).join("\n"))
  }
  const killOperator = async (cluster: string) => {
    const { store } = real.cluster(cluster).cluster
    for (const pod of store.list(pods, { namespace: operatorNamespace, labelSelector: "app=mirrord-operator" }).items) store.delete(pods, operatorNamespace, pod.metadata.name ?? "")
  }
  const scale = (cluster: string, f: (spec: Record<string, unknown>) => void) => real.cluster(cluster).cluster.store.modify(deployments, "default", "myapp", (d) => { const spec = asObject(d["spec"]) as Record<string, unknown>; f(spec); d["spec"] = spec as never })

  const only = (process.env["ONLY"] ?? "").split(",")
  const maybe = (name: string, f: () => Promise<void>) => it.runIf(only.includes(name))(name, f)
  for (const c of ["primary", "cluster-a", "cluster-b"]) maybe(`restart-${c}`, async () => {
    const s = await session()
    await killOperator(c)
    say("killed", c)
    await watch(s, 25)
    show(s)
    s.app.stop()
  })
  maybe("cut-b", async () => {
    const s = await session()
    await Effect.runPromise(real.cluster("cluster-b").cluster.stop())
    say("cut")
    await watch(s, 20)
    await Effect.runPromise(real.cluster("cluster-b").cluster.restart())
    say("healed")
    await watch(s, 20)
    show(s); s.app.stop()
  })
  maybe("cut-a", async () => {
    const s = await session()
    await Effect.runPromise(real.cluster("cluster-a").cluster.stop())
    say("cut")
    await watch(s, 20)
    await Effect.runPromise(real.cluster("cluster-a").cluster.restart())
    say("healed")
    await watch(s, 20)
    show(s); s.app.stop()
  })
  maybe("cut-a-long", async () => {
    const s = await session()
    await Effect.runPromise(real.cluster("cluster-a").cluster.stop())
    say("cut")
    await watch(s, Number(process.env["CUT"] ?? 70))
    await Effect.runPromise(real.cluster("cluster-a").cluster.restart())
    say("healed")
    await fleetIs(real.playground())
    await watch(s, 30)
    show(s); s.app.stop()
  })
  maybe("rollout", async () => {
    const s = await session()
    scale("cluster-a", (spec) => { spec["replicas"] = 2 })
    say("scaled to 2"); await watch(s, 35)
    scale("cluster-a", (spec) => { spec["replicas"] = 1 })
    say("scaled to 1"); await watch(s, 15)
    scale("cluster-a", (spec) => { (asObject(asObject(spec["template"])["spec"])as Record<string, unknown>)["terminationGracePeriodSeconds"] = 5 })
    say("rolled out"); await watch(s, 40)
    show(s); s.app.stop()
  })
  maybe("delete", async () => {
    const s = await session()
    real.cluster("cluster-a").cluster.store.delete(deployments, "default", "myapp")
    say("deleted"); await watch(s, 70)
    show(s); s.app.stop()
  })
  maybe("stop", async () => {
    const s = await session()
    const x = runClient({ file: mirrord, args: ["operator", "session", "stop", "--id", s.name.replace("mc-", "")], home: real.home("x"), kubeconfig: real.kubeconfig() })
    say("stop", await x.ended(), x.stdout(), x.stderr())
    await watch(s, 30); show(s); s.app.stop()
  })
  maybe("until", async () => { await until("x", () => true) })
})
