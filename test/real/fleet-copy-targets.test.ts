/**
 * mirrord's own client with copies of targets at a primary: a deployment that is scaled down in both clusters, also
 * when an operator is killed in the middle, and a cronjob.
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
import { applyObjects } from "./cluster-writes.ts"
import { whileKilled } from "./disturbances.ts"
import { fleetIs } from "./fleet-health.ts"
import { describeReal, request, runClient, type RunningCommand, usePlayground } from "./harness.ts"
import { refusalText } from "./refusal.ts"
import { nothingLeft, parentNames, readySession } from "./sessions.ts"

const primary = "cluster-a"
const member = "cluster-b"
const both = [primary, member] as const

const cronJob = (cluster: string): string => `
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
          containers: [{name: report, image: ${images.demo}, env: [{name: REPORT, value: ${cluster}}]}]
`

describeReal(
  "the real client, copies of targets over many clusters",
  ["mirrord", "layerApp"],
  ({ layerApp, mirrord }) => {
    const real = usePlayground({
      topology: "primary-default",
      sessionTtlSecs: 20,
      agentIdleTtlSecs: 10,
      subnet: subnetOf("real client, copies over many clusters")
    })
    const commands: Array<RunningCommand> = []
    // One home, and so one certificate: to the operator all commands are of one user.
    let home = ""
    const run = (...args: ReadonlyArray<string>): RunningCommand => {
      const command = runClient({
        file: mirrord,
        args,
        home,
        kubeconfig: real.playground().primary.cluster.kubeconfigPath
      })
      commands.push(command)
      return command
    }
    const exec = (target: string, copyTarget: object, ...program: ReadonlyArray<string>): RunningCommand => {
      const config = join(home, "mirrord.json")
      writeFileSync(config, JSON.stringify({ feature: { copy_target: { enabled: true, ...copyTarget } } }))
      return run("exec", "--target", target, "-f", config, "--", ...program)
    }
    const store = (cluster: string) => real.cluster(cluster).cluster.store
    const copies = (cluster: string) =>
      store(cluster)
        .list(pods, { namespace: "default", labelSelector: copyLabel })
        .items.map(({ metadata }) => metadata.name ?? "")
    const workload = (cluster: string) => {
      const object = store(cluster).get(deployments, "default", "myapp")
      return { replicas: asObject(object?.["spec"])["replicas"], from: object?.metadata.labels?.[scaledDownFrom] }
    }
    const entry = (cluster: string): string => real.cluster(cluster).entry ?? ""
    const allIsBack = async (): Promise<void> => {
      for (const cluster of both) {
        await until(`the copy's end in ${cluster}`, () => (copies(cluster).length === 0 ? true : undefined))
        await until(`the workload's pods in ${cluster}`, () => (workload(cluster).replicas === 1 ? true : undefined))
        expect(workload(cluster)).toEqual({ replicas: 1, from: undefined })
        await eventually(`the workload answers in ${cluster}`, async () =>
          expect(await request(entry(cluster), "/")).toContain("hello")
        )
      }
    }
    const servedByLaptop = async (path: string): Promise<void> => {
      for (const cluster of both)
        await eventually(`the Service of ${cluster} leads to the copy`, async () =>
          expect(await request(entry(cluster), path)).toBe(`laptop ${path}\n`)
        )
    }

    beforeAll(async () => {
      await fleetIs(real.playground())
      home = real.home("fleet")
      for (const cluster of both) await applyObjects(real.cluster(cluster).cluster, cronJob(cluster))
    })
    afterEach(() => {
      for (const command of commands.splice(0)) command.stop()
    })

    it("a deployment has no pods anywhere while the program serves its Services, then has them again", async () => {
      const known = parentNames(real.playground())
      const app = exec("deployment/myapp", { scale_down: true }, layerApp, "--steal", "80", "--respond", "laptop")
      expect(await app.waitForEvent("subscribed")).toMatchObject({ port: 80, ok: true })
      const name = await until("the copy", () => copies(primary)[0])
      // A member may be a moment behind its primary.
      for (const cluster of both)
        await eventually(`the copy and the workload of ${cluster}`, () => {
          expect(copies(cluster)).toEqual([name])
          expect(workload(cluster)).toEqual({ replicas: 0, from: "1" })
        })
      expect((await readySession(real, known)).spec).toMatchObject({
        copyTarget: { scaledown: true },
        targetAlias: `pod.${name}`
      })
      await servedByLaptop("/one")
      const status = run("operator", "status")
      expect(await status.ended(), status.stderr()).toBe(0)
      expect(status.stdout()).toContain("deployment/myapp")
      app.stop()
      await allIsBack()
    })

    it("operators are killed in the middle, the primary's and the member's: the copies go on, and end", async () => {
      const app = exec("deployment/myapp", { scale_down: true }, layerApp, "--steal", "80", "--respond", "laptop")
      await app.waitForEvent("subscribed")
      for (const cluster of both) await whileKilled(real, cluster, async () => {})
      await fleetIs(real.playground())
      await servedByLaptop("/two")
      for (const cluster of both) expect(workload(cluster)).toEqual({ replicas: 0, from: "1" })
      app.stop()
      await allIsBack()
    })

    it("exec on a cronjob has the variables of the default cluster's template", async () => {
      const env = exec("cronjob/nightly", {}, "sh", "-c", "env && exec sleep 3600")
      await env.waitForOutput(new RegExp(`^REPORT=${primary}$`, "mu"))
      for (const cluster of both)
        await eventually(`the copy of ${cluster}`, () => expect(copies(cluster)).toHaveLength(1))
    })

    it("a target that the default cluster has not is refused before the program starts", async () => {
      const env = exec("deployment/nowhere", {}, "env")
      expect(await env.ended()).toBe(1)
      expect(refusalText(env)).toContain("In the default cluster cluster-a")
      expect(refusalText(env)).toContain("there is no deployment/nowhere in namespace default")
    })

    it("leaves nothing", async () => {
      await nothingLeft(real)
      await allIsBack()
    })
  }
)
