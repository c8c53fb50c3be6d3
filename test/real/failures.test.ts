/** Failures that a user of mirrord's own client can meet, and the sentences that the client then shows. */

import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { afterEach, beforeAll, expect, it } from "vitest"
import { deployments } from "../../lab/cluster/store/resource-refs.ts"
import { operatorNamespace } from "../../lab/playground/manifests.ts"
import { subnetOf } from "../address-plan.ts"
import { until } from "../support/until.ts"
import { patchObject } from "./cluster-writes.ts"
import { fleetIs } from "./fleet-health.ts"
import { describeReal, runClient, type RunningCommand, usePlayground } from "./harness.ts"
import { refusalText, statusCode } from "./refusal.ts"
import { newParent, nothingLeft, parentNames, readySession } from "./sessions.ts"
import { singleUser } from "./single-user.ts"

const apiServices = { group: "apiregistration.k8s.io", version: "v1", resource: "apiservices" }

/** The real client silently retries after these codes, for a quarter of an hour. */
const retried = [429, 503, 504]

describeReal("the real client when a part is not there", ["mirrord"], ({ mirrord }) => {
  const real = usePlayground({ topology: "management", subnet: subnetOf("real client, failures") })
  const commands: Array<RunningCommand> = []
  beforeAll(() => fleetIs(real.playground()))
  afterEach(() => {
    for (const command of commands.splice(0)) command.stop()
  })
  const env = (program: ReadonlyArray<string> = ["env"]): RunningCommand => {
    const command = runClient({
      file: mirrord,
      args: ["exec", "--target", "deployment/myapp", "--", ...program],
      home: real.home("test"),
      kubeconfig: real.kubeconfig()
    })
    commands.push(command)
    return command
  }
  /** A refusal by a Status that the client does not retry; it names the cluster and says what to do. */
  const isRefused = async (cluster: string): Promise<string> => {
    const known = parentNames(real.playground())
    const command = env()
    expect(await command.ended(), command.stdout()).toBe(1)
    const text = refusalText(command)
    expect(retried).not.toContain(statusCode(text))
    expect(statusCode(text), text).toBe(500)
    expect(text).toContain(`The session failed in cluster ${cluster}`)
    expect(text).toContain("check that the cluster's API server and its operator are up, then run the command again")
    const parent = await newParent(real, known, "Failed")
    expect(parent.status?.conditions?.map(({ message }) => message).join(" ")).toContain(cluster)
    return text
  }
  const works = async (): Promise<RunningCommand> => {
    const command = env()
    expect(await command.ended(), command.stderr()).toBe(0)
    expect(command.stdout()).toContain("CLUSTER=cluster-a")
    return command
  }
  /** Stops or starts the operator of a cluster and waits until its API is served, or until it is not. */
  const scaleOperator = async (cluster: string, replicas: 0 | 1): Promise<void> => {
    const { cluster: server } = real.cluster(cluster)
    const served = replicas > 0
    await patchObject(server, deployments, operatorNamespace, "mirrord-operator", { spec: { replicas } })
    await until(`the API of ${cluster}'s operator being ${served ? "served" : "unserved"}`, () => {
      const object = server.store.get(apiServices, undefined, "v1.operator.metalbear.co")
      const { conditions = [] } = (object?.["status"] ?? {}) as {
        readonly conditions?: ReadonlyArray<{ type: string; status: string }>
      }
      return conditions.some(
        ({ status, type }) =>
          type === "Available" && status === String(served).replace(/^./, (first) => first.toUpperCase())
      )
        ? true
        : undefined
    })
  }

  it("multi_cluster: false on a primary that only manages: one sentence with cause and cure", async () => {
    const { home, kubeconfig } = await singleUser(real, "primary", "mia")
    const config = join(home, "mirrord.json")
    writeFileSync(config, JSON.stringify({ multi_cluster: false }))
    const args = ["exec", "--target", "targetless", "-f", config, "--", "env"]
    const command = runClient({ file: mirrord, args, home, kubeconfig })
    commands.push(command)
    expect(await command.ended()).toBe(1)
    const text = refusalText(command)
    expect(text).toContain("This cluster only manages sessions and runs no workloads; leave multi_cluster unset")
    expect(statusCode(text)).toBe(400)
  })

  it("the default cluster's API server is down: refused at once; it works again when that is back", async () => {
    const { cluster } = real.cluster("cluster-a")
    await Effect.runPromise(cluster.stop())
    try {
      await fleetIs(real.playground(), ["cluster-a"])
      await isRefused("cluster-a")
    } finally {
      await real.restart("cluster-a")
    }
    await fleetIs(real.playground())
    await works()
  })

  it("the default cluster's API server goes down at this moment: refused", async () => {
    const { cluster } = real.cluster("cluster-a")
    await Effect.runPromise(cluster.stop())
    try {
      await isRefused("cluster-a")
    } finally {
      await real.restart("cluster-a")
    }
    await fleetIs(real.playground())
    await works()
  })

  it("the default cluster's operator is not running: refused at once; it works after a start", async () => {
    await scaleOperator("cluster-a", 0)
    await fleetIs(real.playground(), ["cluster-a"])
    await isRefused("cluster-a")
    await scaleOperator("cluster-a", 1)
    await fleetIs(real.playground())
    await works()
  })

  it("another cluster is down: the session starts without it, says so, and takes it in later", async () => {
    const { cluster } = real.cluster("cluster-b")
    await Effect.runPromise(cluster.stop())
    const known = parentNames(real.playground())
    try {
      await fleetIs(real.playground(), ["cluster-b"])
      const [parent] = await Promise.all([newParent(real, known, "Ready"), works()])
      expect(parent.status?.clusterSessions?.["cluster-b"]).toMatchObject({ ready: false, error: expect.any(String) })
    } finally {
      await real.restart("cluster-b")
    }
    await fleetIs(real.playground())
    const later = parentNames(real.playground())
    env(["sleep", "3600"])
    await readySession(real, later)
  })

  it("after the TTL nothing but failed parents is left", async () => {
    await nothingLeft(real)
  })

  // The last test: for 150 s after its start a primary ends no session that is older than itself.
  it("the primary's operator has just started: the waiting client gets its session or a clear answer", async () => {
    await scaleOperator("primary", 0)
    const early = env()
    await scaleOperator("primary", 1)
    const prompt = env()
    const code = await prompt.ended()
    if (code !== 0) expect(retried).not.toContain(statusCode(refusalText(prompt)) ?? 503)
    // The API server itself answered 503 for a missing operator, so the client retries with growing pauses.
    expect(await early.ended(), early.stderr()).toBe(0)
    expect(early.stdout()).toContain("CLUSTER=cluster-a")
    await fleetIs(real.playground())
    await works()
  })
})
