/**
 * Agents of earlier releases under one session of mirrord's own client: the reference agent plays protocol 1.19.4 in
 * one cluster and 1.28.0 in another, and that of today in the default one.
 */

import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { freePort } from "../../lab/playground/free-ports.ts"
import { operatorNamespace, workloadTarget } from "../../lab/playground/manifests.ts"
import { subnetOf } from "../address-plan.ts"
import { answers } from "../support/attempts.ts"
import { eventually } from "../support/eventually.ts"
import { beginSession } from "./begin-session.ts"
import { fleetIs } from "./fleet-health.ts"
import { describeReal, request, runClient, type RunningCommand, usePlayground } from "./harness.ts"
import { startLocalServer } from "./local-server.ts"
import { nothingLeft } from "./sessions.ts"
import { singleUser } from "./single-user.ts"

const earlier = { "cluster-b": "1.19.4", "cluster-c": "1.28.0" } as const
const workloads = ["cluster-a", "cluster-b", "cluster-c"] as const
const target = ["--target", workloadTarget] as const

describeReal("agents of earlier releases beside that of today", ["mirrord", "layerApp"], ({ layerApp, mirrord }) => {
  const real = usePlayground({
    topology: "three-workloads",
    agentProtocols: earlier,
    subnet: subnetOf("real client, agents of earlier releases")
  })
  beforeAll(() => fleetIs(real.playground()))
  const cleanUp: Array<() => void> = []
  afterEach(() => {
    for (const clean of cleanUp.splice(0)) clean()
  })

  const begin = async (
    [name, ...args]: readonly [string, ...ReadonlyArray<string>],
    incoming?: object
  ): Promise<RunningCommand> => {
    const command = await beginSession(real, mirrord, [name, ...target, ...args], incoming)
    cleanUp.push(() => command.stop())
    return command
  }
  const visit = (cluster: string, path: string, user: string, signal?: AbortSignal): Promise<string> =>
    request(real.cluster(cluster).entry ?? "", path, { "x-user": user }, signal)
  const operatorLog = async (cluster: string): Promise<string> => {
    const { kubelet } = real.cluster(cluster)
    const operator = kubelet.containers().find(({ container }) => container === "mirrord-operator")
    const logs = kubelet.podLogs(operatorNamespace, operator?.pod ?? "", undefined)
    const lines: Array<string> = []
    if (logs._tag === "Lines") for await (const line of logs.lines) lines.push(line)
    return lines.join("\n")
  }

  it("environment and files come from the default, and a header filter steals in each cluster", async () => {
    const actions = ["--env", "CLUSTER", "--read", "/etc/myapp/settings.txt", "--steal", "80:^x-user: ann$"]
    const app = await begin(["exec", "--", layerApp, ...actions, "--respond", "for ann"])
    expect(await app.waitForEvent("env")).toMatchObject({ value: "cluster-a" })
    expect(await app.waitForEvent("file")).toMatchObject({ text: "settings of cluster-a\n" })
    expect(await app.waitForEvent("subscribed")).toMatchObject({ port: 80, ok: true })
    for (const cluster of workloads) {
      await answers(cluster, "for ann /match\n", (signal) => visit(cluster, "/match", "ann", signal))
      expect(await visit(cluster, "/other", "bob")).toContain(`${cluster}: GET /other`)
    }
  })

  it("port-forward connects in the default", async () => {
    const port = await freePort()
    await begin(["port-forward", "-L", `${port}:myapp:80`])
    await eventually("the way is open", async () =>
      expect(await request(`http://127.0.0.1:${port}`, "/forwarded")).toContain("hello from cluster-a: GET /forwarded")
    )
  })

  it.each([
    ["steals by a method, which needs 1.20.0", { mode: "steal", http_filter: { method_filter: "GET" } }],
    ["mirrors by a header, which needs 1.21.1", { mode: "mirror", http_filter: { header_filter: "^x-user: ann$" } }]
  ])("port-forward -R %s: the cluster of 1.19.4 takes no part, and is left as it is", async (_what, incoming) => {
    const server = await startLocalServer()
    cleanUp.push(server.close)
    await begin(["port-forward", "-R", `80:${server.port}`], incoming)
    // Its request comes last, so it had as long as the others to get to the local server.
    for (const cluster of ["cluster-a", "cluster-c", "cluster-b"]) {
      await eventually(`a request to ${cluster} is seen`, async () => {
        const answer = await visit(cluster, `/in-${cluster}`, "ann")
        if (cluster === "cluster-b") expect(answer).toContain("hello from cluster-b: GET /in-cluster-b")
        else expect(server.received).toContain(`GET /in-${cluster}`)
      })
    }
    await eventually("one more request is seen", async () => {
      await visit("cluster-c", "/after", "ann")
      expect(server.received).toContain("GET /after")
    })
    expect(server.received).not.toContain("GET /in-cluster-b")
  })

  describe("in the cluster of 1.19.4 by itself", () => {
    let sam = { home: "", kubeconfig: "" }
    beforeAll(async () => {
      sam = await singleUser(real, "cluster-b", "sam")
    })
    // Nobody comes back to these sessions.
    afterAll(async () => {
      const args = ["operator", "session", "stop", "--all"]
      const stop = runClient({ file: mirrord, args, ...sam })
      expect(await stop.ended(), stop.stderr()).toBe(0)
    })
    const run = (args: ReadonlyArray<string>, incoming: object = {}): RunningCommand => {
      const config = join(sam.home, "mirrord.json")
      writeFileSync(config, JSON.stringify({ feature: { network: { incoming } } }))
      const [name = "", ...rest] = args
      const command = runClient({
        file: mirrord,
        args: [name, ...target, "-f", config, ...rest],
        ...sam
      })
      cleanUp.push(() => command.stop())
      return command
    }

    it("a session has environment and files, and steals by a header", async () => {
      const actions = ["--env", "CLUSTER", "--read", "/etc/hostname", "--steal", "80:^x-user: ann$"]
      const app = run(["exec", "--", layerApp, ...actions, "--respond", "for ann"])
      expect(await app.waitForEvent("env")).toMatchObject({ value: "cluster-b" })
      expect(await app.waitForEvent("file")).toMatchObject({ path: "/etc/hostname" })
      expect(await app.waitForEvent("subscribed")).toMatchObject({ port: 80, ok: true })
      await answers("cluster-b", "for ann /match\n", (signal) => visit("cluster-b", "/match", "ann", signal))
      expect(await visit("cluster-b", "/other", "bob")).toContain("hello from cluster-b: GET /other")
    })

    it("a filter that the agent cannot read is refused to the client with the versions", async () => {
      const refused = run(["port-forward", "-R", "80:80"], { mode: "steal", http_filter: { method_filter: "GET" } })
      expect(await refused.ended()).toBe(1)
      const told = refused.stderr().replaceAll(/\s+│?\s*/g, " ")
      expect(told).toContain("the target's agent speaks protocol 1.19.4, and the filter needs 1.20.0")
      expect(told).not.toContain("stolen")
      expect(await operatorLog("cluster-b")).toMatch(/port 80: its agent speaks protocol 1\.19\.4.*needs 1\.20\.0/)
    })

    it("port-forward -L, which needs 1.22.0, ends at its first connection and says why", async () => {
      const port = await freePort()
      const forward = run(["port-forward", "-L", `${port}:127.0.0.1:80`])
      await eventually("the port is open, and the connection is not", () =>
        expect(request(`http://127.0.0.1:${port}`, "/")).rejects.toThrow(/hang up|ECONNRESET/)
      )
      expect(await forward.ended()).toBe(1)
      const told = forward.stderr().replaceAll(/\s+│?\s*/g, " ")
      expect(told).toContain("port-forward -L needs protocol 1.22.0")
      expect(told).toContain("speaks 1.19.4; upgrade the operator there")
    })
  })

  it("leaves nothing", async () => {
    await nothingLeft(real)
  })
})
