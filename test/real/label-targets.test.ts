/**
 * mirrord's own client with labels as its target: in a cluster of its own, and in a primary's, which the client then
 * uses as a single cluster. `mirrord ls` is here too, since in both the client looks for targets itself.
 */

import { join } from "node:path"
import { Effect } from "effect"
import { afterEach, beforeAll, expect, it } from "vitest"
import { subnetOf } from "../address-plan.ts"
import { eventually } from "../support/eventually.ts"
import { until } from "../support/until.ts"
import { developers } from "./developers.ts"
import { podEntries, scaleWorkload } from "./disturbances.ts"
import { fleetIs } from "./fleet-health.ts"
import { describeReal, request, runClient, type RunningCommand, usePlayground } from "./harness.ts"
import { children, nothingLeft } from "./sessions.ts"

const target = ["--target", "label/app=myapp"] as const

describeReal("the real client, label targets", ["mirrord", "layerApp"], ({ layerApp, mirrord }) => {
  const real = usePlayground({
    topology: "primary-default",
    agentIdleTtlSecs: 5,
    subnet: subnetOf("real client, labels")
  })
  const commands: Array<RunningCommand> = []
  const run = (cluster: string, args: ReadonlyArray<string>): RunningCommand => {
    const kubeconfig = kubeconfigs.get(cluster) ?? ""
    const command = runClient({ file: mirrord, args, home: real.home("labels"), kubeconfig })
    commands.push(command)
    return command
  }
  const kubeconfigs = new Map<string, string>()

  const entries = (cluster: string): ReadonlyArray<string> => podEntries(real, cluster)

  beforeAll(async () => {
    await fleetIs(real.playground())
    for (const { cluster, description } of real.playground().clusters) {
      const path = join(real.home("lea"), `${description.name}.kubeconfig`)
      kubeconfigs.set(description.name, path)
      await Effect.runPromise(cluster.userKubeconfig({ user: "lea", groups: [developers], path }))
      await scaleWorkload(real, description.name, 2)
    }
  })
  afterEach(() => {
    for (const command of commands.splice(0)) command.stop()
  })

  it.each(["cluster-b", "cluster-a"])("ls lists the targets of %s", async (cluster) => {
    const list = run(cluster, ["ls", "--namespace", "default"])
    expect(await list.ended(), list.stderr()).toBe(0)
    const targets = JSON.parse(list.stdout()) as ReadonlyArray<string>
    expect(targets).toContain("deployment/myapp")
    expect(targets.filter((name) => name.startsWith("pod/myapp-"))).toHaveLength(2)
    expect(targets.filter((name) => name.includes("mirrord"))).toEqual([])
  })

  it.each([
    ["a single cluster's", "cluster-b"],
    ["a primary's", "cluster-a"]
  ])("exec has the variables of the pod, in %s session", async (_whose, cluster) => {
    // The session lasts as long as its program.
    const env = run(cluster, ["exec", ...target, "--", "sh", "-c", "env && exec sleep 3600"])
    await env.waitForOutput(new RegExp(`^CLUSTER=${cluster}$`, "mu"))
    const child = await until("the command's session", () => children(real.cluster(cluster))[0])
    expect(child.spec.target).toMatchObject({ kind: "LabelSelector", name: "app=myapp" })
    expect(child.spec.multiClusterParentName ?? undefined).toBeUndefined()
    const list = run(cluster, ["session", "list"])
    expect(await list.ended(), list.stderr()).toBe(0)
    expect(list.stdout()).toContain("label/app=myapp")
  })

  it.each(["cluster-b", "cluster-a"])(
    "an application steals from both pods in %s, and from one that comes later, and nowhere else",
    async (cluster) => {
      const app = run(cluster, ["exec", ...target, "--", layerApp, "--steal", "80", "--respond", "from the laptop"])
      expect(await app.waitForEvent("subscribed")).toMatchObject({ mode: "steal", port: 80, ok: true })
      expect(entries(cluster)).toHaveLength(2)
      for (const entry of entries(cluster)) expect(await request(entry, "/two")).toBe("from the laptop /two\n")
      const other = cluster === "cluster-a" ? "cluster-b" : "cluster-a"
      for (const entry of entries(other)) expect(await request(entry, "/other")).toContain(`hello from ${other}`)
      await scaleWorkload(real, cluster, 3)
      await eventually("the third pod's requests are stolen", async () => {
        const answers = await Promise.all(entries(cluster).map((entry) => request(entry, "/three")))
        expect(answers).toEqual(Array(3).fill("from the laptop /three\n"))
      })
      app.stop()
      await scaleWorkload(real, cluster, 2)
    }
  )

  it("leaves nothing", async () => {
    await nothingLeft(real)
  })
})
