import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type RunningCluster, runCluster } from "../../../lab/cluster/running-cluster.ts"
import { runBraid } from "../../../support/run-braid.ts"

it("braid cleanup ends with code 1 and a sentence when there is no cluster", async () => {
  const { code, errors } = await runBraid(["cleanup"], { KUBECONFIG: "/nonexistent/kubeconfig" })
  expect(code).toBe(1)
  expect(errors).toMatch(
    /^braid: not everything could be looked at:\nNo kubeconfig can be used: .*\/nonexistent\/kubeconfig/u
  )
  expect(errors).toContain("Give one with --kubeconfig or KUBECONFIG, and choose with --context.")
})

it("braid cleanup --best-effort says the same and ends with code 0", async () => {
  const { code, errors } = await runBraid(["cleanup", "--apply", "--best-effort"], { KUBECONFIG: "/nonexistent" })
  expect(code).toBe(0)
  expect(errors).toContain("No kubeconfig can be used")
})

describe("braid cleanup in a cluster", () => {
  let running: RunningCluster
  beforeAll(async () => {
    running = await runCluster()
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "mirrord-copy-shop", labels: { "operator.metalbear.co/copy-target": "true" } },
      spec: { containers: [{ name: "app", image: "app" }] }
    }
    running.cluster.apply(JSON.stringify(pod))
  })
  afterAll(async () => {
    await running.close()
  })
  const cleanup = (...args: ReadonlyArray<string>) =>
    runBraid(["cleanup", "--kubeconfig", running.cluster.kubeconfigPath, ...args])

  it("says what it would end, and ends it only when it is told to", async () => {
    const preview = await cleanup("--copies")
    expect([preview.code, preview.errors]).toEqual([0, ""])
    expect(preview.output).toMatch(
      /^Nothing was ended in the cluster of context \S+ \(https:.*\)\. --apply does this:\n {2}ending copy mirrord-copy-shop in namespace default\n$/u
    )
    expect((await cleanup("--copies")).output).toBe(preview.output)
    expect((await cleanup("--copies", "--apply")).code).toBe(0)
    expect((await cleanup("--copies")).output).toMatch(/^There is nothing to end in the cluster of context /u)
  })

  it("refuses a context that there is not", async () => {
    const { code, errors } = await cleanup("--context", "elsewhere", "--apply")
    expect([code, errors]).toEqual([1, expect.stringContaining('The kubeconfig has no context "elsewhere"; it has')])
  })
})
