/**
 * mirrord's own client with copies of targets, in a cluster of its own: a deployment that is scaled down meanwhile, and
 * a cronjob, which has no pods at all.
 */

import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, beforeAll, expect, it } from "vitest"
import { deployments, pods } from "../../lab/cluster/store/resource-refs.ts"
import { images } from "../../lab/playground/manifests.ts"
import { copyLabel } from "../../src/domain/copies/copy-record.ts"
import { scaledDownFrom } from "../../src/domain/copies/scaled-down.ts"
import { asObject } from "../../src/domain/json.ts"
import { subnetOf } from "../address-plan.ts"
import { eventually } from "../support/eventually.ts"
import { until } from "../support/until.ts"
import { applyObjects, deleteObject, patchObject } from "./cluster-writes.ts"
import { restartOperator } from "./disturbances.ts"
import { fleetIs } from "./fleet-health.ts"
import { describeReal, request, runClient, type RunningCommand, usePlayground } from "./harness.ts"
import { refusalText } from "./refusal.ts"
import { children, endSoon, nothingLeft } from "./sessions.ts"
import { singleUser } from "./single-user.ts"

const single = "cluster-b"
const policies = { group: "policies.mirrord.metalbear.co", version: "v1alpha", resource: "mirrordpolicies" }
const cronJob = `
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: default}
spec:
  schedule: "0 3 * * *"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
            - {name: report, image: ${images.demo}, env: [{name: REPORT, value: nightly}]}
            - {name: helper, image: ${images.demo}}
`

describeReal("the real client, copies of targets", ["mirrord", "layerApp"], ({ layerApp, mirrord }) => {
  const real = usePlayground({
    topology: "primary-default",
    agentIdleTtlSecs: 5,
    subnet: subnetOf("real client, copies")
  })
  const commands: Array<RunningCommand> = []
  let kubeconfig = ""
  // One home, and so one certificate: to the operator all commands are of one user.
  let home = ""
  const run = (...args: ReadonlyArray<string>): RunningCommand => {
    const command = runClient({ file: mirrord, args, home, kubeconfig })
    commands.push(command)
    return command
  }
  const exec = (target: string, copyTarget: object, ...program: ReadonlyArray<string>): RunningCommand => {
    const config = join(home, "mirrord.json")
    writeFileSync(config, JSON.stringify({ feature: { copy_target: { enabled: true, ...copyTarget } } }))
    return run("exec", "--target", target, "-f", config, "--", ...program)
  }
  const store = () => real.cluster(single).cluster.store
  const copies = () => store().list(pods, { namespace: "default", labelSelector: copyLabel }).items
  const workload = () => {
    const object = store().get(deployments, "default", "myapp")
    return { replicas: asObject(object?.["spec"])["replicas"], from: object?.metadata.labels?.[scaledDownFrom] }
  }
  const scale = (replicas: number): Promise<unknown> =>
    patchObject(real.cluster(single).cluster, deployments, "default", "myapp", { spec: { replicas } })
  const entry = (): string => real.cluster(single).entry ?? ""
  const allIsBack = async (replicas: number): Promise<void> => {
    await endSoon(real.cluster(single))
    await until("the copy's end", () => (copies().length === 0 ? true : undefined))
    await until("the workload's pods", () => (workload().replicas === replicas ? true : undefined))
    expect(workload()).toEqual({ replicas, from: undefined })
  }
  beforeAll(async () => {
    await fleetIs(real.playground())
    await applyObjects(real.cluster(single).cluster, cronJob)
    const cleo = await singleUser(real, single, "cleo")
    home = cleo.home
    kubeconfig = cleo.kubeconfig
  })
  afterEach(() => {
    for (const command of commands.splice(0)) command.stop()
  })

  it("a scaled-down deployment has no pods while the program serves its Service, then has them again", async () => {
    await scale(2)
    await eventually("the workload answers", async () => expect(await request(entry(), "/")).toContain("hello"))
    const steal = [layerApp, "--steal", "80", "--respond", "laptop"]
    const app = exec("deployment/myapp", { scale_down: true }, ...steal)
    expect(await app.waitForEvent("subscribed")).toMatchObject({ port: 80, ok: true })
    // The objects of a real cluster are seen a moment later.
    await eventually("the copy and its workload", () => {
      expect(copies()).toHaveLength(1)
      expect(workload()).toEqual({ replicas: 0, from: "2" })
    })
    const [session] = children(real.cluster(single))
    expect(session?.spec).toMatchObject({ copyTarget: { scaledown: true }, target: { kind: "Pod" } })
    await eventually("the Service leads to the copy", async () =>
      expect(await request(entry(), "/one")).toBe("laptop /one\n")
    )
    const status = run("operator", "status")
    expect(await status.ended(), status.stderr()).toBe(0)
    expect(status.stdout()).toContain("deployment/myapp")
    app.stop()
    await allIsBack(2)
    await eventually("the workload answers", async () => expect(await request(entry(), "/")).toContain("hello"))
    await scale(1)
  })

  it("the next operator gives the pods back, if the copy has gone without the one before", async () => {
    const app = exec("deployment/myapp", { scale_down: true }, layerApp, "--mirror", "80")
    await app.waitForEvent("subscribed")
    await eventually("the copy and its workload", () => {
      expect(copies()).toHaveLength(1)
      expect(workload()).toEqual({ replicas: 0, from: "1" })
    })
    const names = copies().map(({ metadata }) => metadata.name ?? "")
    app.stop()
    await restartOperator(real, single)
    for (const name of names) await deleteObject(real.cluster(single).cluster, pods, "default", name)
    await allIsBack(1)
  })

  it("exec on a cronjob has the variables of its template, without the container that is left out", async () => {
    // The copy lasts as long as its program, and some seconds more.
    const program = ["sh", "-c", "env && exec sleep 3600"]
    const env = exec("cronjob/nightly/container/report", { exclude_containers: ["helper"] }, ...program)
    await env.waitForOutput(/^REPORT=nightly$/mu)
    expect(copies().map(({ spec }) => asObject(spec)["containers"])).toMatchObject([[{ name: "report" }]])
    env.stop()
  })

  it("a cronjob cannot be scaled down, which the client is told", async () => {
    const env = exec("cronjob/nightly", { scale_down: true }, "env")
    expect(await env.ended()).toBe(1)
    expect(refusalText(env)).toContain("cronjob/nightly cannot be scaled down")
  })

  it("a policy refuses a copy that takes the pods, and holds for the session on one that does not", async () => {
    const policy = {
      apiVersion: `${policies.group}/${policies.version}`,
      kind: "MirrordPolicy",
      metadata: { name: "calm", namespace: "default" },
      spec: {
        block: ["copy-target-scale-down", "steal"],
        targetPath: "deploy/myapp",
        appliesToCopyTargets: true
      }
    }
    await applyObjects(real.cluster(single).cluster, JSON.stringify(policy))
    // The operator hears of it by its watch, a moment later.
    await eventually("a refused copy", async () => {
      const env = exec("deployment/myapp", { scale_down: true }, "env")
      await env.ended()
      expect(refusalText(env)).toContain("Operation was blocked by policy `calm`")
    })
    const app = exec("deployment/myapp", { scale_down: false }, layerApp, "--steal", "80")
    const { ok } = await app.waitForEvent("subscribed")
    expect(String(ok)).toContain("forbidden by the mirrord policy")
    expect(String(ok)).toContain('"calm"')
    app.stop()
    await deleteObject(real.cluster(single).cluster, policies, "default", "calm")
  })

  it("leaves nothing", async () => {
    await nothingLeft(real)
    await allIsBack(1)
  })
})
